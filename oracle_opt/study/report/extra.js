// What the author of the report has added: figures and tables of the library, which filters do not change.

const OF_ALL = "Made before the report was written: the filters above do not change it.";

function extraSection(data, i) {
  const id = `extra-${i + 1}`;
  if (data.type === "plane") return planeSection(data, id);
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
