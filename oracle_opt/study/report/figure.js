// Colors of lines, and ticks of axes.

const round = (value) => Math.round(10 * value) / 10;
const ink = (look) => (look.color === "#000000" ? "var(--ink)" : look.color);
const stroke = (look) => ({ stroke: ink(look), "stroke-dasharray": look.dash || null });

// Ticks of a logarithmic axis between 10^a and 10^b: powers of ten, some of them, or more where there are few.
function logTicks(a, b, room) {
  const ticks = [], every = Math.max(1, Math.ceil((b - a) / room));
  const factors = (b - a) * 3 < room ? [1, 2, 5] : [1];
  const plain = a > -3 && b < 5; // one notation on an axis
  for (let power = Math.floor(a); power <= Math.ceil(b); power += 1) {
    if (((power % every) + every) % every) continue;
    for (const factor of factors) {
      const at = power + Math.log10(factor);
      if (at >= a - 1e-9 && at <= b + 1e-9) ticks.push({ value: factor * 10 ** power, label: powerLabel(factor, power, plain) });
    }
  }
  if (ticks.length > 3 || b - a > 1.5) return ticks;
  const linear = linearTicks(10 ** a, 10 ** b, Math.min(room, 5)).filter((tick) => tick.value >= 10 ** a);
  return linear.length > ticks.length ? linear : ticks;
}

function powerLabel(factor, power, plain) {
  if (plain || (factor === 1 && power === 0)) return show(factor * 10 ** power);
  const raised = String(power).replace(/[-0-9]/g, (digit) => ("⁰¹²³⁴⁵⁶⁷⁸⁹"[digit] ?? "⁻"));
  return `${factor === 1 ? "" : factor + "·"}10${raised}`;
}

function linearTicks(a, b, room) {
  const rough = (b - a) / Math.max(1, room), unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 5, 10].find((factor) => factor * unit >= rough) ?? 10);
  const ticks = [];
  for (let i = Math.ceil(a / step - 1e-9); i * step <= b + 1e-9 * step && ticks.length < 50; i += 1) {
    const digits = Math.max(1, Math.ceil(Math.log10(Math.max(Math.abs(a), Math.abs(b)) / step)) + 1);
    ticks.push({ value: i * step, label: show(Number((i * step).toPrecision(12)), Math.min(digits, 8)) });
  }
  return ticks;
}

// Figures: panels of curves on linear or logarithmic axes, with a legend whose names toggle, and numbers on hover.
//
// A figure is shown by what `Curves` of the library holds: {x, y, log_x, log_y, kind, threshold, range, panels}, a panel
// being {title, series} and a series {name, x, y, low, high}.

const MARGIN = { left: 58, right: 14, top: 10, bottom: 42 };
const MOST_BANDS = 8; // more of them hide each other
const OTHERS = DATA.palette; // of curves that are no generators, and have no look of their own

class Figure {
  constructor(holder) {
    this.legend = make("div", { class: "legend", role: "group", "aria-label": "Curves: press a name to hide or show it" });
    this.panels = make("div", { class: "panels" });
    this.scales = make("span", { class: "scales" });
    this.numbers = make("details", { class: "numbers", toggle: () => this.showNumbers() }, make("summary", {}, "Numbers"));
    this.log = {};
    this.local = new Set();
    this.element = make("figure", {}, this.legend, this.panels, make("div", { class: "tools" }, this.scales, this.numbers));
    this.element.figure = this;
    holder.append(this.element);
    this.width = 0;
    new ResizeObserver(() => {
      if (Math.abs(this.panels.clientWidth - this.width) > 1) this.draw();
    }).observe(this.panels);
    window.addEventListener("report-hidden", () => this.draw());
  }

  show(spec) {
    this.spec = spec;
    this.names = [...new Set(spec.panels.flatMap((panel) => panel.series.map((series) => series.name)))];
    this.places = [...new Set([...(spec.order ?? []), ...this.names])];
    this.draw();
  }

  look(name) {
    if (LOOK.has(name)) return LOOK.get(name);
    return OTHERS[this.places.indexOf(name) % OTHERS.length];
  }

  hidden(name) {
    return (LOOK.has(name) ? state.hidden : this.local).has(name);
  }

  toggle(name) {
    const names = LOOK.has(name) ? state.hidden : this.local;
    if (!names.delete(name)) names.add(name);
    window.dispatchEvent(new Event("report-hidden"));
    [...this.legend.querySelectorAll("button")].find((button) => button.dataset.name === name)?.focus();
  }

  draw() {
    this.width = this.panels.clientWidth;
    if (!this.spec || !this.width) return;
    const { panels } = this.spec;
    this.legend.replaceChildren(...(this.names.length > 1 || panels.length > 1 ? this.names.map((name) => this.key(name)) : []));
    this.scales.replaceChildren(...["x", "y"].filter((axis) => this.canBeLog(axis)).map((axis) => this.scaleButton(axis)));
    this.panels.classList.toggle("many", panels.length > 1);
    const drawn = this.every ? panels : panels.slice(0, 12);
    this.panels.replaceChildren(...drawn.map((panel) => this.box(panel)));
    for (const [i, panel] of drawn.entries()) this.drawPanel(this.panels.children[i], panel);
    if (drawn.length < panels.length) {
      const all = () => { this.every = true; this.draw(); };
      this.panels.append(make("div", {}, make("button", { type: "button", class: "plain", click: all }, `Show all ${panels.length}`)));
    }
    this.showNumbers();
  }

