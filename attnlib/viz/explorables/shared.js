/* What every explorable uses. `base.py` puts this text before each one's own, so that a module is one file.
   Nothing here knows the book: the same text runs in the page, in Jupyter and in Colab. */

/* ---- Numbers ---- */
export const sum = (numbers) => numbers.reduce((total, x) => total + x, 0);
export const dot = (a, b) => sum(a.map((x, i) => x * b[i]));
export const softmax = (scores) => {
  const largest = Math.max(...scores);
  const exponentials = scores.map((s) => Math.exp(s - largest));
  const total = sum(exponentials);
  return exponentials.map((e) => e / total);
};
export const entropy = (weights) => 0 - sum(weights.map((p) => (p > 0 ? p * Math.log(p) : 0)));
const show = (x, places = 2) => {
  const text = Math.abs(x).toFixed(places);
  return (x < 0 && Number(text) > 0 ? "−" : "") + text;
};

/* ---- Elements ---- */
const fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const name = () => `xp-${Math.random().toString(36).slice(2)}`;

/* A number line: `along(0, 10, 20, 320)` takes 0 to 20 and 10 to 320. */
const along = (low, high, from, to) => (x) => from + ((x - low) / (high - low)) * (to - from);

/* ---- The frame: the question, a stage, controls, and one line that says the numbers. `kind` is the name of the file,
   to which its own style sheet is confined ---- */
const frame = (model, el, kind) => {
  const question = make("p", { class: "xp-question", id: name() }, model.get("question"));
  const stage = make("div", { class: "xp-stage" });
  const controls = make("div", { class: "xp-controls" });
  const line = make("p", { class: "xp-line", "aria-live": "polite" });
  const box = make("div", { class: `xp xp-${kind}`, role: "group", "aria-labelledby": question.id }, question, stage, controls, line);
  /* Notebooks have shortcuts on plain keys (an arrow goes to the next cell): what is typed in here stays in here. The
     attribute says so to Jupyter, which looks for it at what has the focus; others hear no more of the key. */
  box.addEventListener("focusin", (event) => event.target.setAttribute("data-lm-suppress-shortcuts", ""));
  box.addEventListener("keydown", (event) => event.ctrlKey || event.metaKey || event.key === "Escape" || event.stopPropagation());
  el.append(box);
  let said = "";
  let timer = 0;
  const say = (text) => {
    said = text;
    if (!line.textContent) line.textContent = text;
    else if (!timer) timer = setTimeout(() => ((timer = 0), (line.textContent = said)), 250);
  };
  return { stage, controls, say };
};

/* Change a trait and tell Python, where there is one. */
const change = (model, trait, value) => {
  model.set(trait, value);
  model.save_changes();
};

/* Redraw now and whenever one of the traits changes; the answer ends that. */
const redraw = (model, traits, update) => {
  for (const trait of traits) model.on(`change:${trait}`, update);
  update();
  return () => traits.forEach((trait) => model.off(`change:${trait}`, update));
};

/* A slider with its label and its value: {element, input, value(number, text)}. */
const slider = (label, [min, max, step], moved) => {
  const input = make("input", { type: "range", id: name(), min, max, step });
  const output = make("output", { for: input.id });
  input.addEventListener("input", () => moved(Number(input.value)));
  const value = (number, text) => {
    input.value = number;
    input.setAttribute("aria-valuetext", text);
    output.textContent = text;
  };
  return { element: make("div", { class: "xp-slider" }, make("label", { for: input.id }, label), input, output), input, value };
};

const button = (label, pressed) => {
  const element = make("button", { type: "button" }, label);
  element.addEventListener("click", pressed);
  return element;
};

/* One of several: {element, value(option)}. */
const choice = (label, options, chosen) => {
  const [group, legend] = [name(), make("span", { id: name() }, label)];
  const inputs = options.map(([option, text]) => {
    const input = make("input", { type: "radio", name: group, value: option });
    input.addEventListener("change", () => chosen(option));
    return [input, make("label", {}, input, text)];
  });
  const element = make("div", { class: "xp-choice", role: "radiogroup", "aria-labelledby": legend.id }, legend, ...inputs.map(([, shown]) => shown));
  return { element, value: (option) => inputs.forEach(([input]) => (input.checked = input.value === String(option))) };
};

/* Puts the named traits back to what they were at the start. */
const again = (model, traits) => {
  const start = traits.map((trait) => [trait, model.get(trait)]);
  return button("Start again", () => start.forEach(([trait, value]) => change(model, trait, value)));
};
