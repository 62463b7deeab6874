/* A GPT: embedding and position, blocks, a last norm, and a score for each token of the vocabulary. */

/* The parameters by name, `{W, b}` for a map and `{gain, shift}` for a norm, from the file that the build has made. */
export const newGPT = (config, tensors, bytes) => {
  const named = Object.fromEntries(tensors.map((one) => [one.name, arrayOf(one, bytes)]));
  const map = (name) => ({ ...named[`${name}.weight`], b: named[`${name}.bias`] });
  const norm = (name) => ({ gain: named[`${name}.weight`], shift: named[`${name}.bias`] });
  const layer = (l) => ({
    norm_1: norm(`blocks.${l}.norm_1`),
    attention: Object.fromEntries(["W_Q", "W_K", "W_V", "W_O"].map((W) => [W, map(`blocks.${l}.attention.${W}`)])),
    norm_2: norm(`blocks.${l}.norm_2`),
    feed_forward: Object.fromEntries(["W_1", "W_2"].map((W) => [W, map(`blocks.${l}.feed_forward.${W}`)])),
  });
  return {
    config,
    embed: { ...named["embed.weight"], b: new Float32Array(config.vocab) }, // the scores have no bias
    places: named["places.weight"],
    blocks: Array.from({ length: config.n_layers }, (_, l) => layer(l)),
    norm: norm("norm"),
  };
};

/* A matrix is integers with a scale for each row; a vector is stored as it is. */
const arrayOf = ({ shape: [rows, width], at, scales }, bytes) => {
  const floats = (from) => new Float32Array(bytes.slice(from, from + 4 * rows));
  return width ? { W: new Int8Array(bytes, at, rows * width), scale: floats(scales) } : floats(at);
};

const rowOf = ({ W, scale }, i, d) => Float64Array.from(W.subarray(i * d, (i + 1) * d), (w) => w * scale[i]);

/* One text that is being read: its tokens, the kept keys and values, the weights, and the stream before and after each
   block. `out[l]` says what is taken out of block l: `{heads: [vector or nothing, ...], network: vector or nothing}`. A `whole` run keeps all that it computes, in 64 bits; it has to be read at once, and so has one that is `broken` by the lack of a
   mask. */
export const newRun = ({ config }, out = [], whole = false, broken = "") => {
  const { n_layers, n_heads, d_model, context } = config;
  const floats = (n) => (whole ? new Float64Array(n) : new Float32Array(n));
  const S = () => (whole ? { S: floats(n_heads * context * context) } : {});
  const kept = () => ({ heads: n_heads, context, K: floats(context * d_model), V: floats(context * d_model), P: floats(n_heads * context * context), ...S() });
  return {
    whole,
    broken,
    tokens: [],
    out: Array.from({ length: n_layers }, (_, l) => out[l] ?? { heads: [], network: null }),
    kept: Array.from({ length: n_layers }, kept),
    stream: Array.from({ length: n_layers + 1 }, () => floats(context * d_model)),
    scores: floats(context * config.vocab),
  };
};

/* Reads on: the scores at the new positions are then in `run.scores`. */
export const read = (model, run, tokens) => {
  const { d_model: d, context } = model.config;
  const first = run.tokens.length;
  const n = tokens.length;
  if (!n) return;
  if (first + n > context) throw new Error(`The model reads at most ${context} tokens; these would be ${first + n}.`);
  const work = workspace(model, n);
  Object.assign(work, { whole: run.whole, broken: run.broken });
  tokens.forEach((token, t) => {
    const [what, where] = [rowOf(model.embed, token, d), rowOf(model.places, Math.min(context - 1, first + t + (run.broken === "late")), d)];
    work.X.set(what.map((x, i) => x + where[i]), t * d);
  });
  run.stream[0].set(work.X, first * d);
  through(model, run, n, first, 0, work);
  run.tokens.push(...tokens);
};

/* The stream through the blocks from number `from` on, and from there to the scores. */
const through = (model, run, n, first, from, work) => {
  const { d_model: d, vocab } = model.config;
  for (let l = from; l < model.blocks.length; l++) {
    block(model.blocks[l], work.X, n, first, run.kept[l], run.out[l], work);
    run.stream[l + 1].set(work.X, first * d);
  }
  if (run.broken === "last") work.Z.set(work.X);
  else normed(work.X, model.norm, n, work.Z, run.broken);
  remember(work, run, { Z: work.Z });
  linear(model.embed, work.Z, n, run.scores.subarray(first * vocab));
};

/* Reads what another run has read, from block `from` on: up to there nothing is taken out, so nothing differs. */
export const readAfter = (model, run, other, from) => {
  const n = other.tokens.length;
  const work = workspace(model, n);
  work.X.set(other.stream[from].subarray(0, n * model.config.d_model));
  through(model, run, n, 0, from, work);
  run.tokens = [...other.tokens];
};

/* What a step needs beside what it keeps; that of one token is used again for the next. */
const workspace = (model, n) => {
  if (n === 1 && model.work) return model.work;
  const d = model.config.d_model;
  const floats = (width) => new Float64Array(n * width);
  const work = { X: floats(d), Z: floats(d), Q: floats(d), O: floats(d), Y: floats(d), hidden: floats(model.blocks[0].feed_forward.W_1.b.length) };
  work.X.positions = n;
  if (n === 1) model.work = work;
  return work;
};

/* Forgets all but the first n tokens. */
export const crop = (run, n) => {
  run.tokens.length = Math.min(n, run.tokens.length);
};

/* Reads these tokens and no others; what a run has in common with what it has read is kept. */
export const follow = (model, run, tokens) => {
  let same = 0;
  while (run.broken !== "mask" && same < run.tokens.length && same < tokens.length && run.tokens[same] === tokens[same]) same++;
  crop(run, same);
  read(model, run, tokens.slice(same));
};

/* The scores after position t. */
export const scoresAt = ({ config: { vocab } }, run, t) => run.scores.subarray(t * vocab, (t + 1) * vocab);

/* The weights of head h of block l at position t, one for each position that it reads. */
export const weightsAt = ({ kept, broken, tokens }, [l, h], t) => {
  const { P, context } = kept[l];
  const row = (h * context + t) * context;
  return P.subarray(row, row + (broken === "mask" ? tokens.length : t + 1));
};

/* All heads, as [block, head]. */
export const allHeads = ({ config }) => [...Array(config.n_layers * config.n_heads).keys()].map((i) => [Math.floor(i / config.n_heads), i % config.n_heads]);

/* The logit lens: the scores if the stream were read after k blocks. */
export const lens = (model, run, k, t) => {
  const d = model.config.d_model;
  const [Z, S] = [new Float64Array(d), new Float64Array(model.config.vocab)];
  const X = run.stream[k].subarray(t * d, (t + 1) * d);
  if (run.broken === "last") Z.set(X);
  else normed(X, model.norm, 1, Z, run.broken);
  linear(model.embed, Z, 1, S);
  return S;
};

/* -log2 of the probability that the model gave to each token, the first left out. */
export const surprise = (model, run) => run.tokens.slice(1).map((token, t) => bits(scoresAt(model, run, t), token));

export const bits = (S, token) => {
  let largest = -Infinity;
  for (const s of S) largest = Math.max(largest, s);
  let total = 0;
  for (const s of S) total += Math.exp(s - largest);
  return (Math.log(total) + largest - S[token]) / Math.LN2;
};
