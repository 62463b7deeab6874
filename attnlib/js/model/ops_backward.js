/* The derivatives of the operations, the twins of `attnlib.reference`: each adds to the gradient of what was read. */

/* dX += dY W, for n positions: W has a row for each output. A position without a gradient is left out. */
export const linearBackward = ({ W, scale }, dY, n, dX) => {
  const [rows, width] = [scale.length, W.length / scale.length];
  for (let t = 0; t < n; t++) {
    const x = t * width;
    for (let i = 0; i < rows; i++) {
      const g = dY[t * rows + i] * scale[i];
      if (g) for (let j = 0, at = i * width; j < width; j++) dX[x + j] += g * W[at + j];
    }
  }
};

/* A change of only the mean or the size of a vector has no effect: what would make one is taken away. */
export const layerNormBackward = (X, { gain }, dY, n, dX, eps = EPS) => {
  const d = gain.length;
  for (let t = 0; t < n; t++) {
    const [x, g] = [X.subarray(t * d, (t + 1) * d), dY.subarray(t * d, (t + 1) * d).map((one, i) => one * gain[i])];
    const mean = meanOf(x);
    const size = Math.sqrt(varianceOf(x) + eps);
    const along = g.reduce((sum, one, i) => sum + (one * (x[i] - mean)) / size, 0) / d;
    const level = meanOf(g);
    for (let i = 0; i < d; i++) dX[t * d + i] += (g[i] - level - (along * (x[i] - mean)) / size) / size;
  }
};

/* By the product rule; the derivative of tanh is 1 - tanh^2. */
export const geluBackward = (A, dH) => {
  const c = Math.sqrt(2 / Math.PI);
  return dH.map((g, i) => {
    const T = Math.tanh(c * (A[i] + 0.044715 * A[i] ** 3));
    return (g * (1 + T + A[i] * (1 - T * T) * c * (1 + 3 * 0.044715 * A[i] ** 2))) / 2;
  });
};

/* dS = P (dP - sum of P dP), over n numbers from `from` on. */
export const softmaxBackward = (P, dP, from, n, dS) => {
  let mean = 0;
  for (let j = from; j < from + n; j++) mean += P[j] * dP[j];
  for (let j = from; j < from + n; j++) dS[j] = P[j] * (dP[j] - mean);
};
