/* Random vectors of any width: how far their dot products spread, and what weights that makes, with and without a scale.
   The random numbers are the same in Python: the i-th depends on the seed and on i alone. */
export const ROWS = 128;
export const KEYS = 6;
const WIDEST = 512;

/* A number in (0, 1): the counter, multiplied and stirred in 32 bits (the finaliser of mulberry32). */
export const uniform = (seed, i) => {
  const a = (seed + Math.imul(i + 1, 0x6d2b79f5)) | 0;
  let t = Math.imul(a ^ (a >>> 15), a | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 2 ** 32;
};
/* The first `count` standard normal numbers, two from each pair of uniform ones (Box and Muller). */
export const normals = (seed, count) => {
  const numbers = new Float64Array(count);
  for (let i = 0; i < count; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(uniform(seed, i)));
    const angle = 2 * Math.PI * uniform(seed, i + 1);
    numbers[i] = radius * Math.cos(angle);
    numbers[i + 1] = radius * Math.sin(angle);
  }
  return numbers;
};
/* ROWS queries, each with KEYS keys of its own; a shorter vector is the start of the longer one. */
export const dots = (numbers, d_k) =>
  Array.from({ length: ROWS }, (_, row) =>
    Array.from({ length: KEYS }, (_, key) => {
      const q = row * (KEYS + 1) * WIDEST;
      const k = q + (key + 1) * WIDEST;
      let total = 0;
      for (let i = 0; i < d_k; i++) total += numbers[q + i] * numbers[k + i];
      return total;
    }),
  );
export const DIVIDE = { none: () => 1, root: Math.sqrt, width: (d_k) => d_k };
export const measure = (products, divisor) => {
  const scores = products.map((row) => row.map((s) => s / divisor));
  const weights = scores.map((row) => softmax(row).sort((a, b) => b - a));
  const flat = scores.flat();
  const spread = Math.sqrt(sum(flat.map((s) => s * s)) / flat.length);
  const mean = scores[0].map((_, rank) => sum(weights.map((row) => row[rank])) / weights.length);
  return { flat, spread, mean };
};

const STOPS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];
const EDGE = 64;
const STEP = 2;
const [WIDE, HIGH] = [320, 110];

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "scores_and_width");
  const numbers = normals(model.get("seed"), ROWS * (KEYS + 1) * WIDEST);
  const x = along(-EDGE, EDGE, 0, WIDE);
  const histogram = draw("svg", { viewBox: `-12 -22 ${WIDE + 24} ${HIGH + 42}`, role: "img" });
  histogram.append(draw("text", { x: 0, y: -8 }, "scores"));
  const columns = Array.from({ length: (2 * EDGE) / STEP }, (_, i) =>
    histogram.appendChild(draw("rect", { class: "a", x: x(-EDGE + i * STEP) + 0.5, width: WIDE / ((2 * EDGE) / STEP) - 1 })),
  );
  histogram.append(draw("line", { class: "axis", x1: 0, x2: WIDE, y1: HIGH, y2: HIGH }));
  for (const at of [-60, -30, 0, 30, 60]) histogram.append(draw("text", { x: x(at), y: HIGH + 15, "text-anchor": "middle" }, show(at, 0)));

  const shares = draw("svg", { viewBox: "-4 -22 168 152", role: "img" });
  shares.append(draw("text", { x: 0, y: -8 }, "weights, largest first"));
  const bars = Array.from({ length: KEYS }, (_, i) => shares.appendChild(draw("rect", { class: "b", x: 4 + i * 26, width: 20 })));
  const equal = HIGH * (1 - 1 / KEYS);
  shares.append(draw("line", { class: "axis", "stroke-dasharray": "3 3", x1: 0, x2: 160, y1: equal, y2: equal }));
  shares.append(draw("line", { class: "axis", x1: 0, x2: 160, y1: HIGH, y2: HIGH }));
  bars.forEach((_, i) => shares.append(draw("text", { x: 14 + i * 26, y: HIGH + 15, "text-anchor": "middle" }, i + 1)));
  stage.append(histogram, shares);

  const width = slider("width d_k", [0, STOPS.length - 1, 1], (stop) => change(model, "d_k", STOPS[stop]));
  const scale = choice("divided by", [["none", "nothing"], ["root", "√d_k"], ["width", "d_k"]], (option) => change(model, "scale", option));
  controls.append(width.element, scale.element, again(model, ["d_k", "scale"]));

  return redraw(model, ["d_k", "scale"], () => {
    const [d_k, divided] = [model.get("d_k"), model.get("scale")];
    const { flat, spread, mean } = measure(dots(numbers, d_k), DIVIDE[divided](d_k));
    const counts = columns.map(() => 0);
    for (const s of flat) counts[Math.min(counts.length - 1, Math.max(0, Math.floor((s + EDGE) / STEP)))] += 1;
    const top = Math.max(...counts);
    columns.forEach((column, i) => fill(column, { y: HIGH * (1 - counts[i] / top), height: (HIGH * counts[i]) / top }, []));
    bars.forEach((bar, i) => fill(bar, { y: HIGH * (1 - mean[i]), height: HIGH * mean[i] }, []));
    width.value(STOPS.findLastIndex((stop) => stop <= d_k), String(d_k));
    scale.value(divided);
    histogram.setAttribute("aria-label", `Histogram of ${flat.length} scores; their standard deviation is ${show(spread)}.`);
    shares.setAttribute("aria-label", `Mean weights from the largest to the smallest: ${mean.map((p) => show(p)).join(", ")}.`);
    say(
      `At d_k = ${d_k} the scores spread by ${show(spread)} (√d_k is ${show(Math.sqrt(d_k))}). The largest of six weights ` +
        `is ${show(mean[0])} on average; equal shares would be ${show(1 / KEYS)}.`,
    );
  });
};
export default { render };
