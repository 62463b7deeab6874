/* A painted pattern: its edges, and how many layers join two tokens. */
const N = 24;
const ALL = Array.from({ length: N }, (_, i) => i);
const near = (i, j, { width }) => Math.abs(i - j) < width;
const RULES = {
  nothing: () => false,
  everything: () => true,
  window: near,
  dilated: (i, j, { width }) => Math.abs(i - j) < 2 * width && (i - j) % 2 === 0,
  strided: (i, j, s) => near(i, j, s) || (i - j) % s.width === 0,
  "global token": (i, j, s) => near(i, j, s) || i * j === 0,
  "random blocks": (i, j, s) => near(i, j, s) || +s.blocks[+s.causal][s.seed][i >> 2] === j >> 2,
};
export const pattern = (s) =>
  ALL.map((i) => ALL.map((j) => i === j || ((!s.causal || j < i) && RULES[s.preset](i, j, s) !== s.painted.includes(i * N + j))));
/* How many layers until output i can depend on input j; -1 for never. */
export const hops = (mask) => {
  const found = ALL.map((i) => ALL.map((j) => (i === j) - 1));
  for (const h of ALL)
    for (const i of ALL) for (const j of ALL) if (found[i][j] < 0 && ALL.some((k) => mask[i][k] && found[k][j] === h)) found[i][j] = h + 1;
  return found;
};
/* Edges, all pairs, the farthest pair (query, key, layers), those that never meet. */
export const summary = (mask, found, causal) => {
  const pairs = [...ALL].reverse().flatMap((i) => ALL.filter((j) => !causal || j <= i).map((j) => [i, j, found[i][j]]));
  const never = pairs.filter(([, , h]) => h < 0);
  return { edges: sum(mask.flat()), most: pairs.length, longest: pairs.sort((a, b) => b[2] - a[2])[0], never };
};

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "pattern_painter");
  const traits = ["preset", "causal", "width", "seed", "painted", "layers", "pair", "blocks", "lessons"];
  const to = (trait) => (value) => change(model, trait, value);
  const renew = (trait) => (value) => (to("painted")([]), to(trait)(value));
  const go = (...pair) => to("pair")(pair.map((at) => Math.min(N, Math.max(1, at + 1))));
  let [mask, corner, brush] = [[], []];
  const fixed = (i, j) => i === j || (model.get("causal") && j > i);
  const paint = (i, j, on = !mask[i][j]) => {
    if (fixed(i, j) || mask[i][j] === on) return;
    const [painted, one] = [model.get("painted"), i * N + j];
    to("painted")(painted.includes(one) ? painted.filter((other) => other !== one) : [...painted, one]);
  };

  const svg = draw("svg", { viewBox: "-20 -20 310 310", role: "img" });
  const add = (tag, attributes, ...children) => svg.appendChild(draw(tag, attributes, ...children));
  add("text", { y: -6 }, "key 1 to 24");
  add("text", { x: -288, y: -6, transform: "rotate(-90)" }, "query 24 to 1");
  const cells = ALL.flatMap((i) => ALL.map((j) => Object.assign(add("rect", { x: 12 * j, y: 12 * i, width: 11, height: 11 }), { at: [i, j] })));
  const marks = [289, 13].map((width) => add("rect", { class: "xp-mark", width, height: 13 }));
  /* A mouse paints; a finger, which scrolls, chooses what is magnified. */
  svg.addEventListener("click", ({ target: { at } }) => at && go(...at));
  const under = ({ target: { at }, pointerType, buttons }) => pointerType !== "touch" && buttons && at;
  svg.addEventListener("pointerdown", (event) => {
    const at = under(event);
    if (at) event.preventDefault(), paint(...at, (brush = !mask[at[0]][at[1]]));
  });
  svg.addEventListener("pointerover", (event) => brush != null && under(event) && paint(...event.target.at, brush));
  svg.addEventListener("pointerleave", () => (brush = null));

  const heads = ["row", "col"].map((scope) => [0, 1, 2].map(() => make("th", { scope })));
  const zoom = [0, 1, 2].map((r) => [0, 1, 2].map((c) => button("", () => paint(corner[0] + r, corner[1] + c))));
  const rows = zoom.map((line, r) => make("tr", {}, heads[0][r], ...line.map((one) => make("td", {}, one))));
  const table = make("table", {}, make("tr", {}, make("td"), ...heads[1]), ...rows);
  table.addEventListener("keydown", (event) => {
    const step = { Left: [0, -1], Right: [0, 1], Up: [-1, 0], Down: [1, 0] }[event.key.slice(5)];
    if (!step) return;
    event.preventDefault();
    go(...model.get("pair").map((at, side) => at - 1 + step[side]));
    table.querySelector("[tabindex='0']").focus();
  });
  const lesson = make("p");
  stage.append(svg, table, lesson);

  const preset = choice("pattern", Object.keys(RULES).map((one) => [one, one]), renew("preset"));
  const sides = choice("attends", [[true, "causal"], [false, "both directions"]], to("causal"));
  const width = slider("width", [2, 12, 1], renew("width"));
  const depth = slider("layers", [1, N - 1, 1], to("layers"));
  const luck = () => (renew("preset")("random blocks"), to("seed")((model.get("seed") + 1) % 12));
  controls.append(preset.element, sides.element, width.element, depth.element, button("Draw again", luck), again(model, traits));

  return redraw(model, traits, () => {
    const now = Object.fromEntries(traits.map((trait) => [trait, model.get(trait)]));
    const { causal, layers, pair: [query, key] } = now;
    mask = pattern(now);
    const found = hops(mask);
    const { edges, most, longest: [last, from, longest], never } = summary(mask, found, causal);
    cells.forEach((cell) => {
      const [i, j] = cell.at;
      const h = found[i][j];
      cell.setAttribute("class", mask[i][j] ? "a" : fixed(i, j) ? "" : h < 0 ? "xp-no" : h > layers ? "xp-far" : "xp-in");
    });
    marks.forEach((mark, one) => fill(mark, { x: 12 * one * (key - 1) - 1, y: 12 * query - 13 }, []));
    corner = now.pair.map((at) => Math.min(N - 3, Math.max(0, at - 2)));
    heads.forEach((all, side) => all.forEach((one, r) => (one.textContent = corner[side] + r + 1)));
    zoom.flat().forEach((one, at) => {
      const [i, j] = [corner[0] + ((at / 3) | 0), corner[1] + (at % 3)];
      one.textContent = found[i][j] < 0 ? "–" : found[i][j];
      one.tabIndex = i === query - 1 && j === key - 1 ? 0 : -1;
      fill(one, { "aria-pressed": mask[i][j], "aria-disabled": fixed(i, j), "aria-label": `query ${i + 1} attends to key ${j + 1}` }, []);
    });
    lesson.textContent = now.lessons[+causal][now.painted[0] ? "nothing" : now.preset];
    preset.value(now.preset);
    sides.value(causal);
    width.value(now.width, now.width);
    depth.value(layers, layers);
    const row = found[query - 1];
    const h = row[key - 1];
    const cost = `${edges} edges, ${show((100 * edges) / most, 0)} % of full attention`;
    svg.setAttribute("aria-label", `${now.preset}: ${cost}`);
    say(
      `${cost}. After layer ${layers} token ${query} can depend on ${row.filter((h) => h >= 0 && h <= layers).length} tokens, on token ${key} ${h < 0 ? "never" : `after layer ${h}`}. ` +
        `Most layers: ${longest}, from token ${from + 1} to ${last + 1}. ` +
        (never[0] ? `${never.length} pairs never meet, such as ${never[0][1] + 1} and ${never[0][0] + 1}.` : "All pairs meet."),
    );
  });
};
export default { render };
