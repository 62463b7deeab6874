/* What the page claims of the heads, measured over held-out code: sums over one row, which `rates` adds up. */

/* `at` are the positions of a row before a closing bracket, after `self.`, and before a known name. `outs` say what is taken
   out of block l, one head after another. */
export const measure = (model, [whole, changed], { tokens, at }, pieces, l, outs) => {
  const [brackets, attributes, names] = at;
  crop(whole, 0);
  read(model, whole, tokens);
  const before = surprise(model, whole);
  const groups = [brackets, attributes, before.map((_, t) => t)];
  const opening = marks(tokens, pieces)["opening bracket"];
  const weight = allHeads(model).map((head) => sum(brackets, (t) => weightsAt(whole, head, t)[opening[t][0]]));
  const harm = outs.map((out) => {
    changed.out = out;
    readAfter(model, changed, whole, l);
    const after = surprise(model, changed);
    return groups.map((ts) => sum(ts, (t) => after[t] - before[t]));
  });
  const right = whole.stream.map((_, k) => names.filter((t) => greedy(lens(model, whole, k, t)) === tokens[t + 1]).length);
  return { n: [...groups, names].map((ts) => ts.length), weight, harm, right };
};

const sum = (ts, of) => ts.reduce((total, t) => total + of(t), 0);

/* The sums of all rows, each divided by how many positions it has. */
export const rates = (rows) => {
  const total = (of) => rows.map(of).reduce((a, b) => a.map((x, i) => x + b[i]));
  const n = total((row) => row.n);
  const share = (sums, i) => sums / n[i];
  return {
    n,
    weight: total((row) => row.weight).map((w) => share(w, 0)),
    harm: rows[0].harm.map((_, h) => total((row) => row.harm[h]).map(share)),
    right: total((row) => row.right).map((x) => share(x, 3)),
  };
};
