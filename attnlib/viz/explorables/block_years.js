/* One block through the years: what it learns, keeps and multiplies for each choice, exactly. */
const [WIDTH, HEADS, HEAD, LATENT, TURNED] = [4096, 32, 128, 512, 64];
const ALL = HEADS * HEAD;
export const counts = ({ norm, network, bias, memory, qk, n }) => {
  const [latent, gated, own] = [memory === "latent", network === "SwiGLU", bias === "yes" ? 1 : 0];
  const keys = latent ? 0 : Number(memory) * HEAD;
  const inside = gated ? 11008 : 16384;
  const maps = latent
    ? WIDTH * HEADS * (HEAD + TURNED) + WIDTH * (LATENT + TURNED) + 2 * LATENT * ALL + ALL * WIDTH
    : 2 * WIDTH * (ALL + keys);
  const wide = (gated ? 3 : 2) * WIDTH * inside;
  const gains = (norm === "sandwich" ? 4 : 2) * WIDTH + (qk === "yes" ? 2 * HEAD : 0) + (latent ? LATENT : 0);
  const attention = maps + (latent ? 0 : own * (ALL + 2 * keys + WIDTH));
  const feedForward = wide + own * ((gated ? 2 : 1) * inside + WIDTH);
  const norms = (norm === "LayerNorm" ? 2 : 1) * gains;
  const each = latent ? HEADS * (2 * LATENT + TURNED) : 2 * ALL;
  const kept = latent ? LATENT + TURNED : 2 * keys;
  return [attention, feedForward, norms, attention + feedForward + norms, 2 * kept, maps + wide + n * each];
};
const TRAITS = ["norm", "network", "bias", "memory", "qk"];
export const YEARS = {
  "GPT-2, 2019": ["LayerNorm", "GELU", "yes", "32", "no"],
  "Llama, 2023": ["RMS norm", "SwiGLU", "no", "32", "no"],
  "Qwen3, 2025": ["RMS norm", "SwiGLU", "no", "8", "yes"],
  "DeepSeek-V3, 2024": ["RMS norm", "SwiGLU", "no", "latent", "no"],
};
const whole = (x) => x.toLocaleString("en-US");

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "block_years");
  const state = () => Object.fromEntries([...TRAITS, "n"].map((trait) => [trait, model.get(trait)]));
  const sheet = draw("svg", { viewBox: "0 0 300 212", role: "img", "aria-label": "The block, drawn from below: its stream, and two branches with norms" });
  const heads = ["count", "GPT-2", "this block"].map((text) => make("th", { scope: "col" }, text));
  const names = ["attention", "feed-forward", "norms", "all parameters", "bytes kept", "multiply-adds"];
  const rows = names.map((text) => {
    const cells = [make("td"), make("td")];
    return [make("tr", {}, make("th", { scope: "row" }, text), ...cells), cells];
  });
  const caption = make("caption", {}, "one block: its parameters, and for a token");
  stage.append(sheet, make("table", {}, caption, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows.map(([row]) => row))));

  const pick = (label, trait, options) => choice(label, options.map((one) => (Array.isArray(one) ? one : [one, one])), (to) => change(model, trait, to));
  const kinds = {
    norm: pick("norm", "norm", [["LayerNorm", "Layer"], ["RMS norm", "RMS"], "sandwich"]),
    memory: pick("heads of keys", "memory", ["32", "8", "1", "latent"]),
    qk: pick("QK norm", "qk", ["no", "yes"]),
    network: pick("network", "network", ["GELU", "SwiGLU"]),
    bias: pick("biases", "bias", ["yes", "no"]),
  };
  const years = Object.entries(YEARS).map(([year, values]) => button(year, () => values.forEach((value, i) => change(model, TRAITS[i], value))));
  const n = slider("tokens read", [0, 17, 1], (to) => change(model, "n", 2 ** to));
  controls.append(make("div", { class: "years" }, ...years, again(model, [...TRAITS, "n"])), ...Object.values(kinds).map((one) => one.element), n.element);

  const sketch = (s) => {
    const old = YEARS["GPT-2, 2019"];
    const is = (trait) => (s[trait] === old[TRAITS.indexOf(trait)] ? "line-a" : "line-b");
    const path = (d, kind = "axis") => draw("path", { d, class: kind });
    const box = (y, text, kind, more = "") => [
      draw("rect", { x: 46, y, width: 104, height: 22, rx: 4, class: kind }),
      draw("text", { x: 98, y: y + 15, "text-anchor": "middle" }, text),
      draw("text", { x: 158, y: y + 15 }, more),
    ];
    const branch = (y, part, kind, more) => {
      const after = s.norm === "sandwich";
      return [
        path(`M18 ${y}H98V${y - 8}M98 ${y - 30}V${y - 36}M98 ${y - 58}V${y - (after ? 64 : 94)}${after ? `M98 ${y - 86}V${y - 94}` : ""}H24`),
        draw("circle", { cx: 18, cy: y - 94, r: 6, class: "line-a" }),
        draw("text", { x: 18, y: y - 90, "text-anchor": "middle" }, "+"),
        ...box(y - 30, s.norm === "LayerNorm" ? "LayerNorm" : "RMS norm", is("norm")),
        ...box(y - 58, part, kind, more),
        ...(after ? box(y - 86, "RMS norm", "line-b") : []),
      ];
    };
    const memory = s.memory === "latent" ? "keys: a latent" : `keys: ${s.memory} head${s.memory === "1" ? "" : "s"}`;
    const of = is("memory") === "line-b" || is("qk") === "line-b" ? "line-b" : "line-a";
    const net = is("network") === "line-b" || is("bias") === "line-b" ? "line-b" : "line-a";
    sheet.replaceChildren(
      path("M18 212V118M18 106V14M18 2V0", "line-a"),
      ...branch(206, "attention", of, memory),
      draw("text", { x: 158, y: 179 }, s.qk === "yes" ? "QK norm" : ""),
      ...branch(102, s.network, net, s.bias === "yes" ? "biases" : "no biases"),
    );
  };
  return redraw(model, [...TRAITS, "n"], () => {
    const s = state();
    const [old, now] = [counts({ ...Object.fromEntries(YEARS["GPT-2, 2019"].map((value, i) => [TRAITS[i], value])), n: s.n }), counts(s)];
    rows.forEach(([, cells], i) => [old, now].forEach((found, j) => (cells[j].textContent = whole(found[i]))));
    for (const [trait, one] of Object.entries(kinds)) one.value(s[trait]);
    n.value(Math.round(Math.log2(s.n)), whole(s.n));
    sketch(s);
    const share = (i) => show((100 * now[i]) / old[i], 0);
    say(`Beside GPT-2's block: ${share(3)} % of the parameters, ${share(4)} % of the bytes kept of each token, ${share(5)} % of the multiplications for a token after ${whole(s.n)}.`);
  });
};
export default { render };
