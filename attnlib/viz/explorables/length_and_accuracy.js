/* Accuracy against the length of the sentence, as measured; a length and a level to move. */
export const firstBelow = (lengths, curve, level) => lengths.find((_, i) => curve[i] < level) ?? null;

const [WIDE, HIGH] = [420, 190];
const COLOURS = "abcd";

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "length_and_accuracy");
  const [lengths, curves, trained] = ["lengths", "curves", "trained"].map((trait) => model.get(trait));
  const names = Object.keys(curves);
  const x = along(lengths[0], lengths.at(-1), 0, WIDE);
  const y = along(0, 1, HIGH, 0);
  const svg = draw("svg", { viewBox: `-34 -8 ${WIDE + 44} ${HIGH + 44}`, role: "img" });
  const add = (tag, attributes, ...children) => svg.appendChild(draw(tag, attributes, ...children));
  const rule = (kind, [x1, x2], [y1, y2]) => add("line", { class: kind, x1, x2, y1, y2 });
  for (const at of [0, 0.25, 0.5, 0.75, 1]) {
    rule(at ? "grid" : "axis", [0, WIDE], [y(at), y(at)]);
    add("text", { x: -6, y: y(at) + 4, "text-anchor": "end" }, show(at));
  }
  for (let n = 5; n <= lengths.at(-1); n += 5) add("text", { x: x(n), y: HIGH + 16, "text-anchor": "middle" }, n);
  add("text", { x: WIDE / 2, y: HIGH + 33, "text-anchor": "middle" }, "words in the sentence");
  const within = x(trained);
  rule("axis", [within, within], [0, HIGH]).setAttribute("stroke-dasharray", "2 4");
  add("text", { x: within + 4, y: HIGH - 6 }, "longer than any in training");
  const lines = names.map((_, j) => add("polyline", { class: `line-${COLOURS[j]}` }));
  const across = rule("xp-cursor", [0, WIDE], [0, 0]);
  const upright = rule("xp-cursor", [0, 0], [0, HIGH]);
  const dots = names.map((_, j) => add("circle", { r: 4, class: COLOURS[j] }));

  const cells = names.map(() => [make("td"), make("td")]);
  const heads = [make("th", { scope: "col" }), make("th", { scope: "col" })];
  const rows = names.map((name, j) => {
    const mark = draw("svg", { viewBox: "0 0 18 8", "aria-hidden": "true" }, draw("line", { class: `line-${COLOURS[j]}`, x1: 0, x2: 18, y1: 4, y2: 4 }));
    return make("tr", {}, make("th", { scope: "row" }, mark, name), ...cells[j]);
  });
  stage.append(svg, make("table", {}, make("thead", {}, make("tr", {}, make("td"), ...heads)), make("tbody", {}, ...rows)));

  const size = slider("length", [lengths[0], lengths.at(-1), lengths[1] - lengths[0]], (n) => change(model, "length", n));
  const height = slider("level", [0.3, 0.99, 0.01], (level) => change(model, "level", level));
  const count = choice("count", [["token", "words"], ["exact", "whole sentences"]], (option) => change(model, "measure", option));
  controls.append(size.element, height.element, count.element, again(model, ["length", "level", "measure"]));

  return redraw(model, ["length", "level", "measure"], () => {
    const [length, level, counted] = ["length", "level", "measure"].map((trait) => model.get(trait));
    const here = lengths.indexOf(length);
    fill(across, { y1: y(level), y2: y(level) }, []);
    fill(upright, { x1: x(length), x2: x(length) }, []);
    const said = names.map((name, j) => {
      const curve = curves[name][counted];
      const below = firstBelow(lengths, curve, level);
      lines[j].setAttribute("points", lengths.map((n, i) => `${x(n)},${y(curve[i])}`).join(" "));
      fill(dots[j], { cx: x(length), cy: y(curve[here]) }, []);
      cells[j][0].textContent = show(curve[here]);
      cells[j][1].textContent = below === null ? "never" : `from ${below}`;
      return `${name} ${show(curve[here])}`;
    });
    heads[0].textContent = `right at ${length}`;
    heads[1].textContent = `below ${show(level)}`;
    size.value(length, `${length} words`);
    height.value(level, show(level));
    count.value(counted);
    const what = counted === "token" ? "words" : "whole sentences";
    svg.setAttribute("aria-label", `Share of right ${what} against length, ${names.length} curves; at ${length} words: ${said.join(", ")}.`);
    const now = names.map((name) => curves[name][counted][here]);
    const still = now.filter((share) => share >= level).length;
    say(
      `At ${length} words, ${still} of ${names.length} models are at ${show(level)} or above. The best has ${show(Math.max(...now))} ` +
        `of the ${what} right, the worst ${show(Math.min(...now))}.`,
    );
  });
};
export default { render };
