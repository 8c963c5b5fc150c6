// What was run: counts, limits, machine and versions, the generators with their parameters, the instances.

const TERMS = {
  CONVERGED: "converged", MAX_CALLS: "stopped by the limit on calls", MAX_SECONDS: "stopped by the limit on seconds",
  FAILED: "ended by an exception", REFUSED: "refused by the generator",
  DOUBTFUL: "with bounds in doubt",
};

// What the certificates of runs are worth.
const WORTH = {
  "proven": "proven from the data alone", "given the cuts": "proven, given the cuts", "none": "without a finite bound to certify",
  "refused": "refused: it does not hold", "": "not verified",
};

function overview() {
  const part = section("overview", "What was run", update);
  const facts = make("dl", { class: "facts" });
  const generators = make("div"), instances = make("div");
  part.content.append(facts,
    make("h3", {}, "Generators"), make("p", { class: "text" },
      "Each generator with the parameters it was made with, and how its chosen runs ended. Solved means: by the test and to the accuracy chosen above."), generators,
    make("h3", {}, "Instances"), make("p", { class: "text" },
      "Each instance with its number of variables, the known minimum and its error where one is known, and how many of the chosen runs solved it."), instances);

  function update() {
    const runs = chosenRuns();
    const ends = tally(runs, (run) => run.status);
    part.words.textContent = `${count(runs.length, "run")} of ${count(chosenGenerators().length, "generator")} on ` +
      `${count(new Set(runs.map((run) => run.instance)).size, "instance")}: ` +
      [...ends].map(([status, number]) => `${number.toLocaleString("en")} ${TERMS[status] ?? status.toLowerCase().replaceAll("_", " ")}`).join(", ") + "." +
      (DATA.interrupted ? " The study was interrupted: runs are missing." : "");
    facts.replaceChildren(...[
      ["Accuracies asked for", DATA.tau.map((tau) => show(tau, 2)).join(", ")],
      ["Runs end at a gap of", different(runs, "rtol")],
      ["Limit on calls", different(runs, "max_calls")],
      ["Limit on seconds", different(runs, "max_seconds")],
      ["Seeds", names(NAMES.seed)],
      ["Certificates of runs", [...tally(runs, (run) => run.certificate)].map(([word, number]) => `${number.toLocaleString("en")} ${WORTH[word] ?? word}`).join(", ")],
      ["Machine", different(runs, "machine")],
      ["Version of the library", different(runs, "version")],
      ["Report written", `${DATA.written}, by version ${DATA.version}`],
    ].filter(([, value]) => value).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
    drawGenerators(runs);
    drawInstances(runs);
  }

  function drawGenerators(runs) {
    const rows = chosenGenerators().map((name) => {
      const own = runs.filter((run) => run.generator === name);
      const solved = own.filter((run) => costOf(run) < Infinity).length;
      const ended = (...statuses) => own.filter((run) => statuses.includes(run.status)).length;
      return [name, different(own, "method"), own.length, solved, own.length - solved - ended("FAILED", "REFUSED"), ended("FAILED"), ended("REFUSED")];
    });
    generators.replaceChildren();
    makeTable(generators, { label: "Generators", rows, page: 25, columns: [{ title: "generator", head: true, show: sample },
      { title: "parameters", wide: true }, ...["runs", "solved", "unsolved", "failed", "refused"].map((title) => ({ title, number: true }))] });
  }

  function drawInstances(runs) {
    const rows = [...group(runs, (run) => run.instance)].map(([name, own]) => {
      const first = own[0], optima = new Set(own.map((run) => run.optimum));
      const known = optima.size === 1 && first.optimum !== null;
      return [name, first.family, first.n, known ? first.optimum : optima.size > 1 ? "by seed" : null,
        known ? first.optimum_error : null, own.length, own.filter((run) => costOf(run) < Infinity).length];
    });
    instances.replaceChildren();
    makeTable(instances, { label: "Instances", rows, page: 10, columns: [{ title: "instance", head: true }, { title: "family" },
      { title: "variables", number: true }, { title: "minimum", number: true, show: (value) => show(value, 9) },
      { title: "its error", number: true, show: (value) => show(value, 2) }, { title: "runs", number: true }, { title: "solved", number: true }] });
  }

  return part;
}

// How to cite the study, and the listing that does it again.
function citation() {
  const part = section("cite", "Cite and reproduce", update), listing = make("pre", { class: "listing" });
  part.content.append(listing);

  function update() {
    const runs = chosenRuns();
    const word = (name) => JSON.stringify(name);
    const methods = chosenGenerators().map((name) => {
      const own = runs.filter((run) => run.generator === name), module = different(own, "module");
      return `    ${word(name)}: ${word((module ? `${module}:` : "") + different(own, "method"))},`;
    });
    // a function of one's own is named by its module, a problem of the library by what stands before the colon
    const from = (name, recipe) => /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$/.test(recipe) ? recipe.replace(/\.(\w+)$/, ":$1") : recipe.includes(": ") ? recipe.split(": ")[0] : name;
    const made = [...new Map(runs.map((run) => [run.instance, run.recipe ?? ""]))].map(([name, recipe]) => `    ${word(name)}: ${word(from(name, recipe))},`);
    part.words.textContent = `“${document.title}”, ${count(runs.length, "run")}, ${DATA.written}, by oracle_opt ${DATA.version}: every gap is proven by its run. ` +
      "The same study again, where the modules of your own functions and methods can be imported:";
    listing.textContent = ["from oracle_opt.study import Limits, Study", "", "methods = {", ...methods, "}", "instances = {", ...made, "}",
      "study = Study(", "    instances,", "    methods,", `    seeds=[${NAMES.seed.join(", ")}],`,
      `    limits=Limits(calls=${Math.max(...runs.map((run) => run.max_calls))}),`, `    tau=[${DATA.tau.join(", ")}],`, ")", 'results = study.run("folder")'].join("\n");
  }

  return part;
}

// The name of a generator with its line.
function sample(name) {
  const line = shape("svg", { width: 26, height: 8, class: "sample", "aria-hidden": "true" }, shape("path", { d: "M1 4H25", ...stroke(LOOK.get(name)) }));
  return make("span", { class: "named" }, line, name);
}

function group(items, name) {
  const found = new Map();
  for (const item of items) {
    const word = name(item);
    if (!found.has(word)) found.set(word, []);
    found.get(word).push(item);
  }
  return found;
}

const tally = (items, name) => new Map([...group(items, name)].map(([word, own]) => [word, own.length]).sort((a, b) => b[1] - a[1]));

// The different values of a column, in words.
function different(runs, column) {
  const found = [...new Set(runs.map((run) => run[column]))].filter((value) => value !== null && value !== "");
  if (found.length > 6 && found.every((value) => typeof value === "number")) {
    return `${show(Math.min(...found))} to ${show(Math.max(...found))}`;
  }
  return found.slice(0, 6).map((value) => show(value, 4)).join("; ") + (found.length > 6 ? `; and ${found.length - 6} more` : "");
}

const names = (list) => (list.length <= 6 ? list.join(", ") : `${list.slice(0, 3).join(", ")}, ... ${list.at(-1)} (${list.length})`);
