// Areas over the curves, which filters average anew, and ranks with their tests, of the whole study.

function areaSection() {
  const part = section("areas", "Mean area over the curve", () => {
    const { areas, caption, refusal } = DATA.areas[state.cost];
    part.content.replaceChildren();
    if (refusal) {
      part.words.textContent = refusal;
      return;
    }
    const numbers = typeof areas === "string" ? (DATA.areas[state.cost].areas = integers(areas)) : areas;
    const generators = chosenGenerators(), runs = chosenRuns();
    const instances = group(runs, (run) => run.instance);
    const mean = (own) => {
      const problems = new Set(own.map((run) => run.problem)).size;
      return generators.map((name) => own.filter((run) => run.generator === name).reduce((sum, run) => sum + numbers[run.index] / 10000, 0) / problems);
    };
    const row = (name, own) => {
      const values = mean(own), best = Math.max(...values);
      return [{ key: name }, ...values.map((value) => ({ key: value, best: value === best && value > 0 }))];
    };
    part.words.textContent = `${caption} By the proven relative gap against ${costWords()}. A run that failed, was refused or is missing has 0. A row is the mean over the seeds of an instance, the first one that over all problems; the largest is bold. ` +
      (state.cost === "calls" ? "" : "The way is from the shortest first call to the longest run of any generator of the study, chosen or not.");
    makeTable(part.content, { label: "Mean area over the curve", page: 25, rows: runs.length ? [row("all problems", runs), ...[...instances].map(([name, own]) => row(name, own))] : [],
      columns: [{ title: "instance", head: true, show: ({ key: name }) => name }, ...generators.map((title) => ({ title, number: true, show: ({ key: value, best }) => make(best ? "b" : "span", {}, value.toFixed(3)) }))] });
  });
  return part;
}

function rankSection() {
  const part = section("ranks", "Mean ranks", () => draw());
  const holder = make("div"), tables = make("div");
  part.content.append(holder, tables);
  let width = 0;
  new ResizeObserver(() => {
    if (holder.clientWidth !== width) draw();
  }).observe(holder);

  function draw() {
    const found = DATA.ranks[state.cost][state.tau];
    width = holder.clientWidth;
    holder.replaceChildren();
    tables.replaceChildren();
    part.words.textContent = found.refusal ? `There are no ranks: ${found.refusal}.` : `${found.title}. ${found.caption} ${OF_ALL}`;
    if (found.refusal || !width) return;
    holder.append(rankDiagram(found, Math.min(width, 860)));
    makeTable(tables, { label: "Mean ranks", page: 25, rows: found.names.map((name, i) => [name, found.means[i], found.solved[i]]),
      columns: [{ title: "generator", head: true, show: sample }, { title: "mean rank", number: true, show: (value) => value.toFixed(2) }, { title: "share solved", number: true }] });
    const more = make("details", { class: "numbers" }, make("summary", {}, `The ${count(found.pairs.length, "pair")} and their probabilities`));
    makeTable(more, { label: "Pairs", page: 20, rows: found.pairs, columns: [{ title: "better rank" }, { title: "other" },
      { title: "p (Wilcoxon)", number: true }, { title: "p (Holm)", number: true }] });
    tables.append(more);
  }
  return part;
}

// Demšar's diagram: mean ranks on a line, a bar joins generators that are not told apart.
function rankDiagram({ names: list, means: ranks, cliques, n }, width) {
  const narrow = width < 560, side = narrow ? Math.min(118, 0.33 * width) : 200, k = list.length, left = Math.ceil(k / 2);
  const x = (rank) => round(side + ((rank - 1) / Math.max(1, k - 1)) * (width - 2 * side));
  const top = 44, bars = top + 14 + 9 * cliques.length, height = bars + 22 * left + 12;
  const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "ranks", role: "img", "aria-label":
    `Mean ranks over ${n} problems: ${list.map((name, i) => `${name} ${show(ranks[i])}`).join(", ")}` });
  svg.append(shape("path", { class: "frame", d: `M${x(1)} ${top}H${x(k)}` }),
    shape("text", { class: "label", x: width / 2, y: 14, "text-anchor": "middle" }, `mean rank over ${n} problems`));
  const every = Math.ceil((22 * k) / (width - 2 * side));
  for (let rank = 1; rank <= k; rank += every) {
    svg.append(shape("path", { class: "frame", d: `M${x(rank)} ${top - 5}V${top}` }), shape("text", { class: "tick", x: x(rank), y: top - 9, "text-anchor": "middle" }, String(rank)));
  }
  cliques.forEach((clique, i) => {
    const y = top + 12 + 9 * i, place = (name) => x(ranks[list.indexOf(name)]);
    svg.append(shape("path", { class: "clique", d: `M${place(clique[0]) - 4} ${y}H${place(clique.at(-1)) + 4}` }));
  });
  list.forEach((name, i) => {
    const first = i < left, y = bars + 22 * (first ? i : k - 1 - i) + 14, at = x(ranks[i]), end = first ? side - 8 : width - side + 8;
    const room = Math.floor((side - 14) / 7) - (narrow ? 0 : 5), short = name.length > room ? `${name.slice(0, room - 1)}…` : name;
    const words = narrow ? short : first ? `${short} ${ranks[i].toFixed(2)}` : `${ranks[i].toFixed(2)} ${short}`;
    svg.append(shape("path", { class: "lead", d: `M${at} ${top}V${y}H${end}`, stroke: ink(LOOK.get(name)) }), shape("circle", { cx: at, cy: top, r: 4, fill: ink(LOOK.get(name)) }),
      shape("text", { class: "name", x: first ? end - 4 : end + 4, y: y + 4, "text-anchor": first ? "end" : "start" }, words, shape("title", {}, name)));
  });
  return svg;
}
