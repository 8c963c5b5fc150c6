// The data, the runs as objects, what is chosen, and the numbers that figures and tables are made of.

const DATA = JSON.parse(document.getElementById("data").textContent);
const COSTS = {
  "calls": "oracle calls",
  "oracle seconds": `${DATA.seconds} in the oracle`,
  "total seconds": `${DATA.seconds} in oracle and generator`,
};
const SMALLEST = 1e-16; // where a gap of zero is drawn

const entry = (column, i) => (Array.isArray(column) ? column[i] : column);
const text = (column, i) => column.words[entry(column.at, i)];

const RUNS = Array.from({ length: DATA.count }, (_, index) => {
  const run = { index };
  for (const [name, column] of Object.entries(DATA.runs)) {
    run[name] = column !== null && column.words ? text(column, index) : entry(column, index);
  }
  run.problem = run.instance + "\u0000" + run.seed;
  return run;
});
const GENERATORS = DATA.generators.map((generator) => generator.name);
const LOOK = new Map(DATA.generators.map((generator) => [generator.name, generator]));

// What the reader has chosen. A hidden generator is not drawn and stays in the comparison; a generator that is not
// chosen is out of it.
const FILTERS = ["family", "instance", "generator", "seed"];
const NAMES = { ...Object.fromEntries(FILTERS.map((filter) => [filter, DATA.runs[filter].words])), generator: GENERATORS };
const state = {
  cost: "calls",
  tau: DATA.tau.reduce((best, tau, i) => (distance(tau) < distance(DATA.tau[best]) ? i : best), 0),
  test: "certified",
  hidden: new Set(),
  chosen: Object.fromEntries(FILTERS.map((filter) => [filter, new Set(NAMES[filter])])),
};

function distance(tau) {
  return Math.abs(Math.log10(tau) + 4);
}

function chosenRuns() {
  return RUNS.filter((run) => FILTERS.every((filter) => state.chosen[filter].has(run[filter])));
}

function chosenGenerators() {
  return GENERATORS.filter((name) => state.chosen.generator.has(name));
}

// Integers that are not negative, of a text in digits of two kinds: see curve_text.py.
function integers(code) {
  const { alphabet, base } = DATA.code, found = [];
  let value = 0, unit = 1;
  for (const character of code) {
    const digit = alphabet.indexOf(character);
    value += (digit % base) * unit;
    unit *= base;
    if (digit >= base) continue;
    found.push(value);
    [value, unit] = [0, 1];
  }
  return found;
}

// Cost at which the test first holds: infinite if it never does, undefined if the test cannot be applied to the run.
function costOf(run, tau = state.tau, cost = state.cost, test = state.test) {
  const columns = DATA.tests[test].tau[tau];
  if (typeof columns[cost] === "string") {
    columns[cost] = integers(columns[cost]).map((number) => number === 0 ? Infinity : number === 1 ? undefined
      : cost === "calls" ? number - 2 : 10 ** ((number - DATA.code["cost levels"]) * DATA.code["cost width"]));
  }
  return columns[cost][run.index];
}

// Problems, each an instance and a seed: the chosen runs by generator, their costs, and the limit of the runs, which is
// what a problem that is not solved costs in means.
function problemCosts() {
  const problems = new Map(), limit = state.cost === "calls" ? "max_calls" : "max_seconds";
  for (const run of chosenRuns()) {
    const value = costOf(run);
    if (value === undefined) continue;
    if (!problems.has(run.problem)) problems.set(run.problem, { costs: new Map(), runs: new Map(), limit: NaN });
    const problem = problems.get(run.problem);
    problem.costs.set(run.generator, value);
    problem.runs.set(run.generator, run);
    if (run[limit] !== null && !(run[limit] <= problem.limit)) problem.limit = run[limit];
  }
  return [...problems.values()];
}

const costIn = (problem, name) => problem.costs.get(name) ?? Infinity;

// Problems among the chosen runs to which the test cannot be applied.
function leftOut() {
  return new Set(chosenRuns().filter((run) => costOf(run) === undefined).map((run) => run.problem)).size;
}

// The text of a run's curves as columns: see curve_text.py.
function curves(run) {
  if (run.curves !== undefined) return run.curves;
  const stored = DATA.curves[run.index];
  if (stored === null) return (run.curves = null);
  const [count, code, upper = run.upper_bound, lower = run.lower_bound] = stored;
  const { fine, coarse } = DATA.code, columns = [];
  let level = 0;
  integers(code).forEach((number, i) => {
    if (i % count === 0) { level = 0; columns.push([]); }
    level += number % 2 ? -(number + 1) / 2 : number / 2;
    columns.at(-1).push(level);
  });
  const [calls, gap, above, below, oracle, total] = columns;
  const number = (decades) => (found) => found === DATA.code.zero ? 0 : found === DATA.code.infinite ? Infinity
    : found === DATA.code.unknown ? NaN : 10 ** (found * decades);
  run.curves = {
    "calls": calls,
    "oracle seconds": oracle.map(number(coarse)),
    "total seconds": total.map(number(coarse)),
    "gap": gap.map(number(fine)),
    "least": [], // gap so far
    "upper": above.map(number(coarse)).map((more) => (more ? upper + more : upper)),
    "lower": below.map(number(coarse)).map((less) => (less ? lower - less : lower)),
  };
  let least = Infinity;
  for (const value of run.curves.gap) run.curves.least.push((least = value < least ? value : least));
  return run.curves;
}

// Value at x of a function that is constant from a point to the next; undefined before the first.
function stepValue(xs, ys, x) {
  let low = 0, high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle + 1; else high = middle;
  }
  return low ? ys[low - 1] : undefined;
}

function quantile(sorted, share) {
  const place = share * (sorted.length - 1), below = Math.floor(place);
  return sorted[below] + (place - below) * (sorted[Math.min(below + 1, sorted.length - 1)] - sorted[below]);
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b), half = sorted.length >> 1;
  if (!sorted.length) return NaN;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

const count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;

// A number in few characters: "0.0123", "1,234", "4.2e-7".
function show(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return value.toLocaleString("en").replace("-", "−");
  const size = Math.abs(value);
  const plain = size >= 1e-3 && size < 10 ** Math.max(digits + 2, 5);
  const words = plain ? String(Number(value.toPrecision(digits))) : value.toExponential(digits - 1).replace(/\.?0*e\+?/, "e");
  return words.replaceAll("-", "−");
}

// A bound with as many digits as its neighbors in a column.
function showBound(value) {
  const words = Number.isFinite(value) ? value.toPrecision(9) : "";
  return words && !words.includes("e") ? words.replace("-", "−") : show(value, 9);
}

// An element with its attributes (functions are listeners) and children; strings become text, never markup.
function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function shape(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}
