/* What the worker answers, so that the page never waits: each message is {id, ask, ...}, each answer {id, ...}. */

const held = {}; // the model, its tokenizer, the mean outputs, the two runs: the whole model and the changed one

const asked = {
  load: ({ config, tokenizer, means, heldOut, kinds, breaks, tensors, bytes }) => {
    held.gpt = newGPT(config, tensors, bytes);
    held.tokenizer = newTokenizer(tokenizer);
    Object.assign(held, { means, heldOut, kinds, breaks });
    held.runs = { whole: newRun(held.gpt), changed: null };
    return {};
  },

  vocabulary: () => ({ pieces: pieces([...Array(held.gpt.config.vocab).keys()]), breaks: held.breaks }),

  join: ({ tokens }) => ({ text: held.tokenizer.decode(tokens) }),

  /* Cuts a text; what is too long for the model is left out at its beginning. */
  cut: ({ text, most }) => {
    const tokens = held.tokenizer.encodeOrdinary(text);
    const kept = tokens.slice(Math.max(0, tokens.length - most));
    return { tokens: [held.tokenizer.end, ...kept], pieces: pieces(kept), dropped: tokens.length - kept.length };
  },

  /* Reads the tokens in both runs; what they have in common with those before is kept. Of the text so far come the bits of
     each token in both, and the share of each head's weight for each kind of mark. */
  read: ({ tokens, off }) => {
    setOff(off);
    const runs = runsOf(off);
    runs.forEach((run) => follow(held.gpt, run, tokens));
    const of = Object.entries(marks(tokens, pieces(tokens)));
    const shares = allHeads(held.gpt).map((head) => Object.fromEntries(of.map(([kind, js]) => [kind, share((t) => weightsAt(runs.at(-1), head, t), js)])));
    return { bits: runs.map((run) => surprise(held.gpt, run)), shares };
  },

  /* Everything that the page draws of position t. */
  at: ({ t, off }) => {
    const runs = runsOf(off);
    const weights = allHeads(held.gpt).map((head) => weightsAt(runs.at(-1), head, t).slice());
    return { scores: runs.map((run) => scoresAt(held.gpt, run, t).slice()), lens: likeliestInLens(runs.at(-1), t), weights };
  },

  /* One number of the run that is drawn, with its inputs. */
  unfold: ({ open, most, ...given }) => {
    if (brokenBy(given.off)) return { broken: "Mend the model first: its equations do not hold now." };
    const s = unfoldable(given);
    const address = addressOf(s, open);
    return address ? { ...held.kinds[address[0]], ...unfold(s, address, most) } : { missing: true };
  },

  gradient: ({ open, target, ...given }) => {
    const s = unfoldable(given);
    return { gradient: gradientOf(s, gradients(s, target), addressOf(s, open)) };
  },

  /* What moved the surprise of a token: by the gradient, and with a space where token j was. */
  moved: ({ target, ...given }) => {
    const s = unfoldable(given);
    return { lengths: moved(s, gradients(s, target)) };
  },

  leaveOut: ({ j, target, ...given }) => {
    const s = unfoldable(given);
    s.other ??= newRun(s.model, s.run.out);
    return { bits: leaveOut(s, gradients(s, target), s.other, j, held.tokenizer.encodeOrdinary(" ")[0]) };
  },

  map: ({ head, off }) => {
    const run = runsOf(off).at(-1);
    return { n: run.tokens.length, rows: run.tokens.map((_, t) => weightsAt(run, head, t).slice()) };
  },

  /* Writes on: one token by the settings, in both runs if a part is off, each after its own text. */
  write: ({ name, settings, u }) => {
    const run = held.runs[name];
    if (run.tokens.length >= held.gpt.config.context) return { full: true };
    const S = scoresAt(held.gpt, run, run.tokens.length - 1);
    const token = settings.temperature > 0 ? draw(probabilities(S, settings), u) : greedy(S);
    follow(held.gpt, run, [...run.tokens, token]);
    return { token, piece: pieces([token])[0] };
  },

  /* The surprise of a long text: windows of the whole context, of which the second half is counted (of the first, all). */
  file: ({ tokens }, tell) => {
    const { context } = held.gpt.config;
    const found = [];
    for (let from = 0; found.length < tokens.length - 1; from += context / 2) {
      const run = newRun(held.gpt);
      read(held.gpt, run, tokens.slice(from, from + context));
      found.push(...surprise(held.gpt, run).slice(found.length - from));
      tell(found.length / (tokens.length - 1));
    }
    return { bits: found };
  },

  /* One row of the held-out code, with each head of block l taken out in turn. The runs are not kept: they are large. */
  measure: ({ row, l, how }) => {
    const one = held.heldOut[row];
    const outs = held.means[l].heads.map((_, h) => outOf([[`${l}.${h}`, how]]));
    return { sums: measure(held.gpt, [newRun(held.gpt), newRun(held.gpt)], one, pieces(one.tokens), l, outs), of: held.heldOut.length };
  },
};

/* The whole model's run and, if something is off, the changed one, which is then the one that is drawn. */
const runsOf = (off) => (off.length ? [held.runs.whole, held.runs.changed] : [held.runs.whole]);

/* The run that is drawn, read once more with everything kept that it computes; and the gradients of one surprise in it. */
const unfoldable = ({ tokens, off, settings }) => {
  const key = JSON.stringify([tokens, off]);
  if (held.unfolded !== key) {
    const run = newRun(held.gpt, outOf(off), true);
    read(held.gpt, run, tokens);
    held.state = newState(held.gpt, run, settings, (token) => pieces([token])[0]);
    held.unfolded = key;
  }
  return Object.assign(held.state, { settings });
};

const gradients = (s, target) => {
  if (String(target) !== s.target) Object.assign(s, { target: String(target), G: surpriseBackward(s.model, s.run, ...target) });
  return s.G;
};

const pieces = (tokens) => tokens.map((token) => held.tokenizer.decode([token]));

/* What is off, as ["1.3", "2.network", "0.attention"] with how: the vectors that stand in the parts' places. */
const setOff = (off) => {
  const key = JSON.stringify(off);
  if (key === held.off) return;
  held.off = key;
  held.runs.changed = off.length ? newRun(held.gpt, outOf(off), false, brokenBy(off)) : null;
};

const brokenBy = (off) => off.find(([, how]) => how === "break")?.[0];

const outOf = (off) => {
  const { n_heads } = held.gpt.config;
  return held.means.map((mean, l) => {
    const how = (part) => off.find(([name]) => name === `${l}.${part}`)?.[1];
    const vector = (kind, of) => (kind ? (kind === "mean" ? Float64Array.from(of) : new Float64Array(of.length)) : null);
    const heads = Array.from({ length: n_heads }, (_, h) => vector(how(h) ?? how("attention"), mean.heads[h]));
    return { heads, network: vector(how("network"), mean.network) };
  });
};

/* After each block the three likeliest tokens, and the probability of each. */
const likeliestInLens = (run, t) =>
  run.stream.map((_, k) => {
    const P = probabilities(lens(held.gpt, run, k, t));
    return order(P).slice(0, 3).map((token) => [pieces([token])[0], P[token], token]);
  });

onmessage = ({ data: { id, ask, ...given } }) => {
  try {
    postMessage({ id, ...asked[ask](given, (share) => postMessage({ id, share })), done: true });
  } catch (error) {
    postMessage({ id, done: true, error: error.message });
  }
};
