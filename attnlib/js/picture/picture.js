/* The picture: a button that asks for the model; then a text that can be written on and looked into. */
const EXAMPLES = [
  ["class Queue:\n    def __init__(self, items):\n        self.items = list(items)\n\n    def put(self, item):\n        self.items.append(item", "an open bracket"],
  ["def mean(numbers):\n    total = 0\n    for number in numbers:\n        total += number\n    return total / len(", "the name of a variable"],
  ["import os\nimport re\nimport", "imports"],
  ["def read(path):\n    with open(path) as file:\n        return file.", "what a file can do"],
];
const COUNT = 20; // tokens that one press writes

const mountPicture = (root) => {
  const line = make("p", { class: "ig-ask" });
  const ask = button("Load the model (3.8 MB) and use it here", async () => {
    ask.disabled = true;
    const bar = make("progress", { max: 1, "aria-label": "How much of the model has arrived" });
    line.append(bar);
    try {
      const worker = await loadModel(root.dataset.model, Number(root.dataset.size), (share) => (bar.value = share));
      line.remove();
      await livePicture(root, worker);
      root.dataset.ready = "true";
    } catch (error) {
      ask.disabled = false;
      bar.replaceWith(make("span", { role: "status" }, ` ${error.message}`));
    }
  });
  line.append(ask);
  root.append(line);
};

