/* SGD, momentum and Adam from one start in one valley, which can be made steeper and turned. */
export const START = [-8, 2];
const LEVELS = [1, 3, 5, 7, 9];
const radians = (degrees) => (degrees * Math.PI) / 180;
export const turn = ([x, y], angle) => [x * Math.cos(angle) - y * Math.sin(angle), x * Math.sin(angle) + y * Math.cos(angle)];
export const slope = (w, steep, angle) => {
  const [x, y] = turn(w, -angle);
  return turn([x, steep * y], angle);
};
export const loss = (w, steep, angle) => {
  const [x, y] = turn(w, -angle);
  return (x * x + steep * y * y) / 2;
};
/* Each rule: what it remembers of a number's gradients g at step t, and how far it goes. */
export const rules = {
  SGD: (g, memory, t, rate) => [rate * g, memory],
  momentum: (g, [b, v], t, rate) => [rate * (0.9 * b + g), [0.9 * b + g, v]],
  Adam: (g, [m, v], t, rate) => {
    const [mean, square] = [0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g];
    return [(rate * mean) / (1 - 0.9 ** t) / (Math.sqrt(square / (1 - 0.999 ** t)) + 1e-8), [mean, square]];
  },
};
export const walk = (rule, rate, steep, degrees, steps) => {
  const angle = radians(degrees);
  const path = [turn(START, angle)];
  let memory = [[0, 0], [0, 0]];
  for (let t = 1; t <= steps; t++) {
    const w = path.at(-1);
    const moved = slope(w, steep, angle).map((g, i) => rules[rule](g, memory[i], t, rate));
    path.push(w.map((x, i) => x - moved[i][0]));
    memory = moved.map(([, kept]) => kept);
  }
  return path;
};

const [SIDE, FAR] = [300, 10];
const NAMES = Object.keys(rules);

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "optimiser_race");
  const svg = draw("svg", { viewBox: `-24 -22 ${SIDE + 34} ${SIDE + 56}`, role: "img" });
  const x = along(-FAR, FAR, 0, SIDE);
  const add = (tag, attributes, ...children) => svg.appendChild(draw(tag, attributes, ...children));
  for (const at of [-10, -5, 0, 5, 10]) {
    const kind = at ? "grid" : "axis";
    add("line", { class: kind, x1: x(at), x2: x(at), y1: 0, y2: SIDE });
    add("line", { class: kind, x1: 0, x2: SIDE, y1: x(at), y2: x(at) });
    add("text", { x: x(at), y: SIDE + 16, "text-anchor": "middle" }, String(at).replace("-", "−"));
  }
  add("text", { x: SIDE, y: SIDE + 32, "text-anchor": "end" }, "first number");
  add("text", { x: 0, y: -8 }, "second number");
  const rings = LEVELS.map(() => add("ellipse", { class: "xp-ring" }));
  const clip = name();
  add("clipPath", { id: clip }, draw("rect", { width: SIDE, height: SIDE }));
  const inside = add("g", { "clip-path": `url(#${clip})` });
  const lines = NAMES.map((_, i) => inside.appendChild(draw("polyline", { class: `line-${"abc"[i]}` })));
  const ends = NAMES.map((_, i) => inside.appendChild(draw("circle", { r: 5, class: "abc"[i] })));
  const cells = NAMES.map(() => make("td"));
  const rows = NAMES.map((rule, i) => make("tr", {}, make("th", { scope: "row", class: `xp-${"abc"[i]}` }, rule), cells[i]));
  const head = make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "rule"), make("th", { scope: "col" }, "loss")));
  stage.append(svg, make("table", {}, head, make("tbody", {}, ...rows)));

  const traits = ["rate", "adam_rate", "steep", "angle", "steps"];
  const sliders = [
    slider("rate of SGD, momentum", [-3, -1, 0.05], (to) => change(model, "rate", 10 ** to)),
    slider("rate of Adam", [-2, 0, 0.05], (to) => change(model, "adam_rate", 10 ** to)),
    slider("times as steep", [1, 100, 1], (to) => change(model, "steep", to)),
    slider("valley turned by", [0, 90, 1], (to) => change(model, "angle", to)),
    slider("steps", [1, 100, 1], (to) => change(model, "steps", to)),
  ];
  controls.append(...sliders.map(({ element }) => element), again(model, traits));

  return redraw(model, traits, () => {
    const now = traits.map((trait) => model.get(trait));
    const [rate, adamRate, steep, angle, steps] = now;
    rings.forEach((ring, i) => {
      const at = `translate(${x(0)} ${x(0)}) rotate(${-angle})`;
      fill(ring, { rx: x(LEVELS[i]) - x(0), ry: (x(LEVELS[i]) - x(0)) / Math.sqrt(steep), transform: at }, []);
    });
    const far = (v) => Math.max(-60, Math.min(60, v));
    const losses = NAMES.map((rule, i) => {
      const path = walk(rule, rule === "Adam" ? adamRate : rate, steep, angle, steps);
      const places = path.map(([a, b]) => [x(far(a)), x(-far(b))]);
      fill(lines[i], { points: places.map((place) => place.join(",")).join(" ") }, []);
      fill(ends[i], { cx: places.at(-1)[0], cy: places.at(-1)[1] }, []);
      return loss(path.at(-1), steep, radians(angle));
    });
    const told = losses.map((value) => (value < 1000 ? show(value, 3) : "away"));
    told.forEach((text, i) => (cells[i].textContent = text));
    const values = [rate.toPrecision(2), adamRate.toPrecision(2), String(steep), `${angle}°`, String(steps)];
    sliders.forEach(({ value }, i) => value(i < 2 ? Math.log10(now[i]) : now[i], values[i]));
    const best = losses.indexOf(Math.min(...losses));
    svg.setAttribute("aria-label", `Paths of ${NAMES.join(", ")} in a valley ${steep} times as steep one way, turned by ${angle} degrees.`);
    say(`After ${steps} steps the loss is ${NAMES.map((rule, i) => `${told[i]} with ${rule}`).join(", ")}. Lowest: ${NAMES[best]}.`);
  });
};
export default { render };
