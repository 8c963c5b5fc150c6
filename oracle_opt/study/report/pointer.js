// The line under the pointer, or moved by arrow keys, and the numbers there.
class Pointer {
  constructor(figure, box, svg, series, x, y, frame) {
    Object.assign(this, { figure, box, svg, series, x, y, frame, at: -1 });
    this.tip = box.querySelector(".tip");
    this.xs = [...new Set(series.flatMap((one) => one.x.filter((value) => x.good(value))))].sort((a, b) => a - b);
    this.mark = shape("g", { class: "mark" });
    svg.append(this.mark);
    svg.addEventListener("pointermove", (event) => this.nearest(event.clientX - svg.getBoundingClientRect().left));
    svg.addEventListener("pointerdown", (event) => this.nearest(event.clientX - svg.getBoundingClientRect().left));
    svg.addEventListener("pointerleave", () => this.hide());
    svg.addEventListener("blur", () => this.hide());
    svg.addEventListener("keydown", (event) => this.key(event));
  }

  nearest(pixel) {
    if (!this.xs.length || pixel < this.frame.left - 20) return this.hide();
    let best = 0, least = Infinity;
    this.xs.forEach((value, i) => {
      const far = Math.abs(this.x.place(value) - pixel);
      if (far < least) [best, least] = [i, far];
    });
    this.show(best);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Escape" && this.at >= 0) { event.preventDefault(); this.hide(); }
    if (step === undefined || !this.xs.length) return;
    event.preventDefault();
    const size = event.shiftKey ? Math.ceil(this.xs.length / 10) : 1;
    this.show(Math.max(0, Math.min(this.xs.length - 1, this.at + step * size)));
  }

  show(i) {
    this.at = i;
    const value = this.xs[i], pixel = round(this.x.place(value)), { top, bottom } = this.frame;
    const exact = this.figure.spec.kind === "points";
    const rows = this.series.map((one) => {
      const last = lastAtMost(one.x, value);
      return { one, i: exact && one.x[last] !== value ? -1 : last };
    }).filter((row) => row.i >= 0 && this.y.good(row.one.y[row.i]));
    rows.sort((a, b) => b.one.y[b.i] - a.one.y[a.i]);
    this.mark.replaceChildren(shape("path", { d: `M${pixel} ${top}V${bottom}` }), ...rows.map(({ one, i: j }) =>
      shape("circle", { cx: pixel, cy: round(this.y.place(one.y[j])), r: 3.5, fill: ink(this.figure.look(one.name)) })));
    const lines = rows.slice(0, 14).map(({ one, i: j }) => make("div", {},
      shape("svg", { width: 18, height: 8, "aria-hidden": "true" }, shape("path", { d: "M1 4H17", ...stroke(this.figure.look(one.name)) })),
      make("span", { class: "name" }, one.name), make("b", {}, show(one.y[j])),
      one.low && Number.isFinite(one.low[j]) ? make("small", {}, ` ${show(one.low[j])} to ${show(one.high[j])}`) : null));
    if (rows.length > 14) lines.push(make("div", {}, `and ${rows.length - 14} more`));
    this.tip.replaceChildren(make("div", { class: "at" }, `${this.figure.spec.x}: ${show(value, 4)}`), ...lines);
    this.tip.hidden = false;
    const room = this.box.clientWidth - this.tip.offsetWidth - 4;
    const beside = pixel + 14 > room ? pixel - 14 - this.tip.offsetWidth : pixel + 14;
    this.tip.style.left = `${Math.max(4, Math.min(room, beside))}px`;
    this.tip.style.top = `${this.svg.getBoundingClientRect().top - this.box.getBoundingClientRect().top + top + 6}px`;
  }

  hide() {
    this.at = -1;
    this.mark.replaceChildren();
    this.tip.hidden = true;
  }
}

function lastAtMost(xs, x) {
  let found = -1;
  for (let i = 0; i < xs.length && xs[i] <= x; i += 1) found = i;
  return found;
}
