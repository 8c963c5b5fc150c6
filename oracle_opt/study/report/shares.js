// What figures and tables show of the chosen runs, computed as the library does: profiles, shares of targets, means.

// Share of the values that are at most x, as steps from `left` to `right`.
function shares(values, left, right) {
  const finite = values.filter(Number.isFinite).sort((a, b) => a - b);
  const x = [...new Set([left, ...finite.filter((value) => value > left), right])].sort((a, b) => a - b);
  let below = 0;
  const y = x.map((value) => {
    while (below < finite.length && finite[below] <= value) below += 1;
    return below / values.length;
  });
  return { x, y };
}

// Dolan and Moré's performance profile: shares of problems solved within a multiple of the least cost.
function profile() {
  const problems = problemCosts();
  const ratios = chosenGenerators().map((name) => [name, problems.map((problem) => {
    const value = costIn(problem, name);
    return value === Infinity ? Infinity : value / Math.min(...problem.costs.values());
  })]);
  const right = 1.1 * greatest(ratios.map(([, values]) => values), 1.8);
  return { series: problems.length ? ratios.map(([name, values]) => ({ name, ...shares(values, 1, right) })) : [], problems: problems.length };
}

// Shares of problems solved within a cost.
function dataProfile() {
  const problems = problemCosts();
  const costs = chosenGenerators().map((name) => [name, problems.map((problem) => costIn(problem, name))]);
  const finite = costs.flatMap(([, values]) => values.filter(Number.isFinite));
  const left = state.cost !== "calls" && finite.length ? 0.9 * least(finite) : 1;
  const right = 1.1 * greatest(costs.map(([, values]) => values), 1.8 * left);
  return { series: problems.length ? costs.map(([name, values]) => ({ name, ...shares(values, left, right) })) : [], problems: problems.length };
}

// Shares of pairs of a problem and a target that are reached within a cost, of the proven gap: five targets a decade
// from 1 to the finest accuracy.
function targetShares() {
  const finest = DATA.tau.at(-1), targets = [finest];
  for (let k = 0; k < -5 * Math.log10(finest) - 1e-8; k += 1) targets.push(10 ** (-k / 5));
  const runs = chosenRuns(), problems = new Set(runs.map((run) => run.problem)).size;
  const costs = chosenGenerators().map((name) => {
    const found = runs.filter((run) => run.generator === name).flatMap((run) => targets.map((target) => costToGap(run, target)));
    return [name, [...found, ...new Array(problems * targets.length - found.length).fill(Infinity)]];
  });
  const finite = costs.flatMap(([, values]) => values.filter(Number.isFinite));
  const left = state.cost !== "calls" && finite.length ? 0.9 * least(finite) : 1;
  const right = 1.1 * greatest(costs.map(([, values]) => values), 1.8 * left);
  return { series: problems ? costs.map(([name, values]) => ({ name, ...shares(values, left, right) })) : [], problems, targets: targets.length };
}

function costToGap(run, target) {
  const found = run.status === "FAILED" || run.status === "REFUSED" ? null : curves(run);
  const place = found ? found.least.findIndex((gap) => gap <= target * (1 + 1e-9)) : -1;
  return place < 0 ? Infinity : found[state.cost][place];
}

// Shifted geometric means of the costs, and how the runs ended: as `Results.means` of the library.
function means(shift = 10) {
  const problems = problemCosts();
  const rows = chosenGenerators().map((name) => {
    const times = problems.map((problem) => Math.min(costIn(problem, name), Number.isFinite(costIn(problem, name)) ? Infinity : problem.limit));
    const mean = Math.exp(times.reduce((sum, time) => sum + Math.log(Math.max(1, time + shift)), 0) / problems.length) - shift;
    const runs = problems.map((problem) => problem.runs.get(name));
    const ended = (status) => runs.filter((run) => run?.status === status).length;
    const solved = problems.filter((problem) => costIn(problem, name) < Infinity).length;
    const [failed, refused, missing] = [ended("FAILED"), ended("REFUSED"), runs.filter((run) => !run).length];
    return { name, mean, solved, unsolved: problems.length - solved - failed - refused - missing, failed, refused, missing };
  });
  return { rows, problems: problems.length };
}

const least = (values) => values.reduce((found, value) => Math.min(found, value), Infinity);
const greatest = (lists, atLeast) => lists.flat().reduce((found, value) => (value < Infinity ? Math.max(found, value) : found), atLeast);
