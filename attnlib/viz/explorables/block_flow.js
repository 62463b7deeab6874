/* The data flow of a block: what every step computes, learns and multiplies, for chosen sizes. */
const HEAD = 64;

export const flow = (n, d, inside) => {
  const [h, wide] = [d / HEAD, inside * d];
  return [
    ["stream", "X", [n, d], 0, 0],
    ["attention", "norm", [n, d], 2 * d, 0],
    ["attention", "Q, K, V", [3, h, n, HEAD], 3 * (d * d + d), 3 * n * d * d],
    ["attention", "weights", [h, n, n], 0, n * n * d],
    ["attention", "averages", [h, n, HEAD], 0, n * n * d],
    ["attention", "joined", [n, d], d * d + d, n * d * d],
    ["stream", "+", [n, d], 0, 0],
    ["feed-forward", "norm", [n, d], 2 * d, 0],
    ["feed-forward", "out, bend", [n, wide], d * wide + wide, n * d * wide],
    ["feed-forward", "back", [n, d], wide * d + d, n * d * wide],
    ["stream", "+", [n, d], 0, 0],
  ];
};
export const total = (steps, column, part) => sum(steps.filter((step) => !part || step[0] === part).map((step) => step[column]));
/* 7087872 is "7.09 M": three digits, and what they count. */
export const short = (x) => {
  const power = x < 1000 ? 0 : Math.min(5, Math.floor(Math.log10(x) / 3));
  const digits = x / 1000 ** power;
  return power ? `${digits.toPrecision(digits < 999.5 ? 3 : 4)} ${"kMGTP"[power - 1]}` : String(x);
};

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "block_flow");
  const at = () => ["n", "d_model", "inside"].map((trait) => model.get(trait));
  const rows = flow(...at()).map(([part, name]) => {
    const cells = [make("td", { class: "shape" }), make("td", { class: "count" }), make("td", { class: "count" })];
    const title = name === "+" ? "sum" : name;
    return [make("tr", { class: part }, make("th", { scope: "row" }, title), ...cells), cells];
  });
  const heads = ["step", "shape", "parameters", "multiply-adds"].map((text) => make("th", { scope: "col" }, text));
  const caption = make("caption", {}, "one block, from above to below; M is a million, G a thousand of them");
  stage.append(make("table", {}, caption, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows.map(([row]) => row))));

  const n = slider("tokens", [0, 14, 1], (to) => change(model, "n", 2 ** to));
  const d = slider("width of the stream", [HEAD, 4096, HEAD], (to) => change(model, "d_model", to));
  const inside = slider("times wider inside", [1, 8, 1], (to) => change(model, "inside", to));
  const traits = ["n", "d_model", "inside"];
  controls.append(n.element, d.element, inside.element, again(model, traits));

  return redraw(model, traits, () => {
    const [length, width, times] = at();
    const steps = flow(length, width, times);
    const all = [3, 4].map((column) => total(steps, column));
    steps.forEach(([, , shape, ...counts], i) => {
      const [, cells] = rows[i];
      cells[0].textContent = shape.join(" × ");
      counts.forEach((count, j) => {
        cells[j + 1].textContent = count ? short(count) : "–";
        cells[j + 1].style.setProperty("--p", `${(100 * count) / all[j]}%`);
      });
    });
    n.value(Math.round(Math.log2(length)), String(length));
    d.value(width, String(width));
    inside.value(times, String(times));
    const [learned, multiplied] = [3, 4].map((column, j) => show((100 * total(steps, column, "feed-forward")) / all[j], 0));
    const more = total(steps, 4, "attention") > total(steps, 4, "feed-forward") ? "Attention" : "The feed-forward network";
    say(
      `${short(all[0])} parameters, ${learned} % of them in the feed-forward network. ${short(all[1])} multiply-adds for ` +
        `${length} tokens, ${multiplied} % of them in the feed-forward network. ${more} multiplies more.`,
    );
  });
};
export default { render };
