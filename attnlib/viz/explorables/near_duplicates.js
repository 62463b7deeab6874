/* Pairs of texts: the probability of an equal band, which pairs have one, and which of these pass the threshold. */
export const ROWS = [2, 4, 8, 16, 32];
const HASHES = 128;
export const curve = (s, rows) => 1 - (1 - s ** rows) ** (HASHES / rows);
const bits = (hex) => [...hex].map((digit) => parseInt(digit, 16).toString(2).padStart(4, "0")).join("");
export const banded = (hex, rows) => {
  const [all, whole] = [bits(hex), "1".repeat(rows)];
  for (let at = 0; at < HASHES; at += rows) if (all.slice(at, at + rows) === whole) return true;
  return false;
};
export const found = (similarity, agree, rows, threshold) =>
  similarity.map((s, i) => s >= threshold - 1e-9 && banded(agree[i], rows));
export const counts = (hits, planted) => ({
  found: hits.filter((hit, i) => hit && planted[i]).length,
  missed: hits.filter((hit, i) => !hit && planted[i]).length,
  wrong: hits.filter((hit, i) => hit && !planted[i]).length,
});

const [WIDE, HIGH, LANE] = [400, 150, 44];
const many = (n) => n.toLocaleString("en");

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "near_duplicates");
  const traits = ["rows", "threshold"];
  const [similarity, planted, agree] = ["similarity", "planted", "agree"].map((trait) => model.get(trait));
  const x = along(0, 1, 0, WIDE);
  const y = along(0, 1, HIGH, 0);
  const svg = draw("svg", { viewBox: `-44 ${-LANE - 16} ${WIDE + 60} ${HIGH + 2 * LANE + 60}`, role: "img" });
  const add = (tag, attributes, ...children) => svg.appendChild(draw(tag, attributes, ...children));
  for (const p of [0, 0.5, 1]) {
    add("line", { class: p ? "grid" : "axis", x1: 0, x2: WIDE, y1: y(p), y2: y(p) });
    add("text", { x: -6, y: y(p) + 4, "text-anchor": "end" }, p);
  }
  for (const s of [0, 0.25, 0.5, 0.75, 1]) add("text", { x: x(s), y: HIGH + LANE + 20, "text-anchor": "middle" }, s);
  add("text", { x: WIDE / 2, y: HIGH + LANE + 38, "text-anchor": "middle" }, "Jaccard similarity of the pair");
  add("text", { x: 2, y: -LANE - 2 }, "found");
  add("text", { x: 2, y: HIGH + LANE }, "not found");
  const limit = add("line", { class: "xp-limit", y1: -LANE, y2: HIGH + LANE });
  const line = add("polyline", { class: "xp-curve" });
  const marks = similarity.map((s, i) => {
    const size = planted[i] ? 3.4 : 3;
    return planted[i] ? add("circle", { cx: x(s), r: size }) : add("rect", { x: x(s) - size, width: 2 * size, height: 2 * size });
  });
  stage.append(svg);

  const bar = slider("threshold", [0, 1, 0.05], (to) => change(model, "threshold", to));
  const kinds = choice("rows of a band", ROWS.map((rows) => [rows, String(rows)]), (rows) => change(model, "rows", rows));
  controls.append(bar.element, kinds.element, again(model, traits));

  return redraw(model, traits, () => {
    const [rows, threshold] = traits.map((trait) => model.get(trait));
    const hits = found(similarity, agree, rows, threshold);
    line.setAttribute("points", Array.from({ length: 101 }, (_, i) => `${x(i / 100)},${y(curve(i / 100, rows))}`).join(" "));
    fill(limit, { x1: x(threshold), x2: x(threshold) }, []);
    marks.forEach((mark, i) => {
      const at = (hits[i] ? -LANE + 4 : HIGH + 8) + ((7 * i) % 28);
      const size = planted[i] ? 0 : 3;
      mark.setAttribute(planted[i] ? "cy" : "y", at - size);
      mark.setAttribute("class", planted[i] ? (hits[i] ? "a" : "xp-missed") : hits[i] ? "b" : "xp-other");
    });
    bar.value(threshold, show(threshold));
    kinds.value(rows);
    const n = counts(hits, planted);
    const all = planted.filter(Boolean).length;
    const pairs = many(model.get("compared")[ROWS.indexOf(rows)]);
    const told = `${n.found} of ${all} planted pairs are found, ${n.missed} missed; ${n.wrong} of ${planted.length - all} other pairs are found.`;
    svg.setAttribute("aria-label", `${HASHES / rows} bands of ${rows}, threshold ${show(threshold)}. ${told}`);
    say(`${HASHES / rows} bands of ${rows}: ${told} In the whole text ${pairs} of ${many(model.get("total"))} pairs are compared.`);
  });
};
export default { render };
