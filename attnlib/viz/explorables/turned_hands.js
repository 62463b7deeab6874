/* A rotated query and a rotated key, pair by pair, as hands of clocks; and the score at every distance. */
export const SPAN = 24;
export const speeds = (pairs, base) => Array.from({ length: pairs }, (_, i) => base ** (-i / pairs));
export const turn = ([x, y], angle) => [x * Math.cos(angle) - y * Math.sin(angle), x * Math.sin(angle) + y * Math.cos(angle)];
/* The hands of a query that looks `look` places back, and of a key, each rotated to its position. */
export const query = (place, look, w) => w.map((speed) => turn(turn([1, 0], -look * speed), place * speed));
export const key = (place, w) => w.map((speed) => turn([1, 0], place * speed));
export const agree = (q, k) => q.map((hand, i) => dot(hand, k[i]));
export const scores = (place, look, w) =>
  Array.from({ length: SPAN + 1 }, (_, before) => sum(agree(query(place, look, w), key(place - before, w))));

const MOST = 6;
const [WIDE, HIGH] = [340, 135];

const clock = () => {
  const svg = draw("svg", { viewBox: "-48 -38 96 106", role: "img", "aria-label": "A hand that is not used." });
  svg.append(draw("circle", { r: 34, class: "grid" }), draw("line", { class: "grid", x1: 0, x2: 0, y1: -34, y2: -28 }));
  const hands = ["b", "a"].map((colour) => svg.appendChild(draw("line", { class: `line-${colour}` })));
  const [round, says] = [48, 63].map((y) => svg.appendChild(draw("text", { y, "text-anchor": "middle" })));
  const show_ = (q, k, length, cosine) => {
    [k, q].forEach(([x, y], i) => fill(hands[i], { x2: (30 - 6 * i) * y, y2: -(30 - 6 * i) * x }, []));
    round.textContent = `round: ${length < 100 ? show(length, 1) : Math.round(length)}`;
    says.textContent = show(cosine);
    svg.setAttribute("aria-label", `Hands that are round in ${round.textContent.slice(7)} places agree with ${says.textContent}.`);
  };
  return { svg, show: show_ };
};

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "turned_hands");
  const clocks = Array.from({ length: MOST }, clock);
  const chart = draw("svg", { viewBox: `-30 -24 ${WIDE + 44} ${HIGH + 60}`, role: "img" });
  const x = along(SPAN, 0, 0, WIDE);
  const y = along(-1, 1, HIGH, 0);
  const add = (tag, attributes, ...children) => chart.appendChild(draw(tag, attributes, ...children));
  add("text", { x: -26, y: -12 }, "score of each key / largest possible");
  add("text", { x: WIDE, y: HIGH + 32, "text-anchor": "end" }, "key, positions before the query");
  for (const at of [-1, 0, 1]) {
    add("line", { class: at ? "grid" : "axis", x1: 0, x2: WIDE, y1: y(at), y2: y(at) });
    add("text", { x: -8, y: y(at) + 4, "text-anchor": "end" }, at < 0 ? "−1" : at);
  }
  for (let at = 0; at <= SPAN; at += 6) add("text", { x: x(at), y: HIGH + 16, "text-anchor": "middle" }, at);
  const curve = add("polyline", { class: "line-a" });
  const dots = Array.from({ length: SPAN + 1 }, () => add("circle", { r: 3, class: "a" }));
  const chosen = add("circle", { r: 7, class: "line-b" });
  stage.append(make("div", { class: "xp-clocks" }, ...clocks.map(({ svg }) => svg)), chart);

  const traits = ["place", "before", "pairs", "base"];
  const sliders = [
    slider("query at", [SPAN, 1000, 1], (to) => change(model, "place", to)),
    slider("key back by", [0, SPAN, 1], (to) => change(model, "before", to)),
    slider("hands", [1, MOST, 1], (to) => change(model, "pairs", to)),
    slider("base", [0.5, 5, 0.1], (to) => change(model, "base", 10 ** to)),
  ];
  controls.append(...sliders.map(({ element }) => element), again(model, traits));

  return redraw(model, traits, () => {
    const [place, before, pairs, base] = traits.map((trait) => model.get(trait));
    const look = model.get("look");
    const w = speeds(pairs, base);
    const [q, k] = [query(place, look, w), key(place - before, w)];
    const each = agree(q, k);
    clocks.forEach((one, i) => {
      one.svg.style.display = i < pairs ? "" : "none";
      if (i < pairs) one.show(q[i], k[i], (2 * Math.PI) / w[i], each[i]);
    });
    const all = scores(place, look, w).map((score) => score / pairs);
    all.forEach((score, at) => fill(dots[at], { cx: x(at), cy: y(score) }, []));
    fill(curve, { points: all.map((score, at) => `${x(at)},${y(score)}`).join(" ") }, []);
    fill(chosen, { cx: x(before), cy: y(all[before]) }, []);
    sliders.forEach(({ value }, i) => {
      const now = [place, before, pairs, Math.log10(base)][i];
      value(now, i < 3 ? String(now) : base < 100 ? show(base, 1) : String(Math.round(base)));
    });
    const other = all.map((score, at) => [score, at]).filter(([, at]) => Math.abs(at - look) > 2);
    const [rival, where] = other.reduce((a, b) => (b[0] > a[0] ? b : a));
    const text = `The query at ${place} attends ${look} back. The key at ${place - before} scores ${show(all[before])} of 1.`;
    chart.setAttribute("aria-label", `Scores of the ${SPAN + 1} keys up to the query; the best is ${look} before it.`);
    const round = Math.round((2 * Math.PI) / w[pairs - 1]);
    say(`${text} Apart from the best key's neighbours, the highest score is ${show(rival)}, ${where} back. The slowest hand's round: ${round}.`);
  });
};
export default { render };
