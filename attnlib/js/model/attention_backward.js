/* Multi-head attention backwards: from dY to dZ, what it read. `kept` has the arrays of the forward, `d` gets their gradients. */

export const attentionBackward = (layer, kept, dY, n, d, replaced) => {
  const { heads, context } = kept;
  const D = layer.W_O.b.length;
  const width = D / heads;
  const scale = 1 / Math.sqrt(width);
  linearBackward(layer.W_O, dY, n, d.O);
  for (let h = 0; h < heads; h++) {
    if (replaced[h]) continue; // what stands in its place depends on nothing
    for (let t = 0; t < n; t++) {
      const [row, q] = [(h * context + t) * context, t * D + h * width];
      for (let j = 0; j <= t; j++) {
        const k = j * D + h * width;
        for (let i = 0; i < width; i++) {
          d.P[row + j] += d.O[q + i] * kept.V[k + i];
          d.V[k + i] += kept.P[row + j] * d.O[q + i];
        }
      }
      softmaxBackward(kept.P, d.P, row, t + 1, d.S);
      for (let j = 0; j <= t; j++) {
        const [k, g] = [j * D + h * width, d.S[row + j] * scale];
        for (let i = 0; i < width; i++) {
          d.Q[q + i] += g * kept.K[k + i];
          d.K[k + i] += g * kept.Q[q + i];
        }
      }
    }
  }
  for (const letter of "QKV") linearBackward(layer[`W_${letter}`], d[letter], n, d.Z_1);
};
