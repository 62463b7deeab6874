/* A block backwards: what arrives passes each residual connection untouched, and once more through norm and sublayer. */

export const blockBackward = (layer, X, kept, n, d, out) => {
  if (!out.network) {
    linearBackward(layer.feed_forward.W_2, d.Y_2, n, d.H);
    d.A.set(geluBackward(kept.A, d.H));
    linearBackward(layer.feed_forward.W_1, d.A, n, d.Z_2);
  }
  d.X_1.set(d.Y_2);
  layerNormBackward(kept.X_1, layer.norm_2, d.Z_2, n, d.X_1);
  d.Y_1.set(d.X_1);
  attentionBackward(layer.attention, kept, d.Y_1, n, d, out.heads);
  d.X.set(d.X_1);
  layerNormBackward(X, layer.norm_1, d.Z_1, n, d.X);
};
