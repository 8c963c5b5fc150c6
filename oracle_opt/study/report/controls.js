// The bar on top: what is compared, by which cost and test, and which runs take part.

const listeners = [];
const refresh = () => listeners.forEach((listener) => listener());

function controls() {
  const tests = Object.keys(DATA.tests), bar = make("div", { class: "bar", role: "toolbar", "aria-label": "What is compared" });
  bar.append(
    choice("Cost", Object.keys(COSTS).map((name) => [name, name]), state.cost, (value) => { state.cost = value; }),
    choice("Accuracy", DATA.tau.map((tau, i) => [String(i), show(tau, 2)]), String(state.tau), (value) => { state.tau = Number(value); }),
    ...(tests.length > 1 ? [choice("Test", tests.map((test) => [test, test]), state.test, (value) => { state.test = value; })] : []),
    ...FILTERS.filter((filter) => NAMES[filter].length > 1).map(menu));
  const reset = () => {
    for (const filter of FILTERS) state.chosen[filter] = new Set(NAMES[filter]);
    state.hidden.clear();
    bar.querySelectorAll(".menu").forEach((element) => element.update());
    refresh();
  };
  const number = make("output", { class: "count" });
  listeners.push(() => { number.textContent = `${chosenRuns().length.toLocaleString("en")} of ${count(RUNS.length, "run")}`; });
  bar.append(make("button", { type: "button", class: "plain", click: reset }, "Reset"), number);
  document.addEventListener("pointerdown", (event) => {
    for (const open of bar.querySelectorAll("details[open]")) if (!open.contains(event.target)) open.open = false;
  });
  return bar;
}

function choice(label, options, value, change) {
  const select = make("select", { change: () => { change(select.value); refresh(); } },
    options.map(([name, words]) => make("option", { value: name, selected: name === value }, words)));
  return make("label", { class: "choice" }, make("span", {}, label), select);
}

// A list of names to tick; a long one can be searched.
function menu(filter) {
  const names = NAMES[filter], chosen = () => state.chosen[filter];
  const much = make("span", { class: "much" }), summary = make("summary", {}, make("span", {}, filter[0].toUpperCase() + filter.slice(1)), much);
  const boxes = names.map((name) => make("input", { type: "checkbox", checked: true, change: (event) => {
    if (event.target.checked) chosen().add(name); else chosen().delete(name);
    element.update();
    refresh();
  } }));
  const lines = names.map((name, i) => make("label", {}, boxes[i], make("span", {}, name)));
  const matching = () => names.filter((_, i) => !lines[i].hidden);
  const all = (change) => () => { matching().forEach(change); element.update(); refresh(); };
  const search = make("input", { type: "search", placeholder: "search", "aria-label": `Search ${filter}`, input: () => {
    const words = search.value.toLowerCase();
    lines.forEach((line, i) => { line.hidden = !names[i].toLowerCase().includes(words); });
  } });
  const element = make("details", { class: "menu", "data-filter": filter, keydown: (event) => {
    if (event.key === "Escape") { element.open = false; summary.focus(); }
  } }, summary, make("div", { class: "pop" },
    names.length > 8 ? search : null,
    make("div", { class: "both" },
      make("button", { type: "button", class: "plain", click: all((name) => chosen().add(name)) }, "all"),
      make("button", { type: "button", class: "plain", click: all((name) => chosen().delete(name)) }, "none")),
    make("div", { class: "names" }, lines)));
  element.update = () => {
    boxes.forEach((box, i) => { box.checked = chosen().has(names[i]); });
    much.textContent = chosen().size === names.length ? "all" : `${chosen().size} of ${names.length}`;
    element.classList.toggle("some", chosen().size < names.length);
  };
  element.update();
  return element;
}

// A section with its heading and the text that says what it shows; `update` is called now and at every change.
function section(id, title, update) {
  const words = make("p", { class: "text" }), content = make("div");
  const element = make("section", { id, "aria-labelledby": `${id}-title` }, make("h2", { id: `${id}-title` }, title), words, content);
  return { element, words, content, start() { listeners.push(update); } };
}
