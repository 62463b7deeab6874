/* Where each position would attend to if it looked for one thing; the twin of `attnlib.js.marks`. A head's share is the
   weight that it puts there, averaged over the positions that have such a thing before them. */

const OPENING = "([{";
const CLOSING = ")]}";

/* For each position the earlier positions that are of this kind, by name. */
export const marks = (tokens, pieces) => {
  const found = { "previous token": [], "first token": [], "same token before": [], "opening bracket": [], "line start": [] };
  const open = []; // the positions of the brackets that are open
  let line = -1;
  tokens.forEach((token, t) => {
    for (const character of pieces[t]) {
      if (OPENING.includes(character)) open.push(t);
      else if (CLOSING.includes(character)) open.pop();
    }
    const earlier = (j) => (j !== undefined && j >= 0 && j < t ? [j] : []);
    found["previous token"].push(earlier(t - 1));
    found["first token"].push(earlier(0));
    found["same token before"].push(tokens.flatMap((other, j) => (j < t && other === token ? [j] : [])));
    found["opening bracket"].push(earlier(open.at(-1)));
    found["line start"].push(earlier(line));
    if (pieces[t].includes("\n")) line = t;
  });
  return found;
};

/* The share of a head, whose weights at position t are `row(t)`; null where no position has such a thing. */
export const share = (row, of) => {
  const rows = of.flatMap((js, t) => (js.length ? [js.reduce((total, j) => total + row(t)[j], 0)] : []));
  return rows.length ? rows.reduce((a, b) => a + b, 0) / rows.length : null;
};
