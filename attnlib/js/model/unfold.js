/* Every number of a run, unfolded: the numbers from which it was computed, each of which unfolds in turn. A number has an
   address, its kind and where it stands: S.2.1.41.37 is the score of head 2.1 from position 41 to position 37. */

/* A state: a run that keeps all it computes, the settings with which the page draws, the text of a token, and the sizes. */
export const newState = (model, run, settings, piece) => {
  const { d_model: d, n_heads, context, n_layers: last, vocab } = model.config;
  return { model, run, settings, piece, d, width: d / n_heads, context, last, vocab, early: {} };
};

/* What tokens, positions and numbers are called. */
export const seen = (piece) => piece.replace(/\n/g, "↵").replace(/\t/g, "⇥").replace(/^ +| +$/g, (spaces) => "·".repeat(spaces.length)).replace(/[\x00-\x1f\x7f]/g, "�") || "·";
const quoted = (s, w) => {
  if (!(w < s.vocab)) throw new RangeError("no token");
  return `“${seen(s.piece(w))}”`;
};
const position = (s, t) => (t ? `${t} ${quoted(s, s.run.tokens[t])}` : "0, the start");
const after = (s, k, t, w) => `${quoted(s, w)} after position ${position(s, t)}${k < s.last ? `, read before block ${k}` : ""}`;
const afterAll = (s, t, w) => after(s, s.last, t, w);
const ofPosition = (s, i, t, more) => `number ${i} of position ${position(s, t)}${more}`;
const inBlock = (s, l, t, i) => ofPosition(s, i, t, `, block ${l}`);
const ofHead = (s, l, h, t, c) => ofPosition(s, c, t, `, head ${l}.${h}`);
const fromTo = (s, l, h, t, j) => `head ${l}.${h}, from position ${position(s, t)} to ${position(s, j)}`;
const normName = (s, l, n) => (n ? `, norm ${n} of block ${l}` : `, the last norm${l < s.last ? `, read before block ${l}` : ""}`);

const inNorm = (s, l, n, i) => `number ${i}${normName(s, l, n)}`;

/* Learned matrices and norms by name. */
const matrix = ({ model }, l, name) => ({ E: model.embed, places: model.places })[name] ?? model.blocks[l].attention[name] ?? model.blocks[l].feed_forward[name];
const normOf = ({ model }, l, n) => (n ? model.blocks[l][`norm_${n}`] : model.norm);

/* The vector that a norm reads, its mean and its variance. Norm 0 is the last one, here of the stream before block l. */
const vectorOf = ({ run, d }, l, n, t) => (n === 2 ? run.kept[l].X_1 : run.stream[l]).subarray(t * d, (t + 1) * d);
const meanOf = (x) => x.reduce((a, b) => a + b) / x.length;
const varianceOf = (x, mean = meanOf(x)) => meanOf(x.map((one) => (one - mean) ** 2));
const scoresOf = ({ model, run, last, early }, k, t) => (k === last ? scoresAt(model, run, t) : (early[[k, t]] ??= lens(model, run, k, t)));

/* The address of a number of the stream: before block l, or (half = 1) after its attention. */
const inStream = (half, l, t, i) => (half || l ? ["X", half, l, t, i] : ["embedding", t, i]);
/* A sum of n products; `a` and `b` give the addresses of the factors. */
const products = (n, heads, a, b, label = String) => ({ n, heads: [...heads, "product"], label, at: (i) => [a(i), b(i)], each: (x, w) => x * w });
/* A number of what a matrix computes: its row i times the vector, plus number i of the bias. */
const mapped = (l, name, i, n, letter, x) => ({ given: [["b_i", "b", l, name, i]], terms: products(n, [letter, `W_i${letter.at(-1)}`], x, (j) => ["W", l, name, i, j]) });

const projection = (letter) => ({
  where: ofHead,
  stored: (r, s, l, h, t, c) => r.kept[l][letter][t * s.d + h * s.width + c],
  inputs: (s, l, h, t, c) => mapped(l, `W_${letter}`, h * s.width + c, s.d, "z_j", (j) => ["Z", l, 1, t, j]),
});
const learned = (where, value) => ({ where, value, inputs: () => ({ given: [] }) });

/* The table of kinds; what the page says of each is in `attnlib/js/kinds.py`. `stored` finds a number in the arrays of a run,
   and its gradient in the same arrays of gradients; `value` computes what is not stored. `inputs` are given singly,
   [letter, kind, where ...] or [letter, number], or are the terms of a sum. */
