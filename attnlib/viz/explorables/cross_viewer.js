/* Where a translator looks for each word that it says: a line for every weight, from the word said to the other language. */
export const normalised = (rows) => rows.map((row) => row.map((share) => share / sum(row)));
export const best = (row) => row.indexOf(Math.max(...row));
/* One minus the share of links that agree: each word said is linked to its largest weight. */
export const errorRate = (P, sure, possible) => {
  const linked = P.map((row, i) => [best(row), i]);
  const hits = (truth) => linked.filter(([j, i]) => truth.some((link) => link[0] === j && link[1] === i)).length;
  return 1 - (hits(sure) + hits(possible)) / (linked.length + sure.length);
};

const [WIDE, STEP] = [340, 24];
const [LEFT, RIGHT] = [112, WIDE - 112];

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "cross_viewer");
  const [sources, targets, sure, possible, hundredths] = ["sources", "targets", "sure", "possible", "hundredths"].map((trait) => model.get(trait));
  const most = Math.max(...sources.map((words) => words.length), ...targets.map((words) => words.length));
  const y = (at) => (at + 0.5) * STEP;
  const svg = draw("svg", { viewBox: `0 -22 ${WIDE} ${most * STEP + 26}`, role: "img" });
  const lines = draw("g", { class: "xp-lines" });
  const words = draw("g");
  svg.append(draw("text", { x: LEFT - 12, y: -8, "text-anchor": "end" }, "is said"), draw("text", { x: RIGHT + 12, y: -8 }, "is looked at"), lines, words);
  stage.append(svg);
  const look = (word) => word !== model.get("word") && change(model, "word", word);

  const options = (labels) => labels.map((label, i) => [i, String(label)]);
  const several = (trait, labels) => {
    const chosen = choice(trait, options(labels), (option) => change(model, trait, option));
    controls.append(chosen.element);
    return chosen;
  };
  const number = (count) => Array.from({ length: count }, (_, i) => i + 1);
  const sentence = several("sentence", number(sources.length));
  const layer = several("layer", number(hundredths[0].length));
  const head = several("head", number(hundredths[0][0].length));
  const word = slider("word said", [0, Math.max(...targets.map((said) => said.length)), 1], (one) => look(Math.min(one, targets[model.get("sentence")].length)));
  const traits = ["sentence", "layer", "head", "word"];
  controls.append(word.element, again(model, traits));

  return redraw(model, traits, () => {
    const [s, l, h, asked] = traits.map((trait) => model.get(trait));
    const [said, read, P] = [targets[s], sources[s], normalised(hundredths[s][l][h])];
    const one = Math.min(asked, said.length);
    const shown = (i) => !one || i === one - 1;
    lines.replaceChildren(...P.flatMap((row, i) => row.map((p, j) =>
      draw("line", { x1: LEFT, y1: y(i), x2: RIGHT, y2: y(j), style: `stroke-width:${0.5 + 4 * p};opacity:${shown(i) ? p : 0}` }))));
    const right = one ? possible[s].filter(([, i]) => i === one - 1).map(([j]) => j) : [];
    words.replaceChildren(
      ...said.map((text, i) => draw("text", { x: LEFT - 12, y: y(i) + 4, "text-anchor": "end", class: one === i + 1 ? "xp-chosen" : "" }, text)),
      ...read.map((text, j) => draw("text", { x: RIGHT + 12, y: y(j) + 4 }, text)),
      ...right.map((j) => draw("circle", { cx: RIGHT, cy: y(j), r: 6, class: "xp-truth" })),
      ...said.map((_, i) => {
        const target = draw("rect", { x: 0, y: i * STEP, width: LEFT, height: STEP, class: "xp-target" });
        for (const kind of ["pointerenter", "click"]) target.addEventListener(kind, () => look(i + 1));
        return target;
      }),
    );
    sentence.value(s);
    layer.value(l);
    head.value(h);
    word.value(one, one ? said[one - 1] : "all");
    const rate = `Linked by the largest weights, this sentence has an alignment error rate of ${show(errorRate(P, sure[s], possible[s]))}.`;
    svg.setAttribute("aria-label", `Lines from ${one ? said[one - 1] : "every French word"} to the English words that are looked at, as strong as the weights.`);
    const place = one ? best(P[one - 1]) : 0;
    const truth = right.length ? ` It translates ${right.map((j) => read[j]).join(" and ")}.` : "";
    const told = one ? `to say “${said[one - 1]}” it looks most at “${read[place]}”, with weight ${show(P[one - 1][place])}.${truth}` : "all words.";
    say(`Layer ${l + 1}, head ${h + 1}: ${told} ${rate}`);
  });
};
export default { render };
