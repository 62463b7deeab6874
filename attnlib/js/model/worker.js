/* What the worker answers, so that the page never waits: each message is {id, ask, ...}, each answer {id, ...}. */

const held = {}; // the model, its tokenizer, the mean outputs, the two runs: the whole model and the changed one

const asked = {
  load: ({ config, tokenizer, means, tensors, bytes }) => {
    held.gpt = newGPT(config, tensors, bytes);
    held.tokenizer = newTokenizer(tokenizer);
    held.means = means;
    held.runs = { whole: newRun(held.gpt), changed: null };
    return {};
  },

  vocabulary: () => ({ pieces: pieces([...Array(held.gpt.config.vocab).keys()]) }),

  join: ({ tokens }) => ({ text: held.tokenizer.decode(tokens) }),

  /* Cuts a text; what is too long for the model is left out at its beginning. */
  cut: ({ text, most }) => {
    const tokens = held.tokenizer.encodeOrdinary(text);
    const kept = tokens.slice(Math.max(0, tokens.length - most));
    return { tokens: [held.tokenizer.end, ...kept], pieces: pieces(kept), dropped: tokens.length - kept.length };
  },

  /* Reads the tokens in both runs; what they have in common with those before is kept. */
  read: ({ tokens, off }) => {
    setOff(off);
    follow(held.runs.whole, tokens);
    if (off.length) follow(held.runs.changed, tokens);
    return {};
  },

  /* Everything that the page draws of position t. */
  at: ({ t, off }) => {
    const runs = off.length ? [held.runs.whole, held.runs.changed] : [held.runs.whole];
    return { scores: runs.map((run) => scoresAt(held.gpt, run, t).slice()), lens: likeliestInLens(runs.at(-1), t), weights: weightsAt(runs.at(-1), t) };
  },

  surprise: ({ off }) => ({ bits: (off.length ? ["whole", "changed"] : ["whole"]).map((name) => surprise(held.gpt, held.runs[name])) }),

  /* The share of each head's weight for each kind of mark, over the text so far. */
  heads: ({ off }) => {
    const run = off.length ? held.runs.changed : held.runs.whole;
    const { n_layers, n_heads, context } = held.gpt.config;
    const of = marks(run.tokens, pieces(run.tokens));
    const shares = [];
    for (let l = 0; l < n_layers; l++)
      for (let h = 0; h < n_heads; h++) {
        const row = (t) => (h * context + t) * context;
        shares.push(Object.fromEntries(Object.entries(of).map(([kind, js]) => [kind, share(run.kept[l].P, row, js)])));
      }
    return { shares };
  },

  map: ({ l, h, off }) => {
    const run = off.length ? held.runs.changed : held.runs.whole;
    const n = run.tokens.length;
    const { context } = held.gpt.config;
    return { n, rows: run.tokens.map((_, t) => run.kept[l].P.slice((h * context + t) * context, (h * context + t) * context + n).map((p, j) => (j > t ? 0 : p))) };
  },

  /* Writes on: one token by the settings, in both runs if a part is off, each after its own text. */
  write: ({ name, settings, u }) => {
    const run = held.runs[name];
    if (run.tokens.length >= held.gpt.config.context) return { full: true };
    const S = scoresAt(held.gpt, run, run.tokens.length - 1);
    const token = settings.temperature > 0 ? draw(probabilities(S, settings), u) : greedy(S);
    read(held.gpt, run, [token]);
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
};

const pieces = (tokens) => tokens.map((token) => held.tokenizer.decode([token]));

/* What is off, as ["1.3", "2.network", "0.attention"] with how: the vectors that stand in the parts' places. */
const setOff = (off) => {
  const key = JSON.stringify(off);
  if (key === held.off) return;
  held.off = key;
  held.runs.changed = off.length ? newRun(held.gpt, outOf(off)) : null;
};

const outOf = (off) => {
  const { n_heads } = held.gpt.config;
  return held.means.map((mean, l) => {
    const how = (part) => off.find(([name]) => name === `${l}.${part}`)?.[1];
    const vector = (kind, of) => (kind ? (kind === "mean" ? Float64Array.from(of) : new Float64Array(of.length)) : null);
    const heads = Array.from({ length: n_heads }, (_, h) => vector(how(h) ?? how("attention"), mean.heads[h]));
    return { heads, network: vector(how("network"), mean.network) };
  });
};

const follow = (run, tokens) => {
  let same = 0;
  while (same < run.tokens.length && same < tokens.length && run.tokens[same] === tokens[same]) same++;
  crop(run, same);
  read(held.gpt, run, tokens.slice(same));
};

/* After each block the three likeliest tokens, and the probability of each. */
const likeliestInLens = (run, t) =>
  run.stream.map((_, k) => {
    const P = probabilities(lens(held.gpt, run, k, t));
    return order(P).slice(0, 3).map((token) => [pieces([token])[0], P[token]]);
  });

const weightsAt = (run, t) => {
  const { n_heads, context } = held.gpt.config;
  return run.kept.flatMap(({ P }) => Array.from({ length: n_heads }, (_, h) => P.slice((h * context + t) * context, (h * context + t) * context + t + 1)));
};

onmessage = ({ data: { id, ask, ...given } }) => {
  try {
    postMessage({ id, ...asked[ask](given, (share) => postMessage({ id, share })), done: true });
  } catch (error) {
    postMessage({ id, done: true, error: error.message });
  }
};
