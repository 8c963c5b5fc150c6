// Gaps against cost, profiles, and tables of costs, of the chosen runs.

const testWords = () => DATA.tests[state.test].words.replaceAll("{tau}", show(DATA.tau[state.tau], 2));

function testSentence() {
  const missing = leftOut();
  return `A run has solved its problem at the first cost at which ${testWords()} (test "${state.test}"). ` +
    (state.test === "more-wild" ? "The best value is that of any generator on this page, chosen or not. " : "") +
    (missing ? `${count(missing, "problem")} ${missing === 1 ? "is" : "are"} left out: no minimum is known ten times as exactly as the accuracy. ` : "");
}

const costWords = () => COSTS[state.cost];

// Relative gap against cost: a panel an instance, a few at a time.
function gapSection() {
  const part = section("gaps", "Gap against cost", update);
  const select = make("select", { "aria-label": "Instance", change: () => { only = select.value; page = 0; update(); } });
  const pager = make("span", { class: "pager" }), holder = make("div");
  let only = "", page = 0;
  part.content.append(make("div", { class: "own" }, make("label", { class: "choice" }, make("span", {}, "Instance"), select), pager), holder);
  const figure = new Figure(holder);
  const size = 6;

  function update() {
    const instances = [...group(chosenRuns(), (run) => run.instance).keys()];
    if (only && !instances.includes(only)) only = "";
    select.replaceChildren(make("option", { value: "" }, `all ${instances.length}, ${size} at a time`), ...instances.map((name) => make("option", { value: name, selected: name === only }, name)));
    const pages = only ? 1 : Math.max(1, Math.ceil(instances.length / size));
    page = Math.min(page, pages - 1);
    const turn = (by) => () => { page += by; update(); };
    pager.replaceChildren(...(pages === 1 ? [] : [
      make("button", { type: "button", disabled: page === 0, click: turn(-1) }, "Previous"), `${page + 1} of ${pages}`,
      make("button", { type: "button", disabled: page === pages - 1, click: turn(1) }, "Next")]));
    const shown = only ? [only] : instances.slice(page * size, (page + 1) * size);
    const panels = shown.map((name) => gapPanel(name));
    part.words.textContent = `The least proven relative gap so far, which no known minimum enters, against ${costWords()}. A curve is the geometric mean over the seeds, ` +
      `its band the range from their 10 % to their 90 % quantile, drawn where no more than ${MOST_BANDS} curves are; it begins where all of them have a finite gap, and a run that has ended keeps its last gap. ` +
      `The dotted line is the accuracy ${show(DATA.tau[state.tau], 2)}. Gaps below 1e−16 are drawn there.`;
    figure.show({ x: costWords(), y: "relative gap", log_x: true, log_y: true, kind: "line", threshold: DATA.tau[state.tau], panels });
  }

  part.choose = (name) => { only = name; update(); };
  return part;
}

function gapPanel(instance) {
  const own = chosenRuns().filter((run) => run.instance === instance && curves(run) !== null);
  const seeds = new Set(own.map((run) => run.seed)).size;
  const series = [...group(own, (run) => run.generator)].map(([name, runs]) => ({ name, ...meanGap(runs.map(curves)) }));
  series.sort((a, b) => GENERATORS.indexOf(a.name) - GENERATORS.indexOf(b.name));
  return { title: seeds > 1 ? `${instance}, ${count(seeds, "seed")}` : instance, series };
}

function meanGap(found) {
  const paths = found.map((curve) => ({ x: curve[state.cost], y: curve.least.map((gap) => Math.max(gap, SMALLEST)) }));
  let x = [...new Set(paths.flatMap((path) => path.x))].sort((a, b) => a - b);
  if (x.length > 300) x = x.filter((_, i) => i % Math.ceil(x.length / 300) === 0 || i === x.length - 1);
  const table = x.map((at) => paths.map((path) => stepValue(path.x, path.y, at)));
  const good = x.map((_, i) => table[i].every((gap) => Number.isFinite(gap)));
  const rows = table.filter((_, i) => good[i]).map((row) => row.sort((a, b) => a - b));
  const series = { x: x.filter((_, i) => good[i]), y: rows.map((row) => Math.exp(row.reduce((sum, gap) => sum + Math.log(gap), 0) / row.length)), ends: true };
  return paths.length > 1 ? { ...series, low: rows.map((row) => quantile(row, 0.1)), high: rows.map((row) => quantile(row, 0.9)) } : series;
}

