/* The few elements that the picture is made of. */
const filled = (element, attributes, ...children) => {
  for (const [name, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const make = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, ...children);
const draw = (tag, attributes) => filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes);
const button = (label, pressed, attributes = {}, more = "") => {
  const element = make("button", { type: "button", ...attributes }, label, more);
  element.addEventListener("click", pressed);
  return element;
};
/* A slider with its label and value; `say` turns the number into words. */
const slider = (label, [min, max, step], value, say, moved) => {
  const id = `ig-${label.replace(/\W/g, "")}`;
  const input = make("input", { type: "range", id, min, max, step, value });
  const output = make("output", { for: id });
  const show = () => {
    output.textContent = say(Number(input.value));
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", () => (show(), moved(Number(input.value))));
  show();
  return { element: make("div", { class: "ig-slider" }, make("label", { for: id }, label), input, output), set: (x) => ((input.value = x), show()) };
};
const choice = (label, options, value, chosen) => {
  const select = make("select", {}, ...options.map(([key, text]) => make("option", { value: key }, text)));
  select.value = value;
  select.addEventListener("change", () => chosen(select.value));
  return { element: make("label", { class: "ig-choice" }, `${label} `, select), set: (x) => (select.value = x), value: () => select.value };
};
/* A table: the same numbers as a picture, for those who read instead of look. */
const table = (caption, heads, rows) => {
  const row = (cells, tag) => make("tr", {}, ...cells.map((cell, i) => make(i ? tag : "th", { scope: i && tag === "td" ? null : tag === "td" ? "row" : "col" }, cell)));
  return make("table", {}, make("caption", {}, caption), make("thead", {}, row(heads, "th")), make("tbody", {}, ...rows.map((cells) => row(cells, "td"))));
};
/* A link to an equation of the book, or to a page of it. */
const linkTo = ({ number, page, label }) => make("a", { href: `../${page}.html${label && `#${label}`}` }, label ? `(${number})` : `page ${number}`);
const small = (...words) => make("p", { class: "ig-small" }, ...words);
const fold = (summary, ...children) => make("details", {}, make("summary", {}, summary), ...children);
/* A token as it can be seen: line ends and spaces have signs. */
const { seen } = insideGPT.model;
const most = (xs) => xs.indexOf(Math.max(...xs));
const percent = (p) => `${(100 * p).toFixed(p < 0.0995 ? 1 : 0)}\u00a0%`;
const afterBlock = (k) => (k ? `after\u00a0block\u00a0${k - 1}` : "before\u00a0block\u00a00");
