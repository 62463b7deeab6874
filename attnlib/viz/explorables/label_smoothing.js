/* The loss of one token over the confidence in it, with a share of the label spread over all; its least moves with the share. */
const term = (share, p) => (share > 0 ? -share * Math.log(p) : 0);
export const best = (epsilon, vocab) => 1 - epsilon + epsilon / vocab;
export const loss = (confidence, epsilon, vocab) => {
  const aim = best(epsilon, vocab);
  return term(aim, confidence) + term(1 - aim, (1 - confidence) / (vocab - 1));
};
export const gap = (epsilon, vocab) => Math.log((vocab * (1 - epsilon) + epsilon) / epsilon);

const [WIDE, HIGH, MOST] = [420, 140, 4];

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "label_smoothing");
  const traits = ["epsilon", "vocab", "confidence"];
  const x = along(0, 1, 0, WIDE);
  const y = along(0, MOST, HIGH, 0);
  const svg = draw("svg", { viewBox: `-30 -8 ${WIDE + 40} ${HIGH + 44}`, role: "img" });
  const add = (tag, attributes, ...children) => svg.appendChild(draw(tag, attributes, ...children));
  const rule = (kind, [x1, x2], [y1, y2]) => add("line", { class: kind, x1, x2, y1, y2 });
  for (let nats = 0; nats <= MOST; nats++) {
    rule(nats ? "grid" : "axis", [0, WIDE], [y(nats), y(nats)]);
    add("text", { x: -6, y: y(nats) + 4, "text-anchor": "end" }, nats);
  }
  for (const at of [0.25, 0.5, 0.75, 1]) add("text", { x: x(at), y: HIGH + 16, "text-anchor": "middle" }, show(at));
  add("text", { x: WIDE / 2, y: HIGH + 33, "text-anchor": "middle" }, "probability of the right token; upwards, nats");
  const curve = add("polyline", { class: "line-a" });
  const least = add("circle", { r: 5, class: "b" });
  const here = add("circle", { r: 5, class: "xp-here" });
  stage.append(svg);

  const share = slider("share ε", [0, 0.6, 0.01], (to) => change(model, "epsilon", to));
  const size = slider("tokens", [1, 16, 1], (to) => change(model, "vocab", 2 ** to));
  const sure = slider("confidence", [0.01, 0.99, 0.01], (to) => change(model, "confidence", to));
  controls.append(share.element, size.element, sure.element, again(model, traits));

  return redraw(model, traits, () => {
    const [epsilon, vocab, confidence] = traits.map((trait) => model.get(trait));
    const aim = best(epsilon, vocab);
    const points = Array.from({ length: 501 }, (_, i) => 0.0005 + (0.999 * i) / 500).map((p) => [p, loss(p, epsilon, vocab)]);
    const inside = points.filter(([, nats]) => nats <= MOST);
    curve.setAttribute("points", inside.map(([p, nats]) => `${x(p)},${y(nats)}`).join(" "));
    const floor = epsilon ? loss(aim, epsilon, vocab) : 0;
    const now = loss(confidence, epsilon, vocab);
    fill(least, { cx: x(aim), cy: y(Math.min(floor, MOST)) }, []);
    fill(here, { cx: x(confidence), cy: y(Math.min(now, MOST)) }, []);
    share.value(epsilon, show(epsilon));
    size.value(Math.round(Math.log2(vocab)), String(vocab));
    sure.value(confidence, show(confidence));
    const where = `Least at ${show(aim, 4)}: ${show(floor, 3)} nats`;
    svg.setAttribute("aria-label", `The loss over the probability of the right token. ${where}.`);
    const apart = epsilon ? `${show(gap(epsilon, vocab))} above the others` : "above the others without end";
    say(`${where}, the right score ${apart}. At ${show(confidence)}: ${show(now, 3)} nats.`);
  });
};
export default { render };