function profileSection() {
  const part = section("profile", "Performance profile", () => {
    const { series, problems } = profile();
    part.words.textContent = `Dolan and Moré (2002): the share of ${count(problems, "problem")} (each seed of an instance is one) that a generator solved at no more than ` +
      `x times the least ${costWords()} of any chosen generator. ${testSentence()} At the left end stands the share of problems where it was the best, ties included; ` +
      "at the right end the share it solved at all. With more than two generators ranks may change when one is left out (Gould and Scott 2016): use the filter to compare two.";
    figure.show({ x: `${state.cost} relative to the best`, y: "share of problems", log_x: true, kind: "steps", range: [0, 1], panels: [{ series }] });
  });
  const figure = new Figure(part.content);
  return part;
}

function dataProfileSection() {
  const part = section("solved", "Problems solved within a cost", () => {
    const { series, problems } = dataProfile();
    part.words.textContent = `The share of ${count(problems, "problem")} (each seed of an instance is one) that a generator solved within so many ${costWords()}. ${testSentence()}`;
    figure.show({ x: costWords(), y: "share of problems", log_x: true, kind: "steps", range: [0, 1], panels: [{ series }] });
  });
  const figure = new Figure(part.content);
  return part;
}

function targetSection() {
  const part = section("targets", "Targets reached within a cost", () => {
    const { series, problems, targets } = targetShares();
    part.words.textContent = `The share of all pairs of a problem and a target that are reached within so many ${costWords()}: ${count(problems, "problem")} times ` +
      `${targets} accuracies, five a decade from 1 to ${show(DATA.tau.at(-1), 2)}, of the proven relative gap. It has the whole way of all runs in one curve, not one accuracy alone. ` +
      (DATA.thinned ? "It is made of the points of the histories that this page keeps. " : "") + "A run that failed or was refused reaches nothing.";
    figure.show({ x: costWords(), y: "share of problems and targets", log_x: true, kind: "steps", range: [0, 1], panels: [{ series }] });
  });
  const figure = new Figure(part.content);
  return part;
}

// One row a generator: the mean cost, and how the runs ended.
function meanSection() {
  const part = section("means", "Mean costs", () => {
    const { rows, problems } = means();
    const best = least(rows.map((row) => row.mean).filter(Number.isFinite));
    const charged = state.cost === "calls" ? "calls" : "seconds";
    part.words.textContent = `Shifted geometric means of the ${costWords()} over ${count(problems, "problem")}, exp(mean log max(1, t + 10)) − 10. ${testSentence()}` +
      `A problem that is not solved is charged the limit of its runs in ${charged}, and counted apart: the mean of a generator that solves little says little.` +
      (rows.some((row) => Number.isNaN(row.mean)) ? ` A dash: the runs had no limit in ${charged}.` : "");
    const counts = ["solved", "unsolved", "failed", "refused", "missing"];
    part.content.replaceChildren();
    makeTable(part.content, { label: "Mean costs", page: 50,
      rows: rows.map((row) => [row.name, row.mean, row.mean / best, ...counts.map((name) => row[name])]),
      columns: [{ title: "generator", head: true, show: sample }, { title: "mean", number: true }, { title: "over the best", number: true },
        ...counts.map((title) => ({ title, number: true }))] });
  });
  return part;
}

// Median cost of every generator on every instance.
function costSection() {
  const part = section("costs", "Cost to the accuracy", () => {
    const generators = chosenGenerators();
    const rows = [...group(chosenRuns(), (run) => run.instance)].map(([instance, runs]) => {
      const cells = generators.map((name) => costCell(runs.filter((run) => run.generator === name)));
      const best = Math.min(...cells.map((cell) => cell.key ?? Infinity));
      for (const cell of cells) cell.best = cell.key === best && best < Infinity;
      return [instance, runs[0].n, ...cells];
    });
    part.words.textContent = `Median over the seeds of the ${costWords()}; the least of each row is bold. ${testSentence()} ` +
      "Small numbers say how many of the runs solved it, where not all did; the median is infinite (∞) if half of them or more did not. A dash: no run.";
    const some = rows.some((row) => row.slice(2).some((cell) => cell.unsolved));
    const costWord = (cell) => make("span", {}, cell.key === null ? "–" : make(cell.best ? "b" : "span", {}, show(cell.key)),
      some ? make("small", { class: "solved" }, cell.unsolved ? `${cell.runs - cell.unsolved}/${cell.runs}` : "") : null);
    part.content.replaceChildren();
    makeTable(part.content, { label: "Cost to the accuracy", rows, page: 25, columns: [
      { title: "instance", head: true, show: (name) => make("button", { type: "button", class: "link", title: "Show its gaps", click: () => showInstance(name) }, name) },
      { title: "variables", number: true }, ...generators.map((title) => ({ title, number: true, show: costWord }))] });
  });
  return part;
}

function costCell(runs) {
  const costs = runs.map((run) => costOf(run)).filter((value) => value !== undefined);
  if (!costs.length) return { key: null };
  return { key: median(costs), unsolved: costs.filter((value) => value === Infinity).length, runs: costs.length };
}
