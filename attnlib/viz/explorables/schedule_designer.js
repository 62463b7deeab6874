/* The rate of each step for five kinds of end, the sum of the rates, and the share of the steps at half of the peak or above. */
const done = (step, begin, end) => Math.min(1, Math.max(0, step - begin) / Math.max(1, end - begin));
const rise = (i, warmup) => (warmup ? Math.min(1, (i + 1) / warmup) : 1);
export const kinds = {
  constant: () => 1,
  linear: (i, steps, warmup, last) => 1 - (1 - last) * done(i, warmup, steps),
  cosine: (i, steps, warmup, last) => last + ((1 - last) * (1 + Math.cos(Math.PI * done(i, warmup, steps)))) / 2,
  root: (i, steps, warmup) => Math.min(1, Math.sqrt(Math.max(1, warmup) / (i + 1))),
  WSD: (i, steps, warmup, last) => 1 - (1 - last) * done(i, steps - Math.floor(steps / 4), steps),
};
export const rates = (kind, steps, warmup, peak, last) => {
  const w = Math.min(warmup, steps);
  return Array.from({ length: steps }, (_, i) => peak * rise(i, w) * kinds[kind](i, steps, w, last));
};
export const high = (all, peak) => all.filter((rate) => rate >= (0.5 - 1e-9) * peak).length / all.length;

const [WIDE, HIGH, STEPS, PEAK] = [420, 150, 200, 0.01];
const NAMES = Object.keys(kinds);

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "schedule_designer");
  const traits = ["kind", "steps", "warmup", "peak", "last"];
  const x = along(0, STEPS, 0, WIDE);
  const y = along(0, PEAK, HIGH, 0);
  const svg = draw("svg", { viewBox: `-40 -12 ${WIDE + 54} ${HIGH + 50}`, role: "img" });
  const add = (tag, attributes, ...children) => svg.appendChild(draw(tag, attributes, ...children));
  for (const rate of [0, 0.005, 0.01]) {
    add("line", { class: rate ? "grid" : "axis", x1: 0, x2: WIDE, y1: y(rate), y2: y(rate) });
    add("text", { x: -6, y: y(rate) + 4, "text-anchor": "end" }, rate);
  }
  for (const step of [50, 100, 150, 200]) add("text", { x: x(step), y: HIGH + 16, "text-anchor": "middle" }, step);
  add("text", { x: WIDE / 2, y: HIGH + 34, "text-anchor": "middle" }, "step; upwards, its rate");
  const area = add("polygon", { class: "xp-area" });
  const others = NAMES.map(() => add("polyline", { class: "xp-other" }));
  const half = add("line", { class: "xp-half", x1: 0 });
  const curve = add("polyline", { class: "line-a" });
  const above = add("g", { class: "line-b" });
  stage.append(svg);

  const ends = choice("then", NAMES.map((kind) => [kind, kind]), (kind) => change(model, "kind", kind));
  const sliders = [
    slider("steps", [20, STEPS, 10], (to) => change(model, "steps", to)),
    slider("warmup", [0, 100, 5], (to) => change(model, "warmup", to)),
    slider("peak", [0.001, PEAK, 0.0005], (to) => change(model, "peak", to)),
    slider("last, of the peak", [0, 1, 0.05], (to) => change(model, "last", to)),
  ];
  controls.append(ends.element, ...sliders.map(({ element }) => element), again(model, traits));

  return redraw(model, traits, () => {
    const [kind, ...now] = traits.map((trait) => model.get(trait));
    const [steps, , peak, last] = now;
    const line = (all) => all.map((rate, i) => `${x(i + 1)},${y(rate)}`).join(" ");
    others.forEach((other, i) => other.setAttribute("points", NAMES[i] === kind ? "" : line(rates(NAMES[i], ...now))));
    const all = rates(kind, ...now);
    curve.setAttribute("points", line(all));
    area.setAttribute("points", `${x(1)},${HIGH} ${line(all)} ${x(steps)},${HIGH}`);
    fill(half, { x2: x(steps), y1: y(peak / 2), y2: y(peak / 2) }, []);
    const ticks = all.map((rate, i) => (rate >= (0.5 - 1e-9) * peak ? `M${x(i + 0.5)} ${HIGH}H${x(i + 1.5)}` : ""));
    above.replaceChildren(draw("path", { d: ticks.join("") }));
    ends.value(kind);
    const texts = [String(steps), String(now[1]), show(peak, 4), show(last)];
    sliders.forEach(({ value }, i) => value(now[i], texts[i]));
    const [total, share] = [show(sum(all), 3), `${show(100 * high(all, peak), 0)} %`];
    svg.setAttribute("aria-label", `The rate of each of ${steps} steps, ${kind}. The rates sum to ${total}.`);
    say(`All rates together: ${total}, as far as ${show(sum(all) / peak, 1)} steps at the peak. At half of the peak or above: ${share} of the steps.`);
  });
};
export default { render };
