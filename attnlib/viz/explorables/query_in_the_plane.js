/* One query, a few keys and values, all in the plane: drag the query; weights and output follow. */
export const attend = (q, K, V) => {
  const p = softmax(K.map((k) => dot(q, k)));
  return { p, o: [0, 1].map((c) => sum(p.map((weight, j) => weight * V[j][c]))) };
};
/* The corners of the convex hull, in order round it. */
export const hull = (points) => {
  const left = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) > 0;
  const half = (sorted) => {
    const corners = [];
    for (const point of sorted) {
      while (corners.length > 1 && !left(corners.at(-2), corners.at(-1), point)) corners.pop();
      corners.push(point);
    }
    return corners.slice(0, -1);
  };
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return [...half(sorted), ...half(sorted.reverse())];
};

const COLOURS = "abcd";
const SIDE = 200;
const plane = (title, low, high) => {
  const x = along(low, high, 0, SIDE);
  const y = along(low, high, SIDE, 0);
  const svg = draw("svg", { viewBox: `-4 -22 ${SIDE + 8} ${SIDE + 26}`, role: "img" });
  svg.append(draw("text", { x: 0, y: -8 }, title));
  for (let at = Math.ceil(low); at <= high; at++) {
    const kind = at === 0 ? "axis" : "grid";
    svg.append(draw("line", { class: kind, x1: x(at), x2: x(at), y1: 0, y2: SIDE }));
    svg.append(draw("line", { class: kind, x1: 0, x2: SIDE, y1: y(at), y2: y(at) }));
  }
  const line = (kind) => svg.appendChild(draw("line", { class: kind }));
  const from = (element, a, b) => fill(element, { x1: x(a[0]), y1: y(a[1]), x2: x(b[0]), y2: y(b[1]) }, []);
  const put = (element, point, dx = 0, dy = 0) => fill(element, { transform: `translate(${x(point[0]) + dx} ${y(point[1]) + dy})` }, []);
  const add = (tag, attributes, ...children) => svg.appendChild(draw(tag, attributes, ...children));
  const back = (event) => {
    const box = svg.getBoundingClientRect();
    const unit = (SIDE + 8) / box.width;
    const within = [(event.clientX - box.left) * unit - 4, (event.clientY - box.top) * unit - 22];
    return [low + (within[0] / SIDE) * (high - low), high - (within[1] / SIDE) * (high - low)];
  };
  return { svg, x, y, line, from, put, add, back };
};

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "query_in_the_plane");
  const [tokens, K, V] = ["tokens", "K", "V"].map((trait) => model.get(trait));
  const reach = 3;
  const keys = plane("keys and the query", -reach, reach);
  K.forEach((k, j) => {
    keys.from(keys.line(`line-${COLOURS[j]}`), [0, 0], k);
    keys.put(keys.add("circle", { r: 4, class: COLOURS[j] }), k);
    keys.put(keys.add("text", { "text-anchor": k[0] > 0 ? "start" : "end" }, tokens[j]), k, k[0] > 0 ? 7 : -7, k[1] < 0 ? 14 : -4);
  });
  const ray = keys.line("xp-ray");
  const handle = keys.add("g", { class: "xp-handle" }, draw("circle", { r: 20, class: "xp-reach" }), draw("circle", { r: 7, class: "xp-dot" }));

  const most = Math.max(...V.flat()) + 0.5;
  const least = Math.min(...V.flat(), 0) - 0.5;
  const values = plane("values, hull and output", least, most);
  const corners = hull(V).map((v) => `${values.x(v[0])},${values.y(v[1])}`);
  values.add("polygon", { points: corners.join(" "), class: "xp-hull" });
  const pulls = V.map((v, j) => values.line(`line-${COLOURS[j]}`));
  V.forEach((v, j) => {
    values.put(values.add("circle", { r: 5, class: COLOURS[j] }), v);
    values.put(values.add("text", { "text-anchor": v[0] > (most + least) / 2 ? "end" : "start" }, tokens[j]), v, v[0] > (most + least) / 2 ? -8 : 8, 4);
  });
  const output = values.add("circle", { r: 6, class: "xp-dot" });

  const bars = tokens.map((_, j) => make("div", { class: `xp-bar xp-bar-${COLOURS[j]}` }));
  const numbers = tokens.map(() => make("span"));
  const rows = tokens.map((token, j) => make("div", { class: "xp-share" }, make("span", {}, token), make("div", {}, bars[j]), numbers[j]));
  stage.append(keys.svg, values.svg, make("div", { class: "xp-shares" }, make("span", {}, "weights"), ...rows));

  const clamp = (x) => Math.min(reach, Math.max(-reach, Math.round(x * 20) / 20));
  const move = (q) => change(model, "q", q.map(clamp));
  const sliders = [0, 1].map((c) =>
    slider(`query, ${["across", "up"][c]}`, [-reach, reach, 0.05], (value) => move(model.get("q").map((old, i) => (i === c ? value : old)))),
  );
  handle.addEventListener("pointerdown", (event) => {
    handle.setPointerCapture(event.pointerId);
    event.preventDefault();
    sliders[0].input.focus({ preventScroll: true });
  });
  handle.addEventListener("pointermove", (event) => handle.hasPointerCapture(event.pointerId) && move(keys.back(event)));
  keys.svg.addEventListener("click", (event) => move(keys.back(event)));
  controls.append(...sliders.map(({ element }) => element), again(model, ["q"]));

  return redraw(model, ["q"], () => {
    const q = model.get("q");
    const { p, o } = attend(q, K, V);
    keys.from(ray, [0, 0], q);
    keys.put(handle, q);
    values.put(output, o);
    p.forEach((weight, j) => {
      values.from(pulls[j], V[j], o);
      pulls[j].style.strokeWidth = 0.5 + 6 * weight;
      bars[j].style.width = `${100 * weight}%`;
      numbers[j].textContent = show(weight);
    });
    q.forEach((x, c) => sliders[c].value(x, show(x)));
    const pair = (point) => `(${point.map((x) => show(x)).join(", ")})`;
    const shares = tokens.map((token, j) => `“${token}” ${show(p[j])}`).join(", ");
    keys.svg.setAttribute("aria-label", `Keys of ${tokens.join(", ")}, and the query at ${pair(q)}.`);
    values.svg.setAttribute("aria-label", `Values with their hull, and the output at ${pair(o)} inside it.`);
    say(`The query ${pair(q)} gives the weights ${shares} and the output ${pair(o)}.`);
  });
};
export default { render };