  key(name) {
    const visible = !this.hidden(name);
    const sample = shape("svg", { width: 30, height: 10, "aria-hidden": "true" });
    if (this.spec.kind === "points") sample.append(shape("circle", { cx: 15, cy: 5, r: 4, fill: ink(this.look(name)) }));
    else sample.append(shape("path", { d: "M1 5H29", ...stroke(this.look(name)) }));
    const title = visible ? `Hide ${name}` : `Show ${name}`;
    return make("button", { type: "button", "data-name": name, "aria-pressed": String(visible), title, click: () => this.toggle(name) }, sample, name);
  }

  isLog(axis) {
    return this.log[axis] ?? this.spec["log_" + axis] ?? false;
  }

  // A logarithmic axis is offered where no value is negative, and most are positive.
  canBeLog(axis) {
    if (this.spec.range && axis === "y") return false;
    const values = this.values(axis);
    const positive = values.filter((value) => value > 0).length;
    return positive > 0 && 2 * positive >= values.length && !values.some((value) => value < 0);
  }

  scaleButton(axis) {
    const log = this.isLog(axis);
    const change = () => {
      this.log[axis] = !log;
      this.draw();
      this.scales.querySelector(`[data-axis=${axis}]`)?.focus();
    };
    return make("button", { type: "button", "data-axis": axis, class: "scale", click: change,
      "aria-label": `${axis} axis: ${log ? "logarithmic" : "linear"}; press to change` },
      `${axis}: `, make("span", { class: log ? "on" : "" }, "log"), " / ", make("span", { class: log ? "" : "on" }, "linear"));
  }

  values(axis, panels = this.spec.panels) {
    const found = panels.flatMap((panel) => panel.series.flatMap((series) =>
      axis === "x" ? series.x : [...series.y, ...(series.low ?? []), ...(series.high ?? [])]));
    return found.filter((value) => Number.isFinite(value));
  }

  box(panel) {
    const title = panel.title ? make("h4", {}, panel.title) : null;
    return make("div", { class: "panel" }, title, make("div", { class: "tip", role: "status", hidden: true }));
  }

  // Positions on an axis: from the values that are there, or the range that the figure asks for.
  axis(axis, panels, from, to) {
    const log = this.isLog(axis);
    const range = axis === "y" ? this.spec.range : null;
    let values = range ?? this.values(axis, panels);
    if (axis === "y" && Number.isFinite(this.spec.threshold)) values = [...values, this.spec.threshold];
    if (log) values = values.filter((value) => value > 0);
    let low = Infinity, high = -Infinity;
    for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
    if (!(low <= high)) [low, high] = [1, 10];
    const warp = log ? Math.log10 : (value) => value;
    let [a, b] = [warp(low), warp(high)];
    if (b - a < 1e-12 * Math.max(1, Math.abs(a))) [a, b] = log ? [a - 0.5, b + 0.5] : [a - Math.max(0.5, 0.1 * Math.abs(a)), b + Math.max(0.5, 0.1 * Math.abs(b))];
    else if (!range) { const pad = 0.03 * (b - a); a -= axis === "y" || this.spec.kind === "points" ? pad : 0; b += pad; }
    const place = (value) => from + ((warp(value) - a) / (b - a)) * (to - from);
    const room = Math.abs(to - from) / (axis === "x" ? 62 : 34);
    const raise = log ? (value) => 10 ** value : (value) => value;
    return { log, place, low: raise(a), high: raise(b), ticks: log ? logTicks(a, b, room) : linearTicks(a, b, room), good: (value) => Number.isFinite(value) && (!log || value > 0) };
  }

