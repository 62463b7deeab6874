/* Who looks at whom in each head of a trained model: a line for every weight, from the word that asks to the other. */
export const normalised = (rows) => rows.map((row) => row.map((share) => share / sum(row)));
export const rowEntropy = (P) => sum(P.map(entropy)) / P.length;
/* How many places away the rows look, on average over all their weight. */
export const distance = (P) => sum(P.map((row, i) => sum(row.map((p, j) => p * Math.abs(i - j))))) / sum(P.flat());

const [WIDE, STEP] = [320, 24];
const [LEFT, RIGHT] = [74, WIDE - 74];

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "head_viewer");
  const [texts, truths, hundredths] = ["texts", "truths", "hundredths"].map((trait) => model.get(trait));
  const n = texts[0].length;
  const y = (at) => (at + 0.5) * STEP;
  const svg = draw("svg", { viewBox: `0 -22 ${WIDE} ${n * STEP + 26}`, role: "img" });
  const lines = draw("g", { class: "xp-lines" });
  const place = (x, anchor) =>
    Array.from({ length: n }, (_, at) => draw("text", { x, y: y(at) + 4, "text-anchor": anchor }));
  const [asking, asked] = [place(LEFT - 12, "end"), place(RIGHT + 12, "start")];
  svg.append(draw("text", { x: LEFT - 12, y: -8, "text-anchor": "end" }, "asks"), draw("text", { x: RIGHT + 12, y: -8 }, "is looked at"), lines, ...asking, ...asked);
  const drawn = asking.map((_, i) => asked.map((_, j) => lines.appendChild(draw("line", { x1: LEFT, y1: y(i), x2: RIGHT, y2: y(j) }))));
  const rings = asked.map((_, j) => svg.appendChild(draw("circle", { cx: RIGHT, cy: y(j), r: 6, class: "xp-truth" })));
  const look = (token) => token !== model.get("token") && change(model, "token", token);
  asking.forEach((_, i) => {
    const target = svg.appendChild(draw("rect", { x: 0, y: i * STEP, width: LEFT, height: STEP, class: "xp-target" }));
    for (const kind of ["pointerenter", "click"]) target.addEventListener(kind, () => look(i + 1));
  });
  stage.append(svg);

  const numbered = (count) => Array.from({ length: count }, (_, i) => [i, String(i + 1)]);
  const several = (trait, label, count) => {
    const chosen = choice(label, numbered(count), (option) => change(model, trait, option));
    if (count > 1) controls.append(chosen.element);
    return chosen;
  };
  const text = several("text", "text", texts.length);
  const layer = several("layer", "layer", hundredths[0].length);
  const head = several("head", "head", hundredths[0][0].length);
  const token = slider("who asks", [0, n, 1], look);
  const traits = ["text", "layer", "head", "token"];
  controls.append(token.element, again(model, traits));

  return redraw(model, traits, () => {
    const [t, l, h, one] = traits.map((trait) => model.get(trait));
    const P = normalised(hundredths[t][l][h]);
    const [words, i] = [texts[t], one - 1];
    const named = (at) => `${words[at]} (place ${at + 1})`;
    [asking, asked].forEach((side) => side.forEach((element, at) => (element.textContent = `${words[at]} ${at + 1}`)));
    asking.forEach((element, at) => element.classList.toggle("xp-chosen", at === i));
    drawn.forEach((row, at) =>
      row.forEach((line, j) => {
        line.style.strokeWidth = 0.5 + 4 * P[at][j];
        line.style.opacity = one && at !== i ? 0 : P[at][j];
      }),
    );
    rings.forEach((ring, j) => (ring.style.display = one && truths[t][i] === j ? "" : "none"));
    text.value(t);
    layer.value(l);
    head.value(h);
    token.value(one, one ? `${words[i]}, place ${one}` : "all");
    const best = one ? P[i].indexOf(Math.max(...P[i])) : 0;
    const truth = one && truths[t][i] >= 0 ? ` The right place to look is ${named(truths[t][i])}.` : "";
    const all = `Its rows look ${show(distance(P))} places away on average, with a mean entropy of ${show(rowEntropy(P))}.`;
    const whole = `Layer ${l + 1}, head ${h + 1}. ${all}`;
    svg.setAttribute("aria-label", `Lines from ${one ? named(i) : "every token"} to the tokens that it looks at, as strong as the weights.`);
    say(one ? `Layer ${l + 1}, head ${h + 1}: ${named(i)} looks most at ${named(best)}, with weight ${show(P[i][best])}.${truth} ${all}` : whole);
  });
};
export default { render };
