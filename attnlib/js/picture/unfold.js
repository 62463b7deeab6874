/* A number unfolds: a panel with its equation, its line of NumPy and its inputs, each of which opens in turn. */
const FIRST = 6; // terms of a sum, until the others are wanted

/* Four digits; very large and very small numbers with a power of ten. */
const digits = (x) => {
  if (Number.isInteger(x) && Math.abs(x) < 1e5) return String(x).replace("-", "−");
  const [, number, power] = (Math.abs(x) < 1e5 && Math.abs(x) >= 1e-4 ? x.toPrecision(4) : x.toExponential(3)).match(/([^e]*)(?:e\+?(.*))?/);
  return `${number}${power ? ` × 10${power.replace(/./g, (one) => (one === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[one]))}` : ""}`.replace("-", "−");
};
/* A number that opens: a press asks for it, wherever it stands. */
const opens = (text, open) => make("button", { type: "button", class: "ig-n", "data-open": open }, text);
const formula = (text) => text.split(/_(\w+)/).map((part, i) => (i % 2 ? make("sub", {}, part) : part));

/* `given` says what is off and how the page draws; `moved` gets the address of the number that is open. */
const unfolder = (root, ask, given, moved) => {
  const box = make("dialog", { class: "ig ig-unfold", "aria-labelledby": "ig-unfolded" });
  let path = [];
  const shown = ({ value, open }) => (open ? opens(digits(value), open) : digits(value));
  const to = (n) => {
    path = path.slice(0, n);
    return n ? show() : box.close();
  };
  const termsOf = ({ n, heads, rows, sum }) => {
    const more = n - rows.length;
    const body = rows.map(({ label, cells, term }) => [label, ...cells.map(shown), ...(heads.length > cells.length ? [digits(term)] : [])]);
    const total = [n > 1 ? `sum of all ${n}` : "sum", ...heads.slice(1).map(() => ""), digits(sum)];
    const list = table(more ? "The largest terms" : "All terms", ["term", ...heads.map((head) => make("span", {}, ...formula(head)))], [...body, total]);
    return [make("div", { class: "ig-terms", tabindex: more ? null : "0", role: "group", "aria-label": "Terms" }, list), ...(more ? [button(`${more} more`, () => show(1e9))] : [])];
  };
  const show = async (most = FIRST) => {
    const step = path.at(-1);
    const found = await ask("unfold", { open: step.open, most, ...given() });
    if (step !== path.at(-1)) return; // another press was faster
    if (found.missing) return to(path.length - 1);
    if (found.broken) {
      box.replaceChildren(make("p", { id: "ig-unfolded" }, found.broken), button("Close", () => to(0)));
      if (!box.open) box.showModal();
      return;
    }
    Object.assign(step, found);
    const heading = make("h3", { id: "ig-unfolded", tabindex: "-1" }, `${found.name[0].toUpperCase()}${found.name.slice(1)}: ${digits(found.value)}`);
    const steps = path.slice(0, -1).map(({ name, value }, i) => make("li", {}, button(`${name} ${digits(value)}`, () => to(i + 1))));
    const trail = make("ol", { class: "ig-path", "aria-label": "Path" }, ...steps);
    const { equation, page, line, file, says, taken } = found;
    box.replaceChildren(
      make("div", { class: "ig-row" }, ...(path.length > 1 ? [button("Back", () => to(path.length - 1))] : []), button("Close", () => to(0)), trail),
      heading, small(found.where),
      ...(taken ? [make("p", {}, "This part is taken out: the number stands in its place.")] : [make("p", {}, ...formula(says)),
        ...(equation ? [make("p", { class: "ig-equation" }, ...formula(equation), " ", page && linkTo(found))] : []),
        ...(line ? [small(`In NumPy, attnlib/${file}:`), make("code", {}, line)] : [])]),
      ...(found.given.length ? [make("p", { class: "ig-given" }, ...found.given.map((one) => make("span", {}, ...formula(one.letter), " = ", shown(one))))] : []),
      ...(found.terms ? termsOf(found.terms) : []));
    const change = make("p", { class: "ig-change" }, " ");
    heading.nextSibling.nextSibling.after(change);
    if (!box.open) box.showModal();
    trail.scrollLeft = 1e5;
    heading.focus();
    moved(step.open);
    const asked = given();
    const { gradient } = await ask("gradient", { open: step.open, ...asked });
    change.textContent = `Gradient of the surprise of ${asked.what}: ${digits(gradient)}`;
  };
  const open = (one) => {
    path.push({ open: one });
    return show();
  };
  root.addEventListener("click", ({ target }) => target.dataset.open && open(target.dataset.open));
  box.addEventListener("close", () => {
    path = [];
    moved("");
  });
  root.append(box);
  return open;
};
