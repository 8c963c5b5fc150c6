// A run in two variables, call by call: the domain, the cuts, what they leave, and the points that were asked.

const PLANE = { cut: "#0072B2", feasibility: "#009E73", set: "#56B4E9", point: "#D55E00", best: "#F0E442" };

function planeSection(data, id) {
  const part = section(id, data.heading, () => {});
  part.words.textContent = "The domain with contour lines of the " + (data.of_model ? "model, the largest of all cuts" : "function") +
    ", and the localization set: the points that no cut so far, with the best value so far, has excluded; every minimizer is among them. " +
    "Edges of cuts are lines, those of the call shown thicker; dashed ones are of feasibility cuts. Move through the calls by the slider, its arrow keys, or the buttons.";
  const picture = make("div", { class: "plane" }), words = make("p", { class: "text", role: "status" });
  const slider = make("input", { type: "range", min: 0, max: data.steps.length - 1, value: 0, "aria-label": "Call", input: () => draw() });
  const near = make("input", { type: "checkbox", change: () => draw() });
  const to = (place) => () => { stop(); slider.value = place(); draw(); };
  const play = make("button", { type: "button", class: "plain", click: () => (timer ? stop() : start()) }, "Play");
  let timer = null;

  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }

  function start() {
    if (slider.value === slider.max) slider.value = 0;
    play.textContent = "Stop";
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      draw();
      if (slider.value === slider.max) stop();
    }, 800);
    draw();
  }

  function draw() {
    const step = data.steps[slider.value];
    const bounds = `${step.lower === null ? "no lower bound yet" : show(step.lower, 7)} ≤ minimum${step.upper === null ? "" : " ≤ " + show(step.upper, 7)}`;
    slider.setAttribute("aria-valuetext", `call ${step.call}`);
    words.textContent = `Call ${step.call} of ${data.points.length}, ${step.step}: ${bounds}. The set has ${show(100 * step.share, 3)} % of the domain's area.`;
    picture.replaceChildren(planePicture(data, step, near.checked, Math.min(560, picture.clientWidth)));
  }

  part.content.append(planeKeys(), picture, words, make("div", { class: "own" },
    make("button", { type: "button", class: "plain", click: to(() => Number(slider.value) - 1) }, "Previous"), play,
    make("button", { type: "button", class: "plain", click: to(() => Number(slider.value) + 1) }, "Next"), slider,
    make("label", { class: "choice" }, near, make("span", {}, "near the set"))));
  let width = 0;
  new ResizeObserver(() => {
    if (picture.clientWidth === width) return;
    width = picture.clientWidth;
    if (data.steps.length) draw();
  }).observe(picture);
  return part;
}

function planePicture(data, step, near, size) {
  const [left, right, bottom, top] = near ? around(data.window, step.polygon) : data.window;
  const height = Math.round(size * Math.min(1.6, Math.max(0.3, (top - bottom) / (right - left))));
  const at = ([x, y]) => [round(((x - left) / (right - left)) * size), round(((top - y) / (top - bottom)) * height)];
  const path = (points, closed) => (points.length ? `M${points.map((point) => at(point).join(" ")).join("L")}${closed ? "Z" : ""}` : "");
  const svg = shape("svg", { width: size, height, viewBox: `0 0 ${size} ${height}`, role: "img", "aria-label": `The plane after call ${step.call}` });
  svg.append(shape("path", { class: "domain", d: path(data.domain, true) }));
  for (const line of data.contours) svg.append(shape("path", { class: "contour", d: path(line) }));
  svg.append(shape("path", { class: "set", d: path(step.polygon, true), fill: PLANE.set, stroke: PLANE.cut }));
  for (const [call, moves, a, b, constant] of data.lines) {
    if (call > step.call || (moves && step.upper === null)) continue;
    const ends = edge(a, b, constant + (moves ? step.upper : 0), left, right, bottom, top);
    if (ends) svg.append(shape("path", { class: call === step.call ? "edge new" : "edge", d: path(ends), stroke: moves ? PLANE.cut : PLANE.feasibility, "stroke-dasharray": moves ? null : "6 4" }));
  }
  const mark = (point, draw) => { if (point) svg.append(draw(...at(point))); };
  for (const point of data.points.slice(0, step.call)) mark(point, (cx, cy) => shape("circle", { class: "asked", cx, cy, r: 2.4 }));
  mark(step.best, (x, y) => shape("path", { class: "best", d: star(x, y, 8), fill: PLANE.best }));
  mark(step.point, (cx, cy) => shape("circle", { class: "asking", cx, cy, r: 7, stroke: PLANE.point }));
  mark(step.next, (x, y) => shape("path", { class: "asking", d: `M${x} ${y - 5}L${x + 5} ${y}L${x} ${y + 5}L${x - 5} ${y}Z`, stroke: PLANE.point }));
  return svg;
}

