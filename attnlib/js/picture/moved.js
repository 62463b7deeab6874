/* Which tokens moved a surprise: by its gradient and, as a control, by reading the text without each of them. */
const comparing = (ask, given) => {
  let running = false;
  const label = "Compare the tokens";
  const [said, box, bar] = [make("p", { role: "status" }), make("div"), make("progress", { max: 1, "aria-label": "Tokens left out" })];
  const go = button(label, async () => {
    if (running) return void (running = false);
    running = true;
    go.textContent = "Stop";
    said.replaceChildren("Reading once for each token. ", bar);
    const { what, pieces, ...asked } = given();
    const [{ lengths }, more] = [await ask("moved", asked), []];
    for (let j = lengths.length - 1; running && j >= 0; j--) {
      more[j] = (await ask("leaveOut", { ...asked, j })).bits;
      bar.value = 1 - j / lengths.length;
    }
    running = false;
    go.textContent = label;
    const [first, second] = [ranks(lengths), ranks(lengths.map((_, j) => Math.abs(more[j] ?? 0)))];
    const shown = lengths.map((_, j) => j).filter((j) => Math.min(first[j], second[j]) < 6).sort((a, b) => first[a] - first[b]);
    said.textContent = more[0] === undefined ? "Stopped." : `Rank correlation of the two columns, by size: ${agreement(first, second).toFixed(2)}`;
    box.replaceChildren(table(`What moved the surprise of ${what}${isBroken(asked) ? ", in the whole model" : ""}`, ["position", "token", "gradient × embedding", "bits more with a space instead"],
      shown.map((j) => [String(j), j ? seen(pieces[j]) : "start", digits(lengths[j]), j in more ? digits(more[j]) : "–"])));
  });
  return make("div", {}, make("div", { class: "ig-row" }, go), said, box);
};

/* The rank of each number, 0 for the largest, and Spearman’s correlation of two lists of ranks. */
const ranks = (xs) => {
  const found = [];
  insideGPT.model.order(xs).forEach((j, rank) => (found[j] = rank));
  return found;
};
const agreement = (a, b) => 1 - (6 * a.reduce((sum, x, j) => sum + (x - b[j]) ** 2, 0)) / (a.length * (a.length ** 2 - 1) || 1);
