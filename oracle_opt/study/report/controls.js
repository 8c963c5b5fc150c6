// Tables that sort by a press on a heading, in pages, inside a box of their own that scrolls.
//
// columns: [{title, number, show(value) -> string or element, hint}], rows: arrays of values in the order of the columns.

function makeTable(holder, { columns, rows, page = 50, sort = null, label = "" }) {
  const body = make("tbody"), pager = make("div", { class: "pager" });
  const heads = columns.map((column, j) => make("th", { scope: "col", class: column.number ? "number" : null, title: column.hint },
    make("button", { type: "button", click: () => order(j) }, column.title)));
  const box = make("div", { class: "table" },
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label || "table" },
      make("table", {}, make("thead", {}, make("tr", {}, heads)), body)), pager);
  let current = rows, by = sort, start = 0;

  function order(j) {
    by = by && by[0] === j ? [j, -by[1]] : [j, 1];
    start = 0;
    draw();
  }

  // What is unknown comes last, whichever way the rest is sorted.
  function compare(a, b) {
    const [j, way] = by, p = key(a[j]), q = key(b[j]);
    const unknown = (value) => value === null || value === undefined || value === "" || Number.isNaN(value);
    if (unknown(p) || unknown(q)) return unknown(p) - unknown(q);
    if (typeof p === "number" && typeof q === "number") return way * (p < q ? -1 : p > q ? 1 : 0);
    return way * String(p).localeCompare(String(q), "en", { numeric: true });
  }

  function draw() {
    const sorted = by ? current.map((row, i) => [row, i]).sort((a, b) => compare(a[0], b[0]) || a[1] - b[1]).map(([row]) => row) : current;
    heads.forEach((head, j) => head.setAttribute("aria-sort", by && by[0] === j ? (by[1] > 0 ? "ascending" : "descending") : "none"));
    body.replaceChildren(...sorted.slice(start, start + page).map((row) => make("tr", {}, row.map((value, j) => cell(value, j)))));
    if (!current.length) body.append(make("tr", {}, make("td", { colspan: columns.length, class: "empty" }, "no rows")));
    const end = Math.min(start + page, current.length);
    const turn = (to) => () => { start = to; draw(); };
    pager.replaceChildren(...(current.length <= page ? [] : [
      make("button", { type: "button", disabled: start === 0, click: turn(Math.max(0, start - page)) }, "Previous"),
      `${(start + 1).toLocaleString("en")} to ${end.toLocaleString("en")} of ${current.length.toLocaleString("en")}`,
      make("button", { type: "button", disabled: end >= current.length, click: turn(start + page) }, "Next")]));
  }

  function cell(value, j) {
    const column = columns[j];
    const shown = column.show ? column.show(value) : show(value);
    const tag = column.head ? "th" : "td";
    return make(tag, { class: column.number ? "number" : column.wide ? "wide" : null, scope: column.head ? "row" : null }, shown);
  }

  const rowsOfPage = page;
  box.whole = (yes) => { page = yes ? 500 : rowsOfPage; start = 0; draw(); }; // on paper there are no pages to turn
  holder.append(box);
  draw();
  return { box, set(found) { current = found; start = 0; draw(); } };
}

// What a cell sorts by: cells that hold more than a value say it as `key`.
const key = (value) => (value !== null && typeof value === "object" ? value.key : value);

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