  drawPanel(box, panel) {
    const width = Math.floor(box.clientWidth), height = Math.round(Math.min(380, Math.max(230, 0.56 * width)));
    const [left, right, top, bottom] = [MARGIN.left, width - MARGIN.right, MARGIN.top, height - MARGIN.bottom];
    // panels share the axes of y where they show the same: they are compared with each other
    const x = this.axis("x", [panel], left, right), y = this.axis("y", this.spec.panels, bottom, top);
    const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0,
      "aria-label": `${panel.title ?? ""} ${this.spec.y} against ${this.spec.x}. Left and right arrow keys read the curves.` });
    for (const tick of x.ticks) {
      const at = round(x.place(tick.value));
      svg.append(shape("path", { class: "grid", d: `M${at} ${top}V${bottom}` }));
      if (tick.label) svg.append(shape("text", { class: "tick", x: at, y: bottom + 16, "text-anchor": "middle" }, tick.label));
    }
    for (const tick of y.ticks) {
      const at = round(y.place(tick.value));
      svg.append(shape("path", { class: "grid", d: `M${left} ${at}H${right}` }));
      if (tick.label) svg.append(shape("text", { class: "tick", x: left - 7, y: at + 4, "text-anchor": "end" }, tick.label));
    }
    svg.append(shape("path", { class: "frame", d: `M${left} ${top}V${bottom}H${right}` }),
      shape("text", { class: "label", x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, this.spec.x),
      shape("text", { class: "label", x: 12, y: (top + bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(top + bottom) / 2})` }, this.spec.y));
    const { threshold, diagonal } = this.spec;
    if (diagonal) svg.append(shape("path", { class: "threshold", d: this.diagonal(x, y) }));
    if (Number.isFinite(threshold) && y.good(threshold)) svg.append(shape("path", { class: "threshold", d: `M${left} ${round(y.place(threshold))}H${right}` }));
    const shown = panel.series.filter((series) => !this.hidden(series.name));
    if (shown.length <= MOST_BANDS && this.spec.kind !== "points") for (const series of shown) if (series.low) this.band(svg, series, x, y);
    for (const series of shown) this.curve(svg, series, x, y);
    if (!shown.some((series) => series.x.some((value, i) => x.good(value) && y.good(series.y[i])))) {
      svg.append(shape("text", { class: "empty", x: (left + right) / 2, y: (top + bottom) / 2, "text-anchor": "middle" }, "nothing to draw"));
    }
    box.querySelector("svg")?.remove();
    box.insertBefore(svg, box.querySelector(".tip"));
    new Pointer(this, box, svg, shown, x, y, { left, right, top, bottom });
  }

  // The line of equal x and y, as far as both axes go.
  diagonal(x, y) {
    const low = Math.max(x.low, y.low), high = Math.min(x.high, y.high);
    const points = Array.from({ length: 65 }, (_, i) => x.log ? low * (high / low) ** (i / 64) : low + ((high - low) * i) / 64);
    return low < high ? `M${points.map((value) => `${round(x.place(value))} ${round(y.place(value))}`).join("L")}` : "";
  }

  curve(svg, series, x, y) {
    const look = this.look(series.name), steps = this.spec.kind === "steps", points = [];
    let path = "", pen = false, last = 0;
    series.x.forEach((value, i) => {
      const good = x.good(value) && y.good(series.y[i]);
      if (good) {
        const at = [round(x.place(value)), round(y.place(series.y[i]))];
        path += !pen ? `M${at[0]} ${at[1]}` : steps ? `H${at[0]}V${at[1]}` : `L${at[0]} ${at[1]}`;
        points.push(at);
        last = i;
      }
      pen = good;
    });
    if (this.spec.kind === "points") svg.append(...points.map(([cx, cy]) => shape("circle", { class: "dot", cx, cy, r: 3.6, fill: ink(look), "data-name": series.name })));
    else if (points.length === 1) svg.append(shape("circle", { cx: points[0][0], cy: points[0][1], r: 4, fill: ink(look), "data-name": series.name }));
    else if (points.length) svg.append(shape("path", { class: "curve", d: path, "data-name": series.name, ...stroke(look) }));
    // a run that ended early: its end is marked
    if (series.ends && points.length > 1 && last === series.x.length - 1) {
      const [cx, cy] = points.at(-1);
      svg.append(shape("circle", { cx, cy, r: 2.8, fill: ink(look) }));
    }
  }

  band(svg, series, x, y) {
    const steps = this.spec.kind === "steps", there = [], back = [];
    series.x.forEach((value, i) => {
      if (!x.good(value) || !y.good(series.low[i]) || !y.good(series.high[i])) return;
      const at = x.place(value);
      if (steps && there.length) { there.push([at, there.at(-1)[1]]); back.push([at, back.at(-1)[1]]); }
      there.push([at, y.place(series.high[i])]);
      back.push([at, y.place(series.low[i])]);
    });
    if (there.length < 2) return;
    const d = [...there, ...back.reverse()].map(([a, b]) => `${round(a)} ${round(b)}`).join("L");
    svg.append(shape("path", { class: "band", d: `M${d}Z`, fill: ink(this.look(series.name)) }));
  }

  // The points of all curves as a table, made when it is opened.
  showNumbers() {
    const { panels, x, y } = this.spec;
    this.numbers.querySelector(".table")?.remove();
    if (!this.numbers.open) return;
    const rows = panels.flatMap((panel) => panel.series.flatMap((series) => series.x.map((value, i) =>
      [panel.title ?? "", series.name, value, series.y[i], series.low?.[i], series.high?.[i]])));
    const columns = [{ title: "figure" }, { title: "curve" }, { title: x, number: true }, { title: y, number: true },
      { title: "lower", number: true }, { title: "upper", number: true }];
    const used = columns.map((_, j) => rows.some((row) => row[j] !== undefined && row[j] !== ""));
    makeTable(this.numbers, { columns: columns.filter((_, j) => used[j]), rows: rows.map((row) => row.filter((_, j) => used[j])), page: 20 });
  }
}
