/* Multi-head attention with kept keys and values: each position reads itself and what stands before it. */

/* Reads `n` new positions Z, the first of them at `first`. `kept` has the keys K and values V of all positions, and P, the
   weights (heads, positions, positions), which the page draws, and S, the scores, if they are wanted. `replaced[head]` takes a
   head out: what stands in its place. */
export const attention = (layer, Z, n, first, kept, replaced, work) => {
  const { heads, context } = kept;
  const d = layer.W_O.b.length;
  const width = d / heads;
  const [Q, K, V] = { qk: "KQV", kv: "QVK" }[work.broken] ?? "QKV";
  linear(layer[`W_${Q}`], Z, n, work.Q);
  linear(layer[`W_${K}`], Z, n, kept.K.subarray(first * d));
  linear(layer[`W_${V}`], Z, n, kept.V.subarray(first * d));
  const O = work.O.fill(0, 0, n * d);
  for (let h = 0; h < heads; h++) {
    for (let t = 0; t < n; t++) {
      const row = (h * context + first + t) * context;
      const m = first + (work.broken === "mask" ? n : t + 1);
      weights(work.Q, t * d + h * width, kept.K, h * width, d, width, m, kept, row, work.broken === "root" ? 1 : 1 / Math.sqrt(width));
      if (replaced[h]) O.set(replaced[h], t * d + h * width);
      else mix(kept.P, row, kept.V, h * width, d, width, m, O, t * d + h * width);
    }
  }
  linear(layer.W_O, O, n, work.Y);
  remember(work, kept, { Q: work.Q, O });
  return work.Y;
};

/* In a run that is to be unfolded, everything computed is kept by its letter. */
const remember = (work, kept, arrays) => {
  if (work.whole) for (const [name, A] of Object.entries(arrays)) kept[name] = A.slice();
};

/* P = softmax(Q K^T / sqrt(width)): one query over the m positions that it may read. */
const weights = (Q, q, K, k, d, width, m, { P, S }, row, scale) => {
  for (let j = 0; j < m; j++) {
    let score = 0;
    for (let i = 0; i < width; i++) score += Q[q + i] * K[j * d + k + i];
    P[row + j] = score * scale;
  }
  S?.set(P.subarray(row, row + m), row);
  softmaxInPlace(P, row, m);
};

/* O = P V: the mean of the values, weighted. */
const mix = (P, row, V, v, d, width, m, O, o) => {
  for (let j = 0; j < m; j++) {
    const p = P[row + j];
    for (let i = 0; i < width; i++) O[o + i] += p * V[j * d + v + i];
  }
};
