// What the author of the report has added: figures and tables of the library, which filters do not change.

const OF_ALL = "Made before the report was written: the filters above do not change it.";

function extraSection(data, i) {
  const id = `extra-${i + 1}`;
  const part = section(id, data.heading, () => {});
  part.words.textContent = `${data.title}. ${data.caption} ${OF_ALL}`;
  if (data.type === "curves") new Figure(part.content).show(data);
  else fixedTable(part.content, data);
  return part;
}

function fixedTable(holder, data) {
  const rows = (data.columns[0]?.values ?? []).map((_, i) => data.columns.map((column) => column.values[i]));
  const best = rows.map((row) => {
    const values = row.filter((value, j) => data.columns[j].compared && Number.isFinite(value));
    return data.largest ? Math.max(...values) : Math.min(...values);
  });
  const cells = rows.map((row, i) => row.map((value, j) => ({ key: value, best: data.columns[j].compared && value === best[i] && Number.isFinite(value) })));
  makeTable(holder, { label: data.title, rows: cells, page: 25, columns: data.columns.map((column, j) => ({
    title: column.title, number: column.number, head: j === 0 && !column.number,
    show: ({ key: value, best: bold }) => make(bold ? "b" : "span", {}, value === Infinity ? "–" : show(value, 4)) })) });
}

// Put the sections on the page, and draw them.

const gaps = gapSection();
const sections = [gaps, costSection(), citation(), profileSection(), dataProfileSection(), targetSection(), meanSection(), areaSection(), rankSection(), overview(),
  ...DATA.extra.map(extraSection), failureSection(), runSection()];

function showInstance(name) {
  gaps.choose(name);
  gaps.element.scrollIntoView();
}

function start() {
  const main = document.getElementById("main"), dialog = document.getElementById("run");
  const links = sections.map(({ element }) => make("li", {}, make("a", { href: `#${element.id}` }, element.querySelector("h2").textContent)));
  document.getElementById("top").append(make("nav", { "aria-label": "Sections" }, make("ul", {}, links)));
  main.append(controls(), ...sections.map(({ element }) => element), make("footer", {},
    `Written by oracle_opt ${DATA.version} on ${DATA.written}. Everything is in this file; it fetches nothing.`));
  sections.forEach((part) => part.start());
  refresh();
  window.addEventListener("hashchange", followAddress);
  dialog.addEventListener("close", () => {
    if (location.hash.startsWith("#run-")) history.replaceState(null, "", location.pathname + location.search);
  });
  for (const [event, whole] of [["beforeprint", true], ["afterprint", false]]) {
    window.addEventListener(event, () => document.querySelectorAll(".table").forEach((box) => box.whole(whole)));
  }
  followAddress();
}

start();
