/* A block: attention, then a feed-forward network; each reads the stream through a norm, and adds to it. */

export const block = (layer, X, n, first, kept, out, work) => {
  normed(X, layer.norm_1, n, work.Z, work.broken);
  remember(work, kept, { Z_1: work.Z });
  add(X, attention(layer.attention, work.Z, n, first, kept, out.heads, work), n, work.broken);
  remember(work, kept, { Y_1: work.Y, X_1: X });
  normed(X, layer.norm_2, n, work.Z, work.broken);
  remember(work, kept, { Z_2: work.Z });
  add(X, feedForward(layer.feed_forward, work.Z, n, out.network, kept, work), n, work.broken);
  remember(work, kept, { Y_2: work.Y });
};

/* A norm, unless it is broken: without its gain, or with another epsilon. */
const normed = (X, norm, n, Z, broken) => layerNorm(X, broken === "gain" ? { ...norm, gain: norm.gain.map(() => 1) } : norm, n, Z, broken === "eps" ? 0.1 : EPS);

/* X + Y, for n positions: the residual connection. */
const add = (X, Y, n, broken) => {
  const length = (n * X.length) / X.positions;
  for (let i = 0; i < length; i++) X[i] = Y[i] + (broken === "residual" ? 0 : X[i]);
};

/* W_2 gelu(W_1 Z): each position by itself. `replaced` takes the network out: what it adds instead. */
const feedForward = ({ W_1, W_2 }, Z, n, replaced, kept, work) => {
  const d = W_2.b.length;
  if (replaced) {
    for (let t = 0; t < n; t++) work.Y.set(replaced, t * d);
    return work.Y;
  }
  linear(W_1, Z, n, work.hidden);
  remember(work, kept, { A: work.hidden });
  gelu(work.hidden.subarray(0, n * W_1.b.length));
  remember(work, kept, { H: work.hidden });
  linear(W_2, work.hidden, n, work.Y);
  return work.Y;
};
