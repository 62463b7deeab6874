/* Words change places: the weights and the outputs move along, unless a position or a mask holds them. */

/* One layer without projections and scale: the scores are dot products, the values are the inputs. */
export const layer = (X, position, mask) => {
  const H = X.map((x, t) => x.map((entry) => entry + position * t));
  const P = H.map((h, i) => {
    const seen = mask === "causal" ? H.slice(0, i + 1) : H;
    const p = softmax(seen.map((k) => dot(h, k)));
    return H.map((_, j) => p[j] ?? 0);
  });
  return { P, O: P.map((p) => X[0].map((_, c) => sum(p.map((weight, j) => weight * H[j][c])))) };
};
/* For each token, by its number at the start: how far its output is from the one it had there. */
export const gaps = (X, order, position, mask) => {
  const [first, now] = [layer(X, position, mask), layer(order.map((token) => X[token]), position, mask)];
  return X.map((_, token) => Math.max(...now.O[order.indexOf(token)].map((o, c) => Math.abs(o - first.O[token][c]))));
};

const COLOURS = "abcd";

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "permuted_tokens");
  const [tokens, X] = [model.get("tokens"), model.get("X")];
  const n = tokens.length;
  const move = (from, to) => {
    const order = [...model.get("order")];
    order.splice(to, 0, ...order.splice(from, 1));
    change(model, "order", order);
  };

  /* The places stay where they are and the words change, so that the focus can follow a word from place to place. */
  const names = tokens.map(() => make("b"));
  const steps = tokens.map((_, at) =>
    [-1, 1].map((step) => {
      const b = button(step < 0 ? "←" : "→", () => {
        move(at, at + step);
        const next = steps[at + step][step < 0 ? 0 : 1];
        (next.disabled ? steps[at + step][step < 0 ? 1 : 0] : next).focus();
      });
      b.disabled = !tokens[at + step];
      return b;
    }),
  );
  let held = null;
  const places = tokens.map((_, at) => make("div", { class: "xp-place" }, names[at], make("span", {}, ...steps[at])));
  const strip = make("div", { class: "xp-strip", role: "group", "aria-label": "The words in their order" }, ...places);
  names.forEach((b, at) => {
    b.addEventListener("pointerdown", (event) => {
      held = at;
      b.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    b.addEventListener("pointermove", (event) => {
      const over = places.findIndex((place) => {
        const box = place.getBoundingClientRect();
        return event.clientX >= box.left && event.clientX < box.right;
      });
      if (!b.hasPointerCapture(event.pointerId) || over < 0 || over === held) return;
      move(held, over);
      held = over;
    });
  });

  const grid = (title, heads, size) => {
    const [tops, sides] = [heads.map(() => make("th", { scope: "col" })), tokens.map(() => make("th", { scope: "row" }))];
    const cells = tokens.map(() => Array.from({ length: size }, () => make("td")));
    const rows = cells.map((row, i) => make("tr", {}, sides[i], ...row));
    const element = make("table", {}, make("caption", {}, title), make("thead", {}, make("tr", {}, make("td"), ...tops)), make("tbody", {}, ...rows));
    heads.forEach((text, j) => (tops[j].textContent = text));
    return { element, tops, sides, cells };
  };
  const weights = grid("weights", tokens, n);
  const outputs = grid("outputs", ["now", "at the start", "compared"], 3);
  stage.append(strip, weights.element, outputs.element);

  const position = slider("position, times", [0, 1, 0.05], (value) => change(model, "position", value));
  const mask = choice("mask", [["none", "none"], ["causal", "causal"]], (option) => change(model, "mask", option));
  const turn = button("Reverse", () => change(model, "order", [...model.get("order")].reverse()));
  const traits = ["order", "position", "mask"];
  controls.append(turn, position.element, mask.element, again(model, traits));

  return redraw(model, traits, () => {
    const [order, told, masked] = traits.map((trait) => model.get(trait));
    const now = layer(order.map((token) => X[token]), told, masked);
    const first = layer(X, told, masked);
    const apart = gaps(X, order, told, masked);
    const pair = (o) => `(${o.map((x) => show(x)).join(", ")})`;
    order.forEach((token, at) => {
      const [word, colour] = [tokens[token], COLOURS[token]];
      names[at].textContent = word;
      steps[at].forEach((b, side) => b.setAttribute("aria-label", `${word} to the ${["left", "right"][side]}`));
      for (const element of [names[at], weights.sides[at], weights.tops[at], outputs.sides[at]]) {
        element.style.setProperty("--own", `var(--${colour})`);
        element.textContent = word;
      }
      now.P[at].forEach((p, j) => {
        weights.cells[at][j].textContent = show(p);
        weights.cells[at][j].style.background = `color-mix(in srgb, var(--a) ${50 * p}%, transparent)`;
      });
      const moved = apart[token] < 1e-9;
      [pair(now.O[at]), pair(first.O[token]), moved ? "the same" : "changed"].forEach((text, j) => (outputs.cells[at][j].textContent = text));
      outputs.cells[at][2].style.fontWeight = moved ? "" : "650";
    });
    position.value(told, show(told));
    mask.value(masked);
    const changed = tokens.filter((_, token) => apart[token] >= 1e-9);
    const how = `Order: ${order.map((token) => tokens[token]).join(", ")}. ${told ? `Position ${show(told)} times` : "No position"}, ${masked === "none" ? "no" : "causal"} mask: `;
    const whole = changed.length === n ? "every output" : `the output${changed.length > 1 ? "s" : ""} of ${changed.join(" and ")}`;
    say(how + (changed.length ? `${whole} changed, by up to ${show(Math.max(...apart))}.` : "each output is where its word is, and none changed."));
  });
};
export default { render };