export const KINDS = {
  bits: {
    where: afterAll,
    value: (s, t, w) => bits(scoresOf(s, s.last, t), w),
    inputs: (s, t, w) => ({ given: [["p_w", "p", s.last, t, w]] }),
  },
  draw: {
    where: afterAll,
    value: (s, t, w) => probabilities(scoresOf(s, s.last, t), s.settings)[w],
    inputs: (s, t, w) => {
      const [T, P] = [s.settings.temperature, probabilities(scoresOf(s, s.last, t), s.settings)];
      const kept = [...P.keys()].filter((v) => P[v] > 0);
      return { given: [["z_w", "z", s.last, t, w], ["T", T]], terms: { n: kept.length, heads: ["z_v", "exp(z_v / T)"], label: (i) => quoted(s, kept[i]), at: (i) => [["z", s.last, t, kept[i]]], each: (z) => Math.exp(z / T) } };
    },
  },
  p: {
    where: after,
    value: (s, k, t, w) => 2 ** -bits(scoresOf(s, k, t), w),
    inputs: (s, k, t, w) => ({ given: [["z_w", "z", k, t, w]], terms: { n: s.vocab, heads: ["z_v", "exp(z_v)"], label: (v) => quoted(s, v), at: (v) => [["z", k, t, v]], each: Math.exp } }),
  },
  z: {
    where: after,
    value: (s, k, t, w) => scoresOf(s, k, t)[w],
    inputs: (s, k, t, w) => ({ given: [], terms: products(s.d, ["y_i", "E_wi"], (i) => ["Z", k, 0, t, i], (i) => ["W", 0, "E", w, i]) }),
  },
  Z: {
    where: (s, l, n, t, i) => ofPosition(s, i, t, normName(s, l, n)),
    value: (s, l, n, t, i) => {
      const [x, { gain, shift }] = [vectorOf(s, l, n, t), normOf(s, l, n)];
      return n ? s.run.kept[l][`Z_${n}`][t * s.d + i] : ((x[i] - meanOf(x)) / Math.sqrt(varianceOf(x) + EPS)) * gain[i] + shift[i];
    },
    inputs: (s, l, n, t, i) => ({ given: [["x_i", ...inStream(n === 2 ? 1 : 0, l, t, i)], ["μ", "mean", l, n, t], ["σ²", "variance", l, n, t], ["ε", EPS], ["γ_i", "gain", l, n, i], ["β_i", "shift", l, n, i]] }),
  },
  mean: {
    where: (s, l, n, t) => `position ${position(s, t)}${normName(s, l, n)}`,
    value: (s, l, n, t) => meanOf(vectorOf(s, l, n, t)),
    inputs: (s, l, n, t) => ({ given: [["d", s.d]], terms: { n: s.d, heads: ["x_i"], label: String, at: (i) => [inStream(n === 2 ? 1 : 0, l, t, i)], each: (x) => x } }),
  },
  variance: {
    where: (...at) => KINDS.mean.where(...at),
    value: (s, l, n, t) => varianceOf(vectorOf(s, l, n, t)),
    inputs: (s, l, n, t) => {
      const [{ given, terms }, mean] = [KINDS.mean.inputs(s, l, n, t), KINDS.mean.value(s, l, n, t)];
      return { given: [["μ", "mean", l, n, t], ...given], terms: { ...terms, heads: ["x_i", "(x_i − μ)²"], each: (x) => (x - mean) ** 2 } };
    },
  },
  embedding: {
    where: (s, t, i) => ofPosition(s, i, t, ""),
    stored: (r, s, t, i) => r.stream[0][t * s.d + i],
    inputs: (s, t, i) => ({ given: [["E_wi", "W", 0, "E", s.run.tokens[t], i], ["P_ti", "W", 0, "places", t, i]] }),
  },
  X: {
    where: (s, half, l, t, i) => ofPosition(s, i, t, half ? `, block ${l}, after attention` : `, after block ${l - 1}`),
    stored: (r, s, half, l, t, i) => (half ? r.kept[l].X_1 : r.stream[l])[t * s.d + i],
    inputs: (s, half, l, t, i) => ({ given: [["r_i", ...(half ? inStream(0, l, t, i) : inStream(1, l - 1, t, i))], half ? ["y_i", "attended", l, t, i] : ["y_i", "network", l - 1, t, i]] }),
  },
  attended: {
    where: inBlock,
    stored: (r, s, l, t, i) => r.kept[l].Y_1[t * s.d + i],
    inputs: (s, l, t, i) => mapped(l, "W_O", i, s.d, "o_c", (c) => ["O", l, Math.floor(c / s.width), t, c % s.width]),
  },
  O: {
    where: ofHead,
    stored: (r, s, l, h, t, c) => r.kept[l].O[t * s.d + h * s.width + c],
    inputs: (s, l, h, t, c) => ({ given: [], terms: products(t + 1, ["p_j", "v_jc"], (j) => ["P", l, h, t, j], (j) => ["V", l, h, j, c], (j) => position(s, j)) }),
  },
  P: {
    where: fromTo,
    stored: (r, s, l, h, t, j) => r.kept[l].P[(h * s.context + t) * s.context + j],
    inputs: (s, l, h, t, j) => ({ given: [["s_j", "S", l, h, t, j]], terms: { n: t + 1, heads: ["s_l", "exp(s_l)"], label: (i) => position(s, i), at: (i) => [["S", l, h, t, i]], each: Math.exp } }),
  },
  S: {
    where: fromTo,
    stored: (r, s, l, h, t, j) => r.kept[l].S[(h * s.context + t) * s.context + j],
    inputs: (s, l, h, t, j) => ({ given: [["d_k", s.width]], terms: products(s.width, ["q_c", "k_jc"], (c) => ["Q", l, h, t, c], (c) => ["K", l, h, j, c]) }),
  },
  Q: projection("Q"),
  K: projection("K"),
  V: projection("V"),
  A: {
    where: inBlock,
    stored: (r, s, l, t, i) => r.kept[l].A[4 * t * s.d + i],
    inputs: (s, l, t, i) => mapped(l, "W_1", i, s.d, "z_j", (j) => ["Z", l, 2, t, j]),
  },
  H: {
    where: inBlock,
    stored: (r, s, l, t, i) => r.kept[l].H[4 * t * s.d + i],
    inputs: (s, l, t, i) => ({ given: [["a", "A", l, t, i]] }),
  },
  network: {
    where: inBlock,
    stored: (r, s, l, t, i) => r.kept[l].Y_2[t * s.d + i],
    inputs: (s, l, t, i) => mapped(l, "W_2", i, 4 * s.d, "h_j", (j) => ["H", l, t, j]),
  },
  W: {
    where: (s, l, name, i, j) => (name === "E" ? `number ${j} of the embedding of ${quoted(s, i)}` : name === "places" ? `number ${j} of the vector of position ${i}` : `row ${i}, column ${j} of ${name}, block ${l}`),
    value: (s, l, name, i, j) => {
      const { W, scale } = matrix(s, l, name);
      return W[(i * W.length) / scale.length + j] * scale[i];
    },
    inputs: (s, l, name, i, j) => {
      const { W, scale } = matrix(s, l, name);
      return { given: [["n", W[(i * W.length) / scale.length + j]], ["r", scale[i]]] };
    },
  },
  b: learned((s, l, name, i) => `number ${i} of the bias of ${name}, block ${l}`, (s, l, name, i) => matrix(s, l, name).b[i]),
  gain: learned(inNorm, (s, l, n, i) => normOf(s, l, n).gain[i]),
  shift: learned(inNorm, (s, l, n, i) => normOf(s, l, n).shift[i]),
};

