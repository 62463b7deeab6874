/* The whole model backwards: the gradients of one surprise, in bits, of `token` after position t, with respect to every
   number of a run that has kept them. They lie in arrays of the same names and sizes. */

export const surpriseBackward = (model, run, t, token) => {
  const { d_model: d, vocab } = model.config;
  const n = t + 1; // later positions cannot have an effect
  const like = (A) => new Float64Array(A.length);
  const P = probabilities(scoresAt(model, run, t));
  const dS = P.map((p, w) => (p - (w === token)) / Math.LN2);
  const stream = run.stream.map(() => like(run.Z));
  const Z = like(run.Z);
  linearBackward(model.embed, dS, 1, Z.subarray(t * d));
  layerNormBackward(run.stream.at(-1), model.norm, Z, n, stream.at(-1));
  const kept = run.kept.map((one) => Object.fromEntries(Object.entries(one).filter(([, A]) => A.length).map(([name, A]) => [name, like(A)])));
  for (let l = model.blocks.length - 1; l >= 0; l--) {
    Object.assign(kept[l], { Y_2: stream[l + 1], X: stream[l] });
    blockBackward(model.blocks[l], run.stream[l], run.kept[l], n, kept[l], run.out[l]);
  }
  return { t, token, p: P[token], scores: dS, Z, stream, kept };
};