// The part of the line a x + b y = c in a window; none if it misses it.
function edge(a, b, c, left, right, bottom, top) {
  const points = [];
  if (b) for (const x of [left, right]) points.push([x, (c - a * x) / b]);
  if (a) for (const y of [bottom, top]) points.push([(c - b * y) / a, y]);
  const slack = 1e-9 * (right - left + top - bottom);
  const inside = points.filter(([x, y]) => x >= left - slack && x <= right + slack && y >= bottom - slack && y <= top + slack);
  if (inside.length < 2) return null;
  const far = ([x, y], [u, v]) => Math.abs(x - u) + Math.abs(y - v);
  const last = inside.reduce((found, point) => (far(point, inside[0]) > far(found, inside[0]) ? point : found));
  return far(last, inside[0]) > slack ? [inside[0], last] : null;
}

// Three times the extent of the set, if it is small beside the window; as wide and high as the window otherwise.
function around(frame, polygon) {
  const [left, right, bottom, top] = frame;
  if (!polygon.length) return frame;
  const span = (values) => [Math.min(...values), Math.max(...values)];
  const [a, b] = span(polygon.map(([x]) => x)), [c, d] = span(polygon.map(([, y]) => y));
  const share = (3 * Math.max(b - a, d - c)) / Math.max(right - left, top - bottom);
  if (!(share > 1e-9 && share < 1)) return frame;
  const [wide, high] = [0.5 * share * (right - left), 0.5 * share * (top - bottom)];
  return [(a + b) / 2 - wide, (a + b) / 2 + wide, (c + d) / 2 - high, (c + d) / 2 + high];
}

function star(x, y, r) {
  const corners = Array.from({ length: 10 }, (_, i) => {
    const [angle, size] = [(Math.PI * i) / 5, i % 2 ? 0.42 * r : r];
    return `${round(x + size * Math.sin(angle))} ${round(y - size * Math.cos(angle))}`;
  });
  return `M${corners.join("L")}Z`;
}

function planeKeys() {
  const key = (drawn, words) => make("span", { class: "key" }, shape("svg", { width: 22, height: 16, "aria-hidden": "true" }, drawn), words);
  return make("div", { class: "legend plane-keys" },
    key(shape("rect", { class: "set", x: 2, y: 2, width: 18, height: 12, fill: PLANE.set, stroke: PLANE.cut }), "localization set"),
    key(shape("path", { class: "edge new", d: "M1 8H21", stroke: PLANE.cut }), "edge of a cut"),
    key(shape("circle", { class: "asked", cx: 11, cy: 8, r: 2.4 }), "query points"),
    key(shape("path", { class: "best", d: star(11, 8, 7), fill: PLANE.best }), "best so far"),
    key(shape("circle", { class: "asking", cx: 11, cy: 8, r: 6, stroke: PLANE.point }), "this query point"),
    key(shape("path", { class: "asking", d: "M11 3L16 8L11 13L6 8Z", stroke: PLANE.point }), "next query point"));
}
