// Every run: the table, those that failed or were refused, and the page of one run.

function failureSection() {
  const part = section("failures", "Failed and refused runs", () => {
    const runs = chosenRuns().filter((run) => run.status === "FAILED" || run.status === "REFUSED");
    part.words.textContent = runs.length ? "An exception ended these runs, or the generator cannot serve the instance. They count as unsolved everywhere. Press an instance to see the whole message." : "None of the chosen runs failed or was refused.";
    part.content.replaceChildren();
    if (runs.length) makeTable(part.content, { label: "Failed and refused runs", page: 10, rows: runs.map((run) => [{ key: run.instance, run }, run.generator, Number(run.seed), run.status.toLowerCase(), run.message]),
      columns: [{ title: "instance", head: true, show: runLink }, { title: "generator" }, { title: "seed", number: true }, { title: "how" }, { title: "message", wide: true }] });
  });
  return part;
}

function runSection() {
  const part = section("runs", "Every run", update);
  const columns = [
    ["instance", (run) => ({ key: run.instance, run }), { head: true, show: runLink }], ["generator", (run) => run.generator, {}],
    ["seed", (run) => Number(run.seed), { number: true }], ["status", (run) => run.status.toLowerCase().replaceAll("_", " "), {}],
    ["certificate", (run) => run.certificate, {}],
    ["calls", (run) => run.n_calls, { number: true }], ["oracle s", (run) => run.oracle_seconds, { number: true }],
    ["generator s", (run) => run.generator_seconds, { number: true }], ["relative gap", (run) => run.relative_gap, { number: true }],
    ["upper bound", (run) => run.upper_bound, { number: true, show: showBound }],
    ["lower bound", (run) => run.lower_bound, { number: true, show: showBound }],
    ...DATA.measures.map(([name, values]) => [name, (run) => entry(values, run.index), { number: true, show: (value) => show(value, 4) }]),
  ];
  const search = make("input", { type: "search", placeholder: "words of instance, generator, status", "aria-label": "Search the runs", input: () => update() });
  part.content.append(make("div", { class: "own" }, search));
  const table = makeTable(part.content, { label: "Every run", rows: [], page: 25,
    columns: columns.map(([title, , more]) => ({ title, ...more })) });

  function update() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const runs = chosenRuns().filter((run) => {
      const line = `${run.instance} ${run.generator} ${run.seed} ${run.status} ${run.certificate} ${run.message}`.toLowerCase();
      return words.every((word) => line.includes(word));
    });
    part.words.textContent = `${count(runs.length, "run")} with the calls and ${DATA.seconds} until the run converged or ended, and the proven bounds there. ` +
      "Press a heading to sort, an instance to open the run with its curves. " + DATA.notes.join(" ");
    table.set(runs.map((run) => columns.map(([, value]) => value(run))));
  }

  return part;
}

const runLink = (cell) => make("a", { href: `#run-${cell.run.index}` }, cell.key);

// The page of one run, over the others.
function openRun(run) {
  const dialog = document.getElementById("run");
  const close = make("button", { type: "button", class: "close", "aria-label": "Close", click: () => dialog.close() }, "Close");
  const facts = [
    ["Status", `${run.status.toLowerCase().replaceAll("_", " ")}${run.message ? ": " + run.message : ""}`],
    ["Oracle calls", show(run.n_calls)],
    ["Seconds", `${show(run.oracle_seconds)} in the oracle, ${show(run.generator_seconds)} in the generator (${DATA.seconds}); ${show(run.seconds)} elapsed in all`],
    ["Bounds", `${showBound(run.lower_bound)} ≤ minimum ≤ ${showBound(run.upper_bound)}`],
    ["Relative gap", show(run.relative_gap)],
    ["Certificate", WORTH[run.certificate] ?? run.certificate],
    ["Known minimum", run.optimum === null ? "" : `${show(run.optimum, 9)}, off by ${show(run.optimum_error, 2)} at most`],
    ...Object.keys(DATA.tests).map((test) => [`Cost by the test "${test}"`, costLine(run, test)]),
    ...DATA.measures.map(([name, values]) => [name, show(entry(values, run.index), 4)]),
    ["Instance", `${run.family ? `family ${run.family}, ` : ""}${count(run.n ?? 0, "variable")}${run.oracle ? ": " + run.oracle : ""}`],
    ["Made by", run.recipe],
    ["Generator", run.method],
    ["Limits", limits(run)],
    ["Machine", `${run.machine ?? ""}${run.version ? ", version " + run.version : ""}`],
  ].filter(([, value]) => value && value !== "–");
  const body = make("div", { class: "body" }, make("dl", { class: "facts" }, facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])));
  dialog.replaceChildren(make("div", { class: "heading" }, make("h2", { id: "run-title" }, `${run.generator} on ${run.instance}, seed ${run.seed}`), close), body);
  if (run.traceback) body.append(make("h3", {}, "Traceback"), make("pre", { tabindex: 0 }, run.traceback));
  if (!dialog.open) dialog.showModal();
  const found = curves(run);
  if (!found) {
    body.append(make("p", { class: "text" }, "There is no history of this run."));
    return;
  }
  const x = found[state.cost];
  body.append(make("h3", {}, "Gap"), make("p", { class: "text" }, `The proven relative gap against ${costWords()}, and the accuracy ${show(DATA.tau[state.tau], 2)}.`));
  new Figure(body).show({ x: costWords(), y: "relative gap", log_x: true, log_y: true, kind: "steps", threshold: DATA.tau[state.tau],
    panels: [{ series: [{ name: run.generator, x, y: found.gap.map((gap) => Math.max(gap, SMALLEST)) }] }] });
  const window_ = zoom(found);
  body.append(make("h3", {}, "Bounds"), make("p", { class: "text" },
    `The best value so far and the best proven lower bound; the minimum lies between them. ${window_ > 0 ? `The first ${count(window_, "point")}, where they are far apart, are left out.` : ""}`));
  new Figure(body).show({ x: costWords(), y: "bound", log_x: true, kind: "steps", panels: [{ series: [
    { name: "upper bound", x: x.slice(window_), y: found.upper.slice(window_) },
    { name: "lower bound", x: x.slice(window_), y: found.lower.slice(window_) }] }] });
}

// Points at the beginning whose gap is more than a hundred times the median one hide all that follows.
function zoom(found) {
  const wide = found.upper.map((upper, i) => upper - found.lower[i]);
  const typical = median(wide.filter(Number.isFinite));
  const first = wide.findIndex((gap) => gap <= 100 * typical);
  return Math.max(0, first);
}

function costLine(run, test) {
  return DATA.tau.map((tau, i) => {
    const value = costOf(run, i, state.cost, test);
    return value === undefined ? null : `${show(tau, 2)}: ${value === Infinity ? "never" : show(value)}`;
  }).filter(Boolean).join("; ") + ` (${costWords()})`;
}

function limits(run) {
  const words = [];
  if (run.rtol) words.push(`gap ${show(run.rtol, 2)}`);
  if (run.max_calls) words.push(count(run.max_calls, "call"));
  if (run.max_seconds) words.push(count(run.max_seconds, "second"));
  return words.join(", ");
}

function followAddress() {
  const found = /^#run-(\d+)$/.exec(location.hash), dialog = document.getElementById("run");
  if (found && RUNS[found[1]]) openRun(RUNS[found[1]]);
  else if (dialog.open) dialog.close();
}
