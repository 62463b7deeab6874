/* Who may look where, painted by hand, and what is written into the places where nobody may look. */

/* The nearest float16: 11 bits, no exponent below -14, nothing above 65504. */
export const half = (x) => {
  if (x === 0 || !Number.isFinite(x)) return x;
  const step = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(x))), -14) - 10);
  const steps = x / step;
  const below = Math.floor(steps);
  const even = below + (below % 2 ? 1 : 0);
  const rounded = step * (steps - below === 0.5 ? even : Math.round(steps));
  return Math.abs(rounded) > 65504 ? Math.sign(x) * Infinity : rounded;
};
export const ROUND = { float32: Math.fround, float16: half };
export const FILL = { infinity: -Infinity, billion: -1e9, zero: 0 };
export const RULES = {
  causal: (i, j) => j <= i,
  padding: (i, j, { real }) => real[j],
  window: (i, j, { reach }) => Math.abs(i - j) <= reach,
};
export const join = (rules, state) =>
  state.real.map((_, i) => state.real.map((_, j) => rules.every((rule) => RULES[rule](i, j, state))));
/* Scores and fill are kept in the format, and so are the weights; the softmax in between has more digits. */
export const weigh = (scores, mask, fill, format) => {
  const round = ROUND[format];
  return scores.map((row, i) => {
    if (fill !== "none") return softmax(row.map((s, j) => round(mask[i][j] ? s : FILL[fill]))).map(round);
    if (!mask[i].includes(true)) return row.map(() => 0);
    return softmax(row.map((s, j) => (mask[i][j] ? round(s) : -Infinity))).map(round);
  });
};

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "mask_painter");
  const [tokens, scores, real] = ["tokens", "scores", "real"].map((trait) => model.get(trait));
  const apply = (rules, reach = model.get("reach")) => {
    change(model, "reach", reach);
    change(model, "rules", rules);
    change(model, "mask", join(rules, { real, reach }));
  };
  const paint = (i, j, open) => {
    change(model, "rules", []);
    change(model, "mask", model.get("mask").map((row, at) => row.map((old, to) => (at === i && to === j ? open : old))));
  };

  let brush = false;
  let painted = false;
  const cells = tokens.map((_, i) => tokens.map((_, j) => button("", (event) => (painted && event.detail) || paint(i, j, !model.get("mask")[i][j]))));
  const all = cells.flat();
  all.forEach((cell, at) => {
    const n = tokens.length;
    const [i, j] = [Math.floor(at / n), at % n];
    cell.tabIndex = at ? -1 : 0;
    cell.addEventListener("focus", () => all.forEach((other) => (other.tabIndex = other === cell ? 0 : -1)));
    cell.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!step) return;
      event.preventDefault();
      cells[i + step[0]]?.[j + step[1]]?.focus();
    });
    /* A mouse paints while it is drawn over cells; a finger, which also scrolls, taps them. */
    cell.addEventListener("pointerdown", (event) => {
      painted = event.pointerType !== "touch";
      brush = !model.get("mask")[i][j];
      if (painted) paint(i, j, brush);
    });
    cell.addEventListener("pointerenter", (event) => painted && event.buttons && event.pointerType !== "touch" && paint(i, j, brush));
  });
  const rows = tokens.map((token, i) => make("tr", {}, make("th", { scope: "row" }, token), ...cells[i].map((cell) => make("td", {}, cell))));
  const head = make("tr", {}, make("td"), ...tokens.map((token) => make("th", { scope: "col" }, token)));
  const title = make("caption", {}, "weights: who asks (row) and who is looked at (column)");
  stage.append(make("table", {}, title, make("thead", {}, head), make("tbody", {}, ...rows)));

  const rules = Object.keys(RULES).map((rule) => {
    const pressed = () => {
      const now = model.get("rules");
      apply(now.includes(rule) ? now.filter((other) => other !== rule) : [...now, rule]);
    };
    return [rule, button(rule, pressed)];
  });
  const everything = button("everything", () => apply([]));
  const nothing = button("nothing", () => (change(model, "rules", []), change(model, "mask", scores.map((row) => row.map(() => false)))));
  const reach = slider("window reach", [0, tokens.length - 1, 1], (to) => apply([...new Set([...model.get("rules"), "window"])], to));
  const fills = [["none", "left out"], ["infinity", "−∞"], ["billion", "−1e9"], ["zero", "0"]];
  const fill = choice("where one may not look, the score is", fills, (option) => change(model, "fill", option));
  const format = choice("in", [["float32", "float32"], ["float16", "float16"]], (option) => change(model, "format", option));
  const masks = make("div", { class: "xp-choice", role: "group", "aria-label": "Masks" }, "may look:", everything, ...rules.map(([, b]) => b), nothing);
  const traits = ["mask", "rules", "reach", "fill", "format"];
  controls.append(masks, reach.element, fill.element, format.element, again(model, traits));

  return redraw(model, traits, () => {
    const [mask, on, wide, written, kept] = traits.map((trait) => model.get(trait));
    const P = weigh(scores, mask, written, kept);
    cells.forEach((row, i) =>
      row.forEach((cell, j) => {
        cell.textContent = show(P[i][j]);
        cell.setAttribute("aria-pressed", mask[i][j]);
        cell.setAttribute("aria-label", `${tokens[i]} may look at ${tokens[j]}, weight ${show(P[i][j])}`);
        cell.style.setProperty("--p", `${50 * (P[i][j] || 0)}%`);
      }),
    );
    rules.forEach(([rule, b]) => b.setAttribute("aria-pressed", on.includes(rule)));
    reach.value(wide, String(wide));
    fill.value(written);
    format.value(kept);
    const empty = tokens.filter((_, i) => !mask[i].includes(true));
    const leaks = P.map((row, i) => (mask[i].includes(true) ? sum(row.filter((_, j) => !mask[i][j])) : 0));
    const worst = leaks.indexOf(Math.max(...leaks));
    const blind = P[tokens.indexOf(empty[0])];
    say(
      `${mask.flat().filter(Boolean).length} of ${all.length} places are open. ` +
        (leaks[worst] ? `${tokens[worst]} gives ${show(leaks[worst])} to keys it may not see. ` : "No weight leaks from a row that sees a key. ") +
        (blind ? `${empty.join(", ")} may look nowhere: weights ${blind.map((p) => show(p)).join(", ")}.` : "Every row sees a key."),
    );
  });
};
export default { render };
