/* The operations of a GPT on vectors that lie one after another in a typed array. Parameters have 32 bits; what is
   computed from them has 64, because JavaScript computes in 64 bits, and turning back and forth takes a third of the time. */

/* Y[t] = W X[t] + b. W has a row for each output, and their number is divisible by four. Four positions share each number of W that is fetched. */
export const linear = (W, b, X, n, Y) => {
  const rows = b.length;
  const width = W.length / rows;
  let t = 0;
  for (; t + 4 <= n; t += 4) fourPositions(W, b, X, t, rows, width, Y);
  for (; t < n; t++) onePosition(W, b, X, t, rows, width, Y);
};

const fourPositions = (W, b, X, t, rows, width, Y) => {
  const [x0, x1, x2, x3] = [t * width, (t + 1) * width, (t + 2) * width, (t + 3) * width];
  for (let i = 0; i < rows; i++) {
    let s0 = b[i];
    let s1 = s0;
    let s2 = s0;
    let s3 = s0;
    const at = i * width;
    for (let j = 0; j < width; j++) {
      const w = W[at + j];
      s0 += w * X[x0 + j];
      s1 += w * X[x1 + j];
      s2 += w * X[x2 + j];
      s3 += w * X[x3 + j];
    }
    Y[t * rows + i] = s0;
    Y[(t + 1) * rows + i] = s1;
    Y[(t + 2) * rows + i] = s2;
    Y[(t + 3) * rows + i] = s3;
  }
};

/* Four rows of W at a time, so that four sums share each number of X, and one addition need not wait for another. */
const onePosition = (W, b, X, t, rows, width, Y) => {
  const x = t * width;
  for (let i = 0; i < rows; i += 4) {
    let s0 = b[i];
    let s1 = b[i + 1];
    let s2 = b[i + 2];
    let s3 = b[i + 3];
    const a0 = i * width;
    const a1 = a0 + width;
    const a2 = a1 + width;
    const a3 = a2 + width;
    for (let j = 0; j < width; j++) {
      const value = X[x + j];
      s0 += W[a0 + j] * value;
      s1 += W[a1 + j] * value;
      s2 += W[a2 + j] * value;
      s3 += W[a3 + j] * value;
    }
    Y[t * rows + i] = s0;
    Y[t * rows + i + 1] = s1;
    Y[t * rows + i + 2] = s2;
    Y[t * rows + i + 3] = s3;
  }
};

/* Each vector minus its mean, divided by its standard deviation, times gain plus shift. */
export const layerNorm = (X, { gain, shift }, n, Y, eps = 1e-5) => {
  const d = gain.length;
  for (let t = 0; t < n; t++) {
    const x = t * d;
    let mean = 0;
    for (let j = 0; j < d; j++) mean += X[x + j] / d;
    let variance = 0;
    for (let j = 0; j < d; j++) variance += (X[x + j] - mean) ** 2 / d;
    const scale = 1 / Math.sqrt(variance + eps);
    for (let j = 0; j < d; j++) Y[x + j] = (X[x + j] - mean) * scale * gain[j] + shift[j];
  }
};

/* GPT-2's GELU, with a tanh, in place. */
export const gelu = (A) => {
  const c = Math.sqrt(2 / Math.PI);
  for (let i = 0; i < A.length; i++) {
    const x = A[i];
    A[i] = 0.5 * x * (1 + Math.tanh(c * (x + 0.044715 * x * x * x)));
  }
};

/* softmax of S[from] to S[from + n - 1], in place; the largest score is subtracted first. */
export const softmaxInPlace = (S, from, n) => {
  let largest = -Infinity;
  for (let j = from; j < from + n; j++) largest = Math.max(largest, S[j]);
  let total = 0;
  for (let j = from; j < from + n; j++) total += S[j] = Math.exp(S[j] - largest);
  for (let j = from; j < from + n; j++) S[j] /= total;
};
