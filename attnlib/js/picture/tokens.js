/* The text, token by token: coloured by its bits, to be chosen by mouse, finger or arrow keys; lines to what it attends to. */
const tokenStrip = (choose) => {
  const lines = draw("svg", { class: "ig-lines", "aria-hidden": "true" });
  const list = make("div", { class: "ig-tokens", role: "listbox", tabindex: "0", "aria-label": "The text, token by token" });
  const box = make("div", { class: "ig-strip" }, list, lines);
  let options = [];
  let chosen = 0;
  let drawn = [];

  list.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -8, ArrowDown: 8, Home: -Infinity, End: Infinity }[event.key];
    if (!step) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(options.length - 1, chosen + step)));
  });
  list.addEventListener("click", ({ target }) => target.closest("[role=option]") && choose(options.indexOf(target.closest("[role=option]"))));

  const show = (pieces, bits) => {
    list.replaceChildren();
    [chosen, drawn] = [0, []];
    options = pieces.map((piece, t) => {
      const end = piece.lastIndexOf("\n");
      const b = t ? bits[t - 1] : null;
      const option = make("span", { role: "option", id: `ig-token-${t}`, "aria-selected": "false", "aria-label": `${t ? seen(piece) : "start of the text"}${b === null ? "" : `, ${b.toFixed(1)} bits`}`, title: b === null ? null : `${b.toFixed(1)} bits` }, t ? seen(end < 0 ? piece : piece.slice(0, end + 1)) : "start");
      if (b !== null) option.style.setProperty("--bits", `${Math.min(38, 3.2 * b).toFixed(0)}%`);
      list.append(option);
      if (t && end >= 0) list.append(`\n${piece.slice(end + 1)}`);
      return option;
    });
  };

  const select = (t) => {
    options[chosen]?.setAttribute("aria-selected", "false");
    chosen = t;
    options[t].setAttribute("aria-selected", "true");
    const { offsetTop: top, offsetHeight: height } = options[t];
    list.scrollTop = Math.min(top, Math.max(list.scrollTop, top + height - list.clientHeight)); // the page stays where it is
    list.setAttribute("aria-activedescendant", `ig-token-${t}`);
  };

  /* A line to each of the tokens with the most weight, as thick as the weight. */
  const connect = (weights) => {
    drawn = weights;
    lines.replaceChildren();
    const frame = box.getBoundingClientRect();
    const middle = (t) => {
      const r = options[t].getBoundingClientRect();
      return [r.left - frame.left + r.width / 2, r.top - frame.top + r.height / 2];
    };
    const [x, y] = middle(chosen);
    strongest(weights, 12).forEach(([j, p]) => {
      const [a, b] = middle(j);
      if (j === chosen) lines.append(draw("circle", { cx: x, cy: y, r: 8 + 8 * p, "stroke-width": 6 * p }));
      else lines.append(draw("path", { d: `M${x} ${y}Q${(x + a) / 2 + (b - y) / 4} ${(y + b) / 2 - 24} ${a} ${b}`, "stroke-width": 1 + 6 * p, "stroke-opacity": 0.25 + 0.7 * p }));
    });
  };
  list.addEventListener("scroll", () => connect(drawn));
  return { box, show, select, connect };
};

/* The surprise of each token as a table; where a part is out, beside the whole model's. */
const showBits = (box, { tokens, pieces, bits }) => {
  const rows = pieces.slice(1).map((piece, t) => [String(t + 1), seen(piece), ...bits.map((run, i) => (i + 1 < bits.length ? run[t].toFixed(1) : opens(run[t].toFixed(1), `bits.${t}.${tokens[t + 1]}`)))]);
  box.replaceChildren(table("Surprise of each token", ["position", "token", "bits", "changed"].slice(0, 2 + bits.length), rows));
};

/* The positions with the most weight, [position, weight], from the largest down. */
const strongest = (weights, n) => insideGPT.model.order(weights).slice(0, n).map((j) => [j, weights[j]]).filter(([, p]) => p > 0.02);
