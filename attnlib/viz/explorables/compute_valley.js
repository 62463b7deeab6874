/* The valley of compute: the loss over the size at a budget that can be moved, by a law, and what was measured. */
export const width = (N, [layers, vocab]) => (Math.sqrt(vocab ** 2 + 48 * layers * N) - vocab) / (24 * layers);
export const operations = (N, shape) => 6 * (N + 2 * shape[0] * shape[2] * width(N, shape));
export const excess = (N, budget, [A, a, B, b], shape) => A / N ** a + B / (budget / operations(N, shape)) ** b;
export const derivative = (N, budget, [A, a, B, b], shape) => {
  const [layers, vocab, context] = shape;
  const each = operations(N, shape);
  const dearer = (6 * N * (1 + (2 * layers * context) / (24 * layers * width(N, shape) + vocab))) / each;
  return (-a * A) / N ** a + ((b * B) / (budget / each) ** b) * dearer;
};
export const best = (budget, law, shape) => {
  let [low, high] = [0, Math.log(1e12)];
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2;
    if (derivative(Math.exp(middle), budget, law, shape) < 0) low = middle;
    else high = middle;
  }
  return Math.exp(low);
};
export const words = (n) => {
  const [name, unit] = [["trillion", 1e12], ["billion", 1e9], ["million", 1e6], ["", 1]].find(([, each]) => n >= each) ?? ["", 1];
  const few = n / unit;
  return `${name ? show(few, few < 10 ? 1 : 0) : Math.round(n).toLocaleString("en")}${name && ` ${name}`}`;
};
const power = (exponent) => {
  const whole = Math.floor(exponent + 1e-9);
  return `${show(10 ** (exponent - whole), 1)}·10${[...String(whole)].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]).join("")}`;
};

const [WIDE, HIGH] = [288, 200];
const SIZES = [2.8, 6.8];
const LOSSES = [-2.1, 0];

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "compute_valley");
  const [law, shape, points] = ["law", "shape", "points"].map((trait) => model.get(trait));
  const x = along(...SIZES, 0, WIDE);
  const y = along(...LOSSES, HIGH, 0);
  const at = (N, loss) => [x(Math.log10(N)), y(Math.log10(loss))];
  const svg = draw("svg", { viewBox: `-34 -22 ${WIDE + 44} ${HIGH + 62}`, role: "img" });
  const add = (tag, attributes, ...children) => svg.appendChild(draw(tag, attributes, ...children));
  for (const loss of [0.01, 0.03, 0.1, 0.3, 1]) {
    add("line", { class: "grid", x1: 0, x2: WIDE, y1: y(Math.log10(loss)), y2: y(Math.log10(loss)) });
    add("text", { x: -6, y: y(Math.log10(loss)) + 4, "text-anchor": "end" }, loss);
  }
  add("line", { class: "axis", x1: 0, x2: WIDE, y1: HIGH, y2: HIGH });
  for (const [N, label] of [[1e3, "1,000"], [1e4, "10,000"], [1e5, "100,000"], [1e6, "1 million"]])
    add("text", { x: x(Math.log10(N)), y: HIGH + 17, "text-anchor": "middle" }, label);
  add("text", { x: WIDE / 2, y: HIGH + 35, "text-anchor": "middle" }, "parameters");
  add("text", { x: -30, y: -10 }, "nats a token above the entropy");
  const line = (found) => found.map((one) => one.join()).join(" ");
  const budgets = Array.from({ length: 61 }, (_, i) => 10 ** (10 + i / 10));
  add("polyline", { class: "line-c", "stroke-dasharray": "2 4", points: line(budgets.map((C) => [best(C, law, shape), C]).map(([N, C]) => at(N, excess(N, C, law, shape)))) });
  const dots = points.map(([C, N, loss]) => [C, add("circle", { r: 3, cx: at(N, loss)[0], cy: at(N, loss)[1] })]);
  const curve = add("polyline", { class: "line-a" });
  const bottom = add("circle", { r: 6, class: "c" });
  const mine = add("circle", { r: 6, class: "b" });

  stage.append(svg);
  const budget = slider("budget", [10, 16, 0.05], (value) => change(model, "budget", value));
  const size = slider("size", [-5, 5, 0.25], (value) => change(model, "factor", value));
  controls.append(budget.element, size.element, again(model, ["budget", "factor"]));

  return redraw(model, ["budget", "factor"], () => {
    const [exponent, factor] = [model.get("budget"), model.get("factor")];
    const C = 10 ** exponent;
    const N = best(C, law, shape);
    const here = N * 2 ** factor;
    const [low, loss] = [excess(N, C, law, shape), excess(here, C, law, shape)];
    const sizes = Array.from({ length: 101 }, (_, i) => 10 ** (SIZES[0] + (i / 100) * (SIZES[1] - SIZES[0])));
    const seen = sizes.map((n) => at(n, excess(n, C, law, shape))).filter(([, high]) => high >= 0 && high <= HIGH);
    curve.setAttribute("points", line(seen));
    for (const [dot, n, value] of [[bottom, N, low], [mine, here, loss]]) {
      const [cx, cy] = at(n, value);
      const inside = cx >= 0 && cx <= WIDE && cy >= 0 && cy <= HIGH;
      fill(dot, { cx, cy, visibility: inside ? "visible" : "hidden" }, []);
    }
    for (const [made, dot] of dots) dot.setAttribute("class", Math.abs(Math.log10(made) - exponent) < 0.026 ? "here" : "there");
    budget.value(exponent, power(exponent));
    size.value(factor, factor ? `${factor > 0 ? "×" : "÷"} ${show(2 ** Math.abs(factor), factor % 1 ? 1 : 0)}` : "the best");
    const tokens = C / operations(here, shape);
    svg.setAttribute("aria-label", `Loss over size at ${power(exponent)} operations; least at ${words(N)} parameters, ${show(low, 3)} nats a token above the entropy.`);
    say(
      `${power(exponent)} operations train ${words(here)} parameters on ${words(tokens)} tokens, ${words(tokens / here)} for each: ${show(loss, 3)} nats above the entropy` +
        (factor ? `, ${show((100 * (loss - low)) / low, 0)} % more than at the best size.` : ", the least."),
    );
  });
};
export default { render };
