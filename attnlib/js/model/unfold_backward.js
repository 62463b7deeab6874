/* The gradient of one surprise with respect to any number that unfolds. `G` is what `surpriseBackward` has returned: most
   gradients stand in its arrays, where the number stands in the run's. */

/* The arrays that each matrix reads and writes. */
const USES = { W_Q: ["Z_1", "Q"], W_K: ["Z_1", "K"], W_V: ["Z_1", "V"], W_O: ["O", "Y_1"], W_1: ["Z_2", "A"], W_2: ["H", "Y_2"] };

const gradientsOfNorm = (s, G, l, n) => (n ? G.kept[l][`Z_${n}`] : l === s.last ? G.Z : null); // null: of the logit lens
/* A parameter is used at every position: its gradients add up. */
const overPositions = (G, of) => {
  let total = 0;
  for (let t = 0; t <= G.t; t++) total += of(t);
  return total;
};
/* The same over the numbers of the vector that a norm has made at position t; `of` gets number i and its gradient. */
const overVector = (s, G, l, n, t, of) => {
  const [dZ, { gain }] = [gradientsOfNorm(s, G, l, n), normOf(s, l, n)];
  return dZ ? gain.reduce((total, one, i) => total + of(i, dZ[t * s.d + i] * one), 0) : 0;
};
const spread = (s, l, n, t) => Math.sqrt(varianceOf(vectorOf(s, l, n, t)) + EPS);

const DERIVATIVES = {
  bits: (s, G, t, w) => (t === G.t && w === G.token ? 1 : 0),
  draw: () => 0,
  p: (s, G, k, t, w) => (k === s.last ? -DERIVATIVES.bits(s, G, t, w) / (G.p * Math.LN2) : 0),
  z: (s, G, k, t, w) => (k === s.last && t === G.t ? G.scores[w] : 0),
  Z: (s, G, l, n, t, i) => gradientsOfNorm(s, G, l, n)?.[t * s.d + i] ?? 0,
  mean: (s, G, l, n, t) => overVector(s, G, l, n, t, (_, g) => -g) / spread(s, l, n, t),
  variance: (s, G, l, n, t) => {
    const x = vectorOf(s, l, n, t);
    const mean = meanOf(x);
    return overVector(s, G, l, n, t, (i, g) => g * (mean - x[i])) / (2 * spread(s, l, n, t) ** 3);
  },
  W: (s, G, l, name, i, j) => {
    if (name === "places") return G.stream[0][i * s.d + j] ?? 0;
    if (name === "E") return overPositions(G, (t) => (s.run.tokens[t] === i ? G.stream[0][t * s.d + j] : 0)) + G.scores[i] * s.run.Z[G.t * s.d + j];
    const { W, scale } = matrix(s, l, name);
    const [X, dY] = [s.run.kept[l][USES[name][0]], G.kept[l][USES[name][1]]];
    return overPositions(G, (t) => dY[t * scale.length + i] * X[(t * W.length) / scale.length + j]);
  },
  b: (s, G, l, name, i) => overPositions(G, (t) => G.kept[l][USES[name][1]][t * matrix(s, l, name).b.length + i]),
  gain: (s, G, l, n, i) => overPositions(G, (t) => {
    const [k, x] = [n ? l : s.last, vectorOf(s, n ? l : s.last, n, t)]; // the logit lens has the gain of the last norm
    return (DERIVATIVES.Z(s, G, k, n, t, i) * (x[i] - meanOf(x))) / spread(s, k, n, t);
  }),
  shift: (s, G, l, n, i) => overPositions(G, (t) => DERIVATIVES.Z(s, G, n ? l : s.last, n, t, i)),
};

export const gradientOf = (s, G, [kind, ...at]) => (KINDS[kind].stored ? KINDS[kind].stored(G, s, ...at) : DERIVATIVES[kind](s, G, ...at));

/* For each position up to that of the surprise: the length of the gradient at its embedding times the embedding, number by
   number. */
export const moved = (s, G) =>
  Array.from({ length: G.t + 1 }, (_, j) => Math.hypot(...s.run.stream[0].subarray(j * s.d, (j + 1) * s.d).map((x, i) => x * G.stream[0][j * s.d + i])));

/* Leave-one-out: how many bits the surprise rises if position j has another token instead. `other` is a run for it. */
export const leaveOut = (s, G, other, j, neutral) => {
  const tokens = s.run.tokens.slice(0, G.t + 1);
  tokens[j] = neutral;
  follow(s.model, other, tokens);
  return bits(scoresAt(s.model, other, G.t), G.token) + Math.log2(G.p);
};
