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
