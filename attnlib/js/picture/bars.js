/* The ten likeliest next tokens, as bars and as the rows of a table; where a part is out, beside the whole model's. */
const showBars = (box, scores, settings, pieceOf, u, next, t) => {
  const { probabilities, order, draw: drawn } = insideGPT.model;
  const options = settingsOf(settings);
  const [whole, changed] = scores.map((S) => probabilities(S, options));
  const P = changed ?? whole;
  const top = order(P).slice(0, 10);
  const bar = (p, name) => make("span", { class: `ig-bar ig-${name}`, style: `width: ${(100 * p).toFixed(1)}%` });
  const rows = top.map((token) =>
    make("tr", { class: token === next ? "ig-next" : null }, make("th", { scope: "row" }, make("code", {}, seen(pieceOf(token)))),
      make("td", { class: "ig-cell" }, bar(P[token], "a"), ...(changed ? [bar(whole[token], "b")] : [])),
      make("td", {}, P[token] ? opens(percent(P[token]), `draw.${t}.${token}`) : percent(0)), ...(changed ? [make("td", {}, percent(whole[token]))] : [])));
  const heads = ["next token", "", changed ? "changed" : "probability", ...(changed ? ["whole model"] : [])];
  const head = make("tr", {}, ...heads.map((text) => make(text ? "th" : "td", text ? { scope: "col" } : {}, text)));
  /* The needle: all probability side by side, and where the next draw falls. */
  const parts = top.map((token) => make("i", { style: `width: ${100 * P[token]}%` }));
  const token = settings.temperature ? drawn(P, u) : top[0];
  const place = insideAlong(P, token, u, top);
  const needle = make("div", { class: "ig-needle", "aria-hidden": "true" }, ...parts, make("b", { style: `left: ${100 * place}%` }));
  const target = next ?? top[0];
  box.replaceChildren(make("table", { class: "ig-bars", "aria-label": "The likeliest next tokens" }, make("thead", {}, head), make("tbody", {}, ...rows)), needle,
    small(`The draw with this seed falls on “${seen(pieceOf(token))}” (${percent(P[token])}).`),
    small(`Surprise of “${seen(pieceOf(target))}”${next === undefined ? "" : ", which comes next"}: `, opens(`${insideGPT.model.bits(scores.at(-1), target).toFixed(2)} bits`, `bits.${t}.${target}`)));
  return { top, P, token, target };
};

/* The settings as the model's filters want them; greedy choice is drawn as a very low temperature. */
const settingsOf = ({ temperature, topK, nucleus }) => ({ temperature: temperature || 0.01, topK: topK || undefined, nucleus });

/* Where the needle stands when the tokens lie from the likeliest to the least likely: inside its own token's part. */
const insideAlong = (P, token, u, top) => {
  let before = 0;
  for (let i = 0; i < token; i++) before += P[i];
  const inside = P[token] ? (u - before) / P[token] : 0;
  const at = top.indexOf(token);
  const left = at < 0 ? top.reduce((sum, one) => sum + P[one], 0) : top.slice(0, at).reduce((sum, one) => sum + P[one], 0);
  return Math.min(1, left + (at < 0 ? 0 : P[token] * Math.min(1, Math.max(0, inside))));
};