const livePicture = async (root, ask) => {
  const state = { ...START, text: EXAMPLES[0][0], ...fromAddress(location.hash) };
  const { model } = insideGPT;
  let view = { tokens: [], pieces: [], bits: [[]], shares: [], at: null, vocabulary: [] };
  const { pieces: vocabulary, breaks } = await ask("vocabulary");
  view.vocabulary = vocabulary;
  let version = 0;
  let writing = false;

  /* ---- What stands in it ---- */
  const said = make("p", { class: "ig-said", "aria-live": "polite" });
  const area = make("textarea", { rows: 7, spellcheck: "false", autocapitalize: "off", "aria-label": "The text that the model reads" });
  const strip = tokenStrip((t) => choose(t));
  const [bits, bars, weights, map, lens, other, file] = Array.from({ length: 7 }, () => make("div"));
  const heads = make("div", { class: "ig-heads", role: "group", "aria-label": "Heads" });
  const asMap = fold("The map of this head", map);
  const write = button(`Write ${COUNT} tokens`, () => writeOn(COUNT));
  const one = button("Write one", () => writeOn(1));
  const again = button("Start again", () => {
    Object.assign(state, START, { text: EXAMPLES[0][0], off: [] });
    sliders.forEach(([name, s]) => s.set(state[name]));
    kind.set(state.kind);
    typed(state.text);
  });
  const example = choice("Example", EXAMPLES.map(([, name], i) => [String(i), name]), "0", (i) => typed(EXAMPLES[i][0]));
  const kind = choice("Sorted by weight on the", ["previous token", "first token", "same token before", "opening bracket", "line start"].map((name) => [name, name]), state.kind, (name) => {
    state.kind = name;
    drawHeads();
  });
  const setting = (name, label, range, say) => [name, slider(label, range, state[name], say, (value) => {
    state[name] = value;
    drawBars();
  })];
  const sliders = [
    setting("temperature", "Temperature", [0, 2, 0.05], (x) => (x ? x.toFixed(2) : "0, greedy")),
    setting("topK", "Top-k", [0, 50, 1], (x) => (x ? String(x) : "all")),
    setting("nucleus", "Nucleus", [0.05, 1, 0.05], (x) => (x < 1 ? x.toFixed(2) : "all")),
    setting("seed", "Seed", [0, 99, 1], String),
  ];
  const parts = partSwitches(state, () => update());
  const broken = breaking(state, () => update(), breaks);
  const input = make("input", { type: "file", accept: ".py,text/*" });
  const take = ({ files }) => files[0] && readFile(file, ask, files[0]);
  input.addEventListener("change", () => take(input));
  /* What the worker has to know to open a number: the text, what is off, and the token whose surprise has the gradients. */
  const given = () => {
    const [t, { tokens, pieces, vocabulary, shown }] = [place(), view];
    return { tokens, pieces, off: state.off, settings: settingsOf(state), target: [t, shown.target], what: `“${seen(vocabulary[shown.target])}”` };
  };
  const section = (title, ...children) => make("section", {}, make("h3", {}, title), ...children);
  root.append(
    make("div", { class: "ig", role: "group", "aria-label": "The course's model, in this page" },
      area, make("div", { class: "ig-row" }, write, one, again, example.element), said, strip.box, fold("The tokens as a table", bits),
      make("div", { class: "ig-columns" },
        section("What comes next", bars, ...sliders.map(([, s]) => s.element)),
        section("Where it attends", kind.element, heads, fold("The weights as a table", weights), asMap),
        section("Read early: the logit lens", lens),
        section("Take a part out", parts.element, other),
        section("Break it", broken.element)),
      section("Which tokens moved the surprise", comparing(ask, given)),
      section("Measure over held-out code", measuring(ask, parts.how)),
      section("A file of your own", make("label", {}, "A Python file (or drop it here): ", input), file)),
  );
  root.addEventListener("dragover", (event) => event.preventDefault());
  root.addEventListener("drop", (event) => {
    event.preventDefault();
    take(event.dataTransfer);
  });

  /* ---- What it does ---- */
  const place = () => (state.t < 0 ? view.tokens.length - 1 : Math.min(state.t, view.tokens.length - 1));
  const drawBars = () => {
    const t = place();
    const u = model.uniform(state.seed, t);
    view.shown = showBars(bars, view.at.scores, state, (token) => view.vocabulary[token], u, view.tokens[t + 1], t);
    remember();
  };
  const drawHeads = () => {
    showHeads(heads, view.shares, state, (head) => {
      state.head = head;
      drawHeads();
      drawWeights();
      heads.querySelector("[aria-pressed=true]").focus();
    });
    remember();
  };
  const drawWeights = async () => {
    const head = state.head.split(".").map(Number);
    const row = view.at.weights[4 * head[0] + head[1]];
    strip.connect(row);
    showWeights(weights, row, view.pieces, `${state.head}.${place()}`);
    if (asMap.open) showMap(map, await ask("map", { head, off: state.off }), view.pieces, choose);
  };
  asMap.addEventListener("toggle", () => asMap.open && drawWeights());
  const remember = () => history.replaceState(null, "", toAddress(state));
  const sum = (bits) => bits.reduce((a, b) => a + b, 0);
  const tell = (note = "") => {
    const t = place();
    const bytes = new TextEncoder().encode(view.pieces.slice(1).join("")).length;
    const rates = view.bits.map((bits) => (bytes ? (sum(bits) / bytes).toFixed(2) : "0"));
    const off = state.off.length ? ` ${isBroken(state) ? `With ${breaks[state.off[0][0]].name}` : `Without ${state.off.map(([name]) => name).join(", ")}`} it costs ${rates[1]}.` : "";
    const best = view.shown.top[0];
    broken.show((sum(view.bits.at(-1)) - sum(view.bits[0])) / (bytes || 1));
    said.textContent = `${note}${view.tokens.length - 1} tokens, ${rates[0]} bits a byte.${off} After “${t ? seen(view.pieces[t]) : "the start"}” the likeliest is “${seen(view.vocabulary[best])}” (${percent(view.shown.P[best])}).`;
  };
  const look = async (note) => {
    const mine = ++version;
    const at = await ask("at", { t: place(), off: state.off });
    if (mine !== version) return;
    view.at = at;
    strip.select(place());
    drawBars();
    showLens(lens, at.lens, place());
    await drawWeights();
    tell(note);
  };
  const choose = (t) => {
    state.t = t === view.tokens.length - 1 ? -1 : t;
    return look();
  };
  /* The tokens have changed, or what is off. */
  const update = async (note) => {
    const mine = ++version;
    const { tokens, off } = { tokens: view.tokens, off: state.off };
    const found = await ask("read", { tokens, off });
    if (mine !== version) return;
    Object.assign(view, found);
    strip.show(view.pieces, view.bits.at(-1));
    showBits(bits, view);
    parts.show();
    if (!off.length) other.replaceChildren();
    drawHeads();
    await look(note);
  };
  const typed = async (text) => {
    state.text = text;
    if (area.value !== text) area.value = text;
    const mine = ++version;
    try {
      const { tokens, pieces, dropped } = await ask("cut", { text, most: 255 });
      if (mine !== version) return;
      Object.assign(view, { tokens, pieces: ["", ...pieces] });
      state.t = Math.min(state.t, tokens.length - 1);
      other.replaceChildren();
      const foreign = /[^\x00-\x7f]/.test(text) ? "The model has read Python alone: other letters cost it many tokens and many bits. " : "";
      await update(dropped ? `The model reads 256 tokens: the first ${dropped} are left out. ` : text ? foreign : "No text yet: the model says how a file begins. ");
    } catch (error) {
      said.textContent = error.message;
    }
  };
  area.addEventListener("input", () => typed(area.value));

  const writeOn = async (count) => {
    if (writing) return void (writing = false);
    writing = true;
    write.textContent = "Stop";
    state.t = -1;
    const { off, seed } = state;
    const settings = { temperature: state.temperature, topK: state.topK || undefined, nucleus: state.nucleus };
    const changed = [];
    const from = view.tokens.length;
    await ask("read", { tokens: view.tokens, off });
    for (let i = 0; i < count && writing; i++) {
      const u = model.uniform(seed, from - 1 + i);
      const found = await ask("write", { name: "whole", settings, u });
      if (off.length && !found.full) changed.push((await ask("write", { name: "changed", settings, u })).piece);
      if (found.full) {
        said.textContent = "The model reads 256 tokens, and this text has as many: shorten it, and it writes on.";
        break;
      }
      view.tokens.push(found.token);
      view.pieces.push(found.piece);
    }
    writing = false;
    write.textContent = `Write ${COUNT} tokens`;
    const { text } = await ask("join", { tokens: view.tokens.slice(1) });
    state.text = area.value = text;
    area.scrollTop = area.scrollHeight;
    await update();
    if (off.length) other.replaceChildren(make("p", {}, "The changed model writes:"), make("pre", { tabindex: "0" }, changed.join("")));
  };
  const open = unfolder(root, ask, given, (number) => {
    state.open = number;
    remember();
  });
  addEventListener("resize", () => view.at && drawWeights());
  await typed(state.text);
  if (state.open) await open(state.open);
};

for (const root of document.querySelectorAll(".inside-gpt")) mountPicture(root);
