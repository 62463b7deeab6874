/* Scores in, weights out: sliders for the scores and for the temperature; weights, entropy and Jacobian follow. */
export const weightsAt = (scores, temperature) => softmax(scores.map((s) => s / temperature));
export const jacobian = (p, temperature) =>
  p.map((pi, i) => p.map((pj, j) => ((i === j ? pi : 0) - pi * pj) / temperature));

const table = (tokens) => {
  const cells = tokens.map(() => tokens.map(() => make("td")));
  const rows = tokens.map((token, i) => make("tr", {}, make("th", { scope: "row" }, token), ...cells[i]));
  const head = make("tr", {}, make("td"), ...tokens.map((token) => make("th", { scope: "col" }, token)));
  const title = make("caption", {}, "how fast each weight (row) grows with each score (column)");
  const fillIn = (J) =>
    cells.forEach((row, i) =>
      row.forEach((cell, j) => {
        const strength = Math.min(1, Math.abs(J[i][j]) / 0.25) * 50;
        cell.textContent = show(J[i][j], 3);
        cell.style.background = `color-mix(in srgb, var(--${J[i][j] < 0 ? "b" : "a"}) ${strength}%, transparent)`;
      }),
    );
  return { element: make("table", {}, title, make("thead", {}, head), make("tbody", {}, ...rows)), fillIn };
};

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "softmax_temperature");
  const tokens = model.get("tokens");
  const bars = tokens.map(() => make("div", { class: "xp-bar" }));
  const numbers = tokens.map(() => make("span"));
  const sliders = tokens.map((token, j) =>
    slider(token, [-10, 10, 0.1], (value) => {
      const scores = [...model.get("scores")];
      scores[j] = value;
      change(model, "scores", scores);
    }),
  );
  sliders.forEach(({ input }, j) => input.setAttribute("aria-label", `Score of ${tokens[j]}`));
  const rows = tokens.map((_, j) =>
    make("div", { class: "xp-row" }, sliders[j].element, make("div", { class: "xp-weight" }, bars[j]), numbers[j]),
  );
  const heads = ["score", "weight"].map((text) => make("span", {}, text));
  const changes = table(tokens);
  stage.append(make("div", { class: "xp-rows" }, make("div", { class: "xp-row xp-heads" }, ...heads), ...rows), changes.element);
  const heat = slider("temperature T", [-1, 2, 0.05], (power) => change(model, "temperature", 10 ** power));
  controls.append(heat.element, again(model, ["scores", "temperature"]));

  return redraw(model, ["scores", "temperature"], () => {
    const [scores, T] = [model.get("scores"), model.get("temperature")];
    const p = weightsAt(scores, T);
    const H = entropy(p);
    scores.forEach((s, j) => sliders[j].value(s, show(s, 1)));
    heat.value(Math.log10(T), show(T));
    p.forEach((weight, j) => {
      bars[j].style.width = `${100 * weight}%`;
      numbers[j].textContent = show(weight, 3);
    });
    changes.fillIn(jacobian(p, T));
    const best = p.indexOf(Math.max(...p));
    say(
      `The largest weight is ${show(p[best], 3)}, on “${tokens[best]}”. The entropy is ${show(H)} of at most ` +
        `${show(Math.log(p.length))}, as if ${show(Math.exp(H))} of ${p.length} keys were looked at.`,
    );
  });
};
export default { render };