export const valueOf = (s, [kind, ...at]) => (KINDS[kind].stored ? KINDS[kind].stored(s.run, s, ...at) : KINDS[kind].value(s, ...at));

/* What the page shows of one number. Of a long sum come the terms that are largest in size, `most` of them. */
export const unfold = (s, address, most = Infinity) => {
  const [kind, ...at] = address;
  const shown = (one) => ({ value: valueOf(s, one), open: one.join(".") });
  const { given, terms } = KINDS[kind].inputs(s, ...at);
  const found = { kind, where: KINDS[kind].where(s, ...at), value: valueOf(s, address), given: [], terms: null };
  const taken = kind === "O" ? s.run.out[at[0]].heads[at[1]] : kind === "network" && s.run.out[at[0]].network;
  if (taken) return { ...found, taken: true };
  found.given = given.map(([letter, ...one]) => ({ letter, ...(one.length > 1 ? shown(one) : { value: one[0] }) }));
  if (!terms) return found;
  const rows = Array.from({ length: terms.n }, (_, i) => {
    const cells = terms.at(i).map(shown);
    return { i, cells, term: terms.each(...cells.map((cell) => cell.value)) };
  });
  const sum = rows.reduce((total, row) => total + row.term, 0);
  const top = rows.sort((a, b) => Math.abs(b.term) - Math.abs(a.term)).slice(0, most);
  return { ...found, terms: { n: terms.n, heads: terms.heads, sum, rows: top.map(({ i, ...row }) => ({ label: terms.label(i), ...row })) } };
};

/* An address as the page writes it, or null where this run has no such number. */
export const addressOf = (s, text) => {
  const address = text.split(".").map((word) => (/^\d+$/.test(word) ? Number(word) : word));
  const later = "PS".includes(address[0]) && address[4] > address[3]; // what the mask hides
  try {
    return !later && Number.isFinite(valueOf(s, address)) && KINDS[address[0]].where(s, ...address.slice(1)) ? address : null;
  } catch {
    return null;
  }
};
