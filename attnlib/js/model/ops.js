/* The operations of a GPT on vectors that lie one after another in a typed array. Matrices stay the integers that are
   stored, a quarter of the memory to read; what is computed has 64 bits, because that is how JavaScript computes. */

/* Y[t] = W X[t] + b, for n positions. W is a row of integers for each output, times the row's scale; the number of rows is
   divisible by four. Four sums at a time share what they read, and one addition need not wait for another. */
export const linear = (map, X, n, Y) => {
  let t = 0;
  for (; t + 4 <= n; t += 4) fourPositions(map, X, t, Y);
  for (; t < n; t++) onePosition(map, X, t, Y);
};

const fourPositions = ({ W, scale, b }, X, t, Y) => {
  const rows = scale.length;
  const width = W.length / rows;
  const x0 = t * width;
  const x1 = x0 + width;
  const x2 = x1 + width;
  const x3 = x2 + width;
  for (let i = 0; i < rows; i++) {
    let s0 = 0;
    let s1 = 0;
    let s2 = 0;
    let s3 = 0;
    const at = i * width;
    for (let j = 0; j < width; j++) {
      const w = W[at + j];
      s0 += w * X[x0 + j];
      s1 += w * X[x1 + j];
      s2 += w * X[x2 + j];
      s3 += w * X[x3 + j];
    }
    const y = t * rows + i;
    Y[y] = s0 * scale[i] + b[i];
    Y[y + rows] = s1 * scale[i] + b[i];
    Y[y + 2 * rows] = s2 * scale[i] + b[i];
    Y[y + 3 * rows] = s3 * scale[i] + b[i];
  }
};

const onePosition = ({ W, scale, b }, X, t, Y) => {
  const rows = scale.length;
  const width = W.length / rows;
  const x = t * width;
  for (let i = 0; i < rows; i += 4) {
    let s0 = 0;
    let s1 = 0;
    let s2 = 0;
    let s3 = 0;
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
    const y = t * rows + i;
    Y[y] = s0 * scale[i] + b[i];
    Y[y + 1] = s1 * scale[i + 1] + b[i + 1];
    Y[y + 2] = s2 * scale[i + 2] + b[i + 2];
    Y[y + 3] = s3 * scale[i + 3] + b[i + 3];
  }
};

/* Each vector minus its mean, divided by its standard deviation, times gain plus shift. */
const EPS = 1e-5;
export const layerNorm = (X, { gain, shift }, n, Y, eps = EPS) => {
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
