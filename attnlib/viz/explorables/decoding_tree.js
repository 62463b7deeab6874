/* A tree of eight texts: its probabilities to drag, and what greedy, a beam and a draw make of them. A node is a list of
   zeros (the upper word) and ones; `upper` holds the probability of the upper word, level by level. */
const STEPS = 3;
const place = (node) => 2 ** node.length - 1 + node.reduce((at, bit) => 2 * at + bit, 0);
const spread = (p, temperature) => (temperature === 1 ? [p, 1 - p] : softmax([p, 1 - p].map((x) => Math.log(x) / temperature)));
export const likely = (upper, node, temperature = 1) =>
  node.reduce((p, bit, step) => p * spread(upper[place(node.slice(0, step))], temperature)[bit], 1);
export const TEXTS = Array.from({ length: 2 ** STEPS }, (_, i) => [(i >> 2) & 1, (i >> 1) & 1, i & 1]);
/* What a beam keeps after each step, likeliest first; one of width one is greedy. */
export const beam = (upper, width) => {
  const kept = [[[]]];
  for (let step = 0; step < STEPS; step++) {
    const grown = kept[step].flatMap((node) => [[...node, 0], [...node, 1]]);
    kept.push(grown.sort((one, other) => likely(upper, other) - likely(upper, one)).slice(0, width));
  }
  return kept.slice(1);
};
export const best = (upper) => TEXTS.reduce((one, other) => (likely(upper, other) > likely(upper, one) ? other : one));

const COLUMNS = [8, 72, 172, 276];
const across = (node) => COLUMNS[node.length];
const down = (node) => 14 + (node.reduce((at, bit) => 2 * at + bit, 0) + 0.5) * (216 / 2 ** node.length);

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "decoding_tree");
  const words = model.get("words");
  const text = (node) => node.map((bit, step) => words[step][bit]).join(" ");
  const svg = draw("svg", { viewBox: "0 0 416 244", role: "img", "aria-label": "a tree of eight texts; the line below says what it shows" });
  const nodes = [1, 2, 3].flatMap((n) => TEXTS.filter((leaf) => !leaf.slice(n).includes(1)).map((leaf) => leaf.slice(0, n)));
  const parts = nodes.map((node) => {
    const [from, y] = [node.slice(0, -1), down(node)];
    const ends = { x1: across(from) + (node.length > 1 ? 64 : 4), y1: down(from), x2: across(node) - 4, y2: y };
    const [wide, line] = [draw("line", { ...ends, class: "xp-wide" }), draw("line", ends)];
    const label = draw("text", { x: across(node), y: y + 4 });
    svg.append(wide, line, label);
    return { node, wide, line, label };
  });
  const bars = TEXTS.map((leaf) => svg.appendChild(draw("rect", { x: 362, y: down(leaf) - 7, height: 14, class: "a" })));
  svg.append(draw("text", { x: 276, y: 242 }, "probability"), draw("text", { x: 362, y: 242 }, "drawn"));
  const moved = (at, value) => change(model, "upper", model.get("upper").map((old, i) => (i === at ? value : old)));
  const inner = [[], ...nodes.filter((node) => node.length < STEPS)];
  const sliders = inner.map((node) => slider(`${text(node)} ${words[node.length][0]}`.trim(), [0.01, 0.99, 0.01], (p) => moved(place(node), p)));
  const width = choice("beam", [1, 2, 3, 4].map((n) => [n, String(n)]), (n) => change(model, "width", n));
  const heat = slider("temperature T", [-1, 1, 0.05], (power) => change(model, "temperature", 10 ** power));
  const sure = make("div", { class: "xp-nodes" }, ...sliders.map((one) => one.element));
  stage.append(svg, sure);
  controls.append(width.element, heat.element, again(model, ["upper", "width", "temperature"]));

  return redraw(model, ["upper", "width", "temperature"], () => {
    const [upper, wide, T] = ["upper", "width", "temperature"].map((trait) => model.get(trait));
    const [greedy, found, top] = [beam(upper, 1)[2][0], beam(upper, wide), best(upper)];
    const on = (node, leaf) => text(leaf.slice(0, node.length)) === text(node);
    for (const { node, wide: halo, line, label } of parts) {
      const p = likely(upper, node) / likely(upper, node.slice(0, -1));
      const kept = found[node.length - 1].some((one) => on(one, node));
      fill(line, { class: on(node, greedy) ? "line-a" : "axis", style: `stroke-width: ${0.6 + 4 * p}` }, []);
      fill(halo, { style: `visibility: ${kept ? "visible" : "hidden"}` }, []);
      const last = node.length === STEPS;
      label.textContent = `${words[node.length - 1][node.at(-1)]} ${show(last ? likely(upper, node) : p, last ? 3 : 2)}`;
      label.style.fontWeight = last && on(node, found[2][0]) ? 700 : 400;
    }
    TEXTS.forEach((leaf, i) => bars[i].setAttribute("width", 54 * likely(upper, leaf, T)));
    inner.forEach((node, i) => sliders[i].value(upper[place(node)], show(upper[place(node)])));
    width.value(wide);
    heat.value(Math.log10(T), show(T));
    const beaten = (leaf) => (likely(upper, leaf) >= likely(upper, top) - 1e-12 ? "the likeliest of all" : `not the likeliest, “${text(top)}”`);
    const first = found[2][0];
    const bits = entropy(TEXTS.map((leaf) => likely(upper, leaf, T))) / Math.LN2;
    say(
      `Greedy says “${text(greedy)}”, ${show(likely(upper, greedy), 3)}. A beam of ${wide} says “${text(first)}”, ` +
        `${show(likely(upper, first), 3)}: ${beaten(first)}. At temperature ${show(T)} a draw (${show(bits, 3)} bits of entropy) says it in ${show(100 * likely(upper, first, T), 0)} %.`,
    );
  });
};
export default { render };
