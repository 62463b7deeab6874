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
  const sheet = draw("svg", { viewBox: "0 0 300 282", role: "img", "aria-label": "The block, drawn from below: its stream, and two branches with norms" });
  const heads = ["", "GPT-2", "this block"].map((text) => make("th", { scope: "col" }, text));
  const names = ["attention", "feed-forward", "norms", "all parameters", "bytes kept", "multiply-adds"];
  const rows = names.map((text) => {
    const cells = [make("td"), make("td")];
    return [make("tr", {}, make("th", { scope: "row" }, text), ...cells), cells];
  });
  const caption = make("caption", {}, "parameters; then bytes that are kept of a token and multiplications for it, in one block");
  stage.append(sheet, make("table", {}, caption, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows.map(([row]) => row))));

  const pick = (label, trait, options) => choice(label, options.map((one) => (Array.isArray(one) ? one : [one, one])), (to) => change(model, trait, to));
  const kinds = {
    norm: pick("norm", "norm", ["LayerNorm", "RMS norm", "sandwich"]),
    memory: pick("keys and values", "memory", [["32", "32 heads"], ["8", "8 heads"], ["1", "1 head"], "latent"]),
    qk: pick("QK norm", "qk", ["no", "yes"]),
    network: pick("network", "network", ["GELU", "SwiGLU"]),
    bias: pick("biases", "bias", ["yes", "no"]),
  };
  const years = Object.entries(YEARS).map(([year, values]) => button(year, () => values.forEach((value, i) => change(model, TRAITS[i], value))));
  const n = slider("tokens read", [0, 17, 1], (to) => change(model, "n", 2 ** to));
  controls.append(make("div", { class: "years" }, ...years), ...Object.values(kinds).map((one) => one.element), n.element, again(model, [...TRAITS, "n"]));

  const sketch = (s) => {
    const old = YEARS["GPT-2, 2019"];
    const is = (trait) => (s[trait] === old[TRAITS.indexOf(trait)] ? "line-a" : "line-b");
    const path = (d, kind = "axis") => draw("path", { d, class: kind });
    const box = (y, text, kind, more = "") => [
      draw("rect", { x: 46, y, width: 104, height: 24, rx: 4, class: kind }),
      draw("text", { x: 98, y: y + 16, "text-anchor": "middle" }, text),
      draw("text", { x: 158, y: y + 16 }, more),
    ];
    const branch = (y, part, kind, more) => {
      const after = s.norm === "sandwich";
      return [
        path(`M18 ${y}H98V${y - 12}M98 ${y - 36}V${y - 48}M98 ${y - 72}V${y - (after ? 82 : 118)}${after ? `M98 ${y - 106}V${y - 118}` : ""}H18`),
        ...box(y - 36, s.norm === "LayerNorm" ? "LayerNorm" : "RMS norm", is("norm")),
        ...box(y - 72, part, kind, more),
        ...(after ? box(y - 106, "RMS norm", "line-b") : []),
      ];
    };
    const memory = s.memory === "latent" ? "keys: a latent" : `keys: ${s.memory} head${s.memory === "1" ? "" : "s"}`;
    const of = is("memory") === "line-b" || is("qk") === "line-b" ? "line-b" : "line-a";
    const net = is("network") === "line-b" || is("bias") === "line-b" ? "line-b" : "line-a";
    sheet.replaceChildren(
      path("M18 280V4", "line-a"),
      ...branch(270, "attention", of, memory),
      draw("text", { x: 158, y: 228 }, s.qk === "yes" ? "QK norm" : ""),
      ...branch(132, s.network, net, s.bias === "yes" ? "biases" : "no biases"),
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
