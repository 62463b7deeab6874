/* A file of one's own: its lines, coloured by the bits of their tokens; nothing of it leaves the page. */
const MOST = 2000; // tokens

const readFile = async (box, ask, file) => {
  const say = make("p", { role: "status" }, `Reading ${file.name} …`);
  const bar = make("progress", { max: 1, value: 0, "aria-label": "How much has been read" });
  box.replaceChildren(say, bar);
  const text = (await file.slice(0, 40_000).text()).replace(/\r\n/g, "\n");
  const { tokens, pieces } = await ask("cut", { text, most: Infinity });
  if (tokens.length < 2) return say.replaceChildren("This file is empty: there is nothing to be surprised by.");
  const kept = tokens.slice(0, MOST);
  const { bits } = await ask("file", { tokens: kept }, (share) => (bar.value = share));
  const lines = [[]];
  kept.slice(1).forEach((token, i) => {
    pieces[i].split("\n").forEach((part, k) => (k ? lines.push([[part, 0]]) : lines.at(-1).push([part, bits[i]])));
  });
  const total = bits.reduce((a, b) => a + b, 0);
  const bytes = new TextEncoder().encode(pieces.slice(0, kept.length - 1).join("")).length;
  say.textContent = `${file.name}: ${(total / bytes).toFixed(2)} bits a byte over ${bits.length} tokens${kept.length < tokens.length ? `, the first of ${tokens.length - 1}` : ""}. The three most surprising lines are marked.`;
  const mean = (line) => line.reduce((sum, [, b]) => sum + b, 0) / line.length;
  const textOf = (line) => line.map(([piece]) => piece).join("");
  const sorted = [...lines.keys()].filter((i) => textOf(lines[i]).trim()).sort((a, b) => mean(lines[b]) - mean(lines[a]));
  const worst = sorted.slice(0, 3);
  const shown = lines.map((line, i) => {
    const spans = line.map(([piece, b]) => make("span", { style: `--bits: ${Math.min(38, 3.2 * b).toFixed(0)}%`, title: `${b.toFixed(1)} bits` }, piece));
    return make("span", { class: worst.includes(i) ? "ig-line ig-worst" : "ig-line" }, ...spans, "\n");
  });
  box.replaceChildren(say, make("pre", { class: "ig-file", tabindex: "0", "aria-label": `${file.name}, coloured by surprise` }, ...shown),
    fold("As a table", table("Lines, the most surprising first", ["line", "text", "bits a token"], sorted.map((i) => [String(i + 1), textOf(lines[i]).trim(), mean(lines[i]).toFixed(1)]))));
  return undefined;
};
