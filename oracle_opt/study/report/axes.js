// Colors of lines, and ticks of axes.

const round = (value) => Math.round(10 * value) / 10;
const ink = (look) => (look.color === "#000000" ? "var(--ink)" : look.color);
const stroke = (look) => ({ stroke: ink(look), "stroke-dasharray": look.dash || null });

// Ticks of a logarithmic axis between 10^a and 10^b: powers of ten, some of them, or more where there are few.
function logTicks(a, b, room) {
  const ticks = [], every = Math.max(1, Math.ceil((b - a) / room));
  const factors = (b - a) * 3 < room ? [1, 2, 5] : [1];
  for (let power = Math.floor(a); power <= Math.ceil(b); power += 1) {
    if (((power % every) + every) % every) continue;
    for (const factor of factors) {
      const at = power + Math.log10(factor);
      if (at >= a - 1e-9 && at <= b + 1e-9) ticks.push({ value: factor * 10 ** power, label: powerLabel(factor, power) });
    }
  }
  if (ticks.length > 3 || b - a > 1.5) return ticks;
  const linear = linearTicks(10 ** a, 10 ** b, Math.min(room, 5)).filter((tick) => tick.value >= 10 ** a);
  return linear.length > ticks.length ? linear : ticks;
}

function powerLabel(factor, power) {
  if (power >= -2 && power <= 4) return show(factor * 10 ** power);
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
