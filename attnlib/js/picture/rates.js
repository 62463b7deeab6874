/* Rates over held-out code beside the one text: a press measures a block row by row, and another press stops it. */
const measuring = (ask, how) => {
  let running = false;
  const label = "Measure at 100 positions";
  const [said, box, bar] = [make("p", { role: "status" }), make("div"), make("progress", { max: 1, "aria-label": "How much has been measured" })];
  const block = choice("Block", ["0", "1", "2", "3"].map((l) => [l, l]), "2", () => {});
  const go = button(label, async () => {
    if (running) return void (running = false);
    running = true;
    const [l, by, rows] = [Number(block.value()), how(), []];
    let of = 1;
    go.textContent = "Stop";
    said.replaceChildren("This takes a minute. ", bar);
    while (running && rows.length < of) {
      const row = await ask("measure", { row: rows.length, l, how: by });
      rows.push(row.sums);
      of = row.of;
      bar.value = rows.length / of;
    }
    running = false;
    go.textContent = label;
    const found = insideGPT.model.rates(rows);
    said.textContent = `${rows.length < of ? `Stopped after ${rows.length} of ${of} rows. ` : ""}${inWords(l, found)}`;
    showRates(box, l, by, found);
  });
  return make("div", {}, make("div", { class: "ig-row" }, block.element, go), said, box);
};

const inWords = (l, { weight, harm }) => {
  const [of, at] = [weight.slice(4 * l, 4 * l + 4), harm.map(([bracket]) => bracket)];
  const [w, h] = [most(of), most(at)];
  return `In block ${l}, head ${l}.${w} has the most weight on the opening bracket (${of[w].toFixed(2)}), and the closing bracket suffers most without head ${l}.${h}: ${at[h].toFixed(2)} bits, the average token ${harm[h][2].toFixed(2)}.`;
};

const showRates = (box, l, by, { n, weight, harm, right }) => {
  const heads = harm.map((bits, h) => [`${l}.${h}`, ...[weight[4 * l + h], ...bits].map((x) => x.toFixed(2))]);
  const kept = right.map((x, k) => [afterBlock(k), x.toFixed(2)]);
  box.replaceChildren(
    table(`Weight on the opening bracket before ${n[0]} closing ones; bits more with ${by === "mean" ? "the head's mean" : "zeros"} in its place`, ["head", "weight", "closing bracket", `after self. (${n[1]})`, "average token"], heads),
    table(`Read early before ${n[3]} known names`, ["read", "right"], kept));
};
