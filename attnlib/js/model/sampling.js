/* From scores to the next token: temperature, top-k, nucleus, and a draw. The rules are those of `attnlib.nn.sampling`. */

/* The probability of each token; those that are left out have zero. */
export const probabilities = (S, { temperature = 1, topK = Infinity, nucleus = 1 } = {}) => {
  let scores = Float64Array.from(S, (s) => s / temperature);
  if (topK < scores.length) scores = keepTopK(scores, topK);
  if (nucleus < 1) scores = keepNucleus(scores, nucleus);
  softmaxInPlace(scores, 0, scores.length);
  return scores;
};

/* The k highest scores and those equal to the k-th; the others become -Infinity. */
export const keepTopK = (S, k) => {
  const border = Float64Array.from(S).sort()[S.length - k];
  return S.map((s) => (s < border ? -Infinity : s));
};

/* The fewest tokens that together have probability p or more. */
export const keepNucleus = (S, p) => {
  const P = Float64Array.from(S);
  softmaxInPlace(P, 0, P.length);
  let before = 0;
  const kept = new Float64Array(S.length).fill(-Infinity);
  for (const i of order(P)) {
    if (before >= p) break;
    kept[i] = S[i];
    before += P[i];
  }
  return kept;
};

/* The tokens from the likeliest down; of equal ones the lower number first. */
export const order = (P) => [...P.keys()].sort((a, b) => P[b] - P[a] || a - b);

/* The first token at which the sum of the probabilities exceeds u. */
export const draw = (P, u) => {
  let [sum, last] = [0, 0];
  for (let i = 0; i < P.length; i++) {
    sum += P[i];
    if (P[i] > 0) last = i;
    if (sum > u) return i;
  }
  return last;
};

export const greedy = (S) => {
  let best = 0;
  for (let i = 1; i < S.length; i++) if (S[i] > S[best]) best = i;
  return best;
};

/* The u of draw number i of a seed, from 0 to 1: the same in every browser, so that an address can name it. */
export const uniform = (seed, i) => {
  let x = Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(i + 1, 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return ((x ^ (x >>> 15)) >>> 0) / 2 ** 32;
};
