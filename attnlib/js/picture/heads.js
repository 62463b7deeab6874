/* The sixteen heads: sorted by what they do in this text, one of them chosen; its weights as a table and as a map. */
const showHeads = (box, shares, state, chosen) => {
  const named = shares.map((share, i) => ({ name: `${Math.floor(i / 4)}.${i % 4}`, share: share[state.kind] }));
  named.sort((a, b) => (b.share ?? -1) - (a.share ?? -1));
  box.replaceChildren(...named.map(({ name, share }) => {
    const words = share === null ? "–" : percent(share);
    return button(make("b", {}, name), () => chosen(name), { "aria-pressed": String(name === state.head), "aria-label": `head ${name}: ${words} of its weight` }, ` ${words}`);
  }));
};

const showWeights = (box, weights, pieces, of) => {
  const rows = strongest(weights, 10).map(([j, p]) => [String(j), j ? seen(pieces[j]) : "start", opens(percent(p), `P.${of}.${j}`)]);
  box.replaceChildren(table("Where it attends, the ten largest weights", ["position", "token", "weight"], rows));
};

/* All rows as a picture: a dark cell is a large weight. Its table says for each token where most of the weight is. */
const showMap = (box, { n, rows }, pieces, choose) => {
  const canvas = make("canvas", { width: n, height: n, role: "img", "aria-label": "Attention of this head: a row for each position, a column for each position that it reads" });
  const [context, ink] = [canvas.getContext("2d"), getComputedStyle(box).color.match(/\d+/g).map(Number)];
  const image = context.createImageData(n, n);
  rows.forEach((row, t) => row.forEach((p, j) => image.data.set([...ink.slice(0, 3), 255 * Math.sqrt(p)], 4 * (t * n + j))));
  context.putImageData(image, 0, 0);
  canvas.addEventListener("click", (event) => choose(Math.min(n - 1, Math.floor((event.offsetY / canvas.clientHeight) * n))));
  const each = rows.map((row, t) => {
    const j = most(row);
    return [`${t} ${t ? seen(pieces[t]) : "start"}`, `${j} ${j ? seen(pieces[j]) : "start"}`, percent(row[j])];
  });
  box.replaceChildren(canvas, fold("The map as a table", table("Where each position attends most", ["position", "attends most to", "weight"], each)));
};

/* What the model would say if it were read after each block. */
const showLens = (box, lens, t) => {
  const rows = lens.map((three, k) => [afterBlock(k), ...three.map(([piece, p, token]) => make("span", {}, `${seen(piece)} `, opens(percent(p), `p.${k}.${t}.${token}`)))]);
  box.replaceChildren(table("Read early: the three likeliest tokens", ["read", "first", "second", "third"], rows));
};
