/* Keys with values, kept in three memories: a sum, the delta rule, and a softmax over all of them. */
const [VALUES, MOST, WIDEST] = ["ABCD", 40, 16];
/* A number in (0, 1), the same in Python; and a normal one from two of them. */
const uniform = (seed, i) => {
  const a = (seed + Math.imul(i + 1, 0x6d2b79f5)) | 0;
  let t = Math.imul(a ^ (a >>> 15), a | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 2 ** 32;
};
const normal = (seed, i) => Math.sqrt(-2 * Math.log(uniform(seed, 2 * i))) * Math.cos(2 * Math.PI * uniform(seed, 2 * i + 1));
/* Key number `at`: the first d of 16 random coordinates, made a unit vector. */
export const keyOf = (seed, d, at) => {
  const k = Array.from({ length: d }, (_, i) => normal(seed, at * WIDEST + i));
  return k.map((x) => x / Math.hypot(...k));
};
/* For each write (row) that is read, the weight of each written value in what comes back. A write is key * 4 + value. */
export const weigh = (writes, { seed, d, step, scale }) => {
  const K = writes.map((write) => keyOf(seed, d, write >> 2));
  const G = K.map((k) => K.map((other) => dot(k, other)));
  const U = []; // what each write added to the state, in values: a share of its own minus what was there
  G.forEach((row, t) => U.push(row.map((_, s) => step * ((s === t) - sum(U.map((u, r) => row[r] * u[s]))))));
  return {
    sum: G,
    "delta rule": G.map((row) => row.map((_, s) => sum(row.map((g, t) => g * U[t][s])))),
    softmax: G.map((row) => softmax(row.map((g) => scale * g))),
  };
};
/* The weight of each of the four values, and the one with the largest; -1 where two are equal. */
export const recall = (writes, row) => {
  const mix = [0, 1, 2, 3].map((value) => sum(row.filter((_, s) => writes[s] % 4 === value)));
  const [first, second] = [...mix].sort((a, b) => b - a);
  return { mix, value: first - second > 1e-9 ? mix.indexOf(first) : -1 };
};
/* The last write of each key: what should come back. */
export const last = (writes) => writes.map((_, t) => t).filter((t) => writes.findLastIndex((other) => other >> 2 === writes[t] >> 2) === t);
export const score = (writes, W) => last(writes).filter((t) => recall(writes, W[t]).value === writes[t] % 4);
const count = (writes) => 1 + Math.max(...writes.map((write) => write >> 2));
/* The first n writes; where there are fewer, new keys with random values are added. */
export const upTo = (n, writes, seed) => {
  const kept = writes.slice(0, n);
  while (kept.length < n) kept.push(4 * count(kept) + Math.floor(4 * uniform(seed, 1000 + kept.length)));
  return kept;
};

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "filling_state");
  const traits = ["writes", "d", "read", "step", "scale", "seed", "overwrite"];
  const to = (trait) => (value) => change(model, trait, value);
  const svg = draw("svg", { viewBox: "0 0 340 282", role: "img" });
  const add = (tag, attributes, ...children) => svg.appendChild(draw(tag, attributes, ...children));
  stage.append(svg);
  const reading = () => Math.min(model.get("read"), count(model.get("writes")));
  svg.addEventListener("click", ({ target }) => target.key && to("read")(target.key));
  const write = (value) => {
    const writes = model.get("writes");
    const key = model.get("overwrite") ? reading() - 1 : count(writes);
    if (writes.length < MOST) to("writes")([...writes, 4 * key + value]);
  };

  const pairs = slider("pairs", [1, MOST, 1], (n) => to("writes")(upTo(n, model.get("writes"), model.get("seed"))));
  const width = slider("width of a key", [2, WIDEST, 1], to("d"));
  const read = slider("read key", [1, MOST, 1], to("read"));
  const step = slider("delta step", [0.1, 1, 0.1], to("step"));
  const key = choice("write to", [[false, "a new key"], [true, "the read key"]], to("overwrite"));
  const values = [...VALUES].map((name, value) => button(`Write ${name}`, () => write(value)));
  const others = button("Other keys", () => to("seed")(model.get("seed") + 1));
  controls.append(...[pairs, width, read, step, key].map(({ element }) => element), ...values, others, again(model, traits));

  return redraw(model, traits, () => {
    const now = Object.fromEntries(traits.map((trait) => [trait, model.get(trait)]));
    const { writes, d } = now;
    const [n, keys, chosen] = [writes.length, count(writes), reading()];
    const at = last(writes).find((t) => writes[t] >> 2 === chosen - 1);
    const truth = VALUES[writes[at] % 4];
    const room = 236 / Math.max(12, n);
    svg.replaceChildren();
    const found = Object.entries(weigh(writes, now)).map(([kind, W], p) => {
      const [right, { mix, value }] = [score(writes, W), recall(writes, W[at])];
      const y = 96 * p + 50;
      const title = `${right.length} of ${keys} recalled, ${p < 2 ? 4 * d : n * (d + 4)} numbers`;
      const bars = (heights, x, room, kinds, mine) => {
        const most = Math.max(1, ...heights, ...heights.map((h) => h / -0.7));
        heights.forEach((h, s) => {
          const height = (30 * Math.abs(h)) / most;
          add("rect", { x: x + s * room, y: h > 0 ? y - height : y, width: 0.8 * room, height, class: `${"abcd"[kinds[s]]} ${mine(s) ? "xp-mine" : ""}` });
        });
      };
      const answer = VALUES[value] ?? "tie";
      add("text", { y: y - 38, class: "xp-kind" }, `${kind}: ${answer} ${answer === truth ? "✓" : "✗"}`);
      add("text", { x: 340, y: y - 38, "text-anchor": "end" }, title);
      add("line", { class: "axis", x2: 340, y1: y, y2: y });
      bars(W[at], 0, room, writes.map((one) => one % 4), (s) => writes[s] >> 2 === chosen - 1);
      bars(mix, 264, 20, [0, 1, 2, 3], (s) => VALUES[s] === truth);
      writes.forEach((one, s) => (add("rect", { class: "xp-hit", x: s * room, y: y - 32, width: room, height: 66 }).key = 1 + (one >> 2)));
      last(writes).forEach((t) => add("circle", { cx: (t + 0.4) * room, cy: y + 28, r: 2.5, class: right.includes(t) ? "xp-kept" : "xp-lost" }));
      [...VALUES].forEach((name, s) => add("text", { x: 272 + 20 * s, y: y + 33, "text-anchor": "middle" }, name));
      return { title: `${kind}: ${title}`, read: `${kind} ${answer}${value < 0 ? "" : ` (${show(mix[value])})`}`, right: right.length };
    });
    svg.setAttribute("aria-label", found.map(({ title }) => title).join("; "));
    pairs.value(n, n);
    width.value(d, d);
    read.input.max = keys;
    read.value(chosen, `${chosen}: ${truth}`);
    step.value(now.step, show(now.step, 1));
    key.value(now.overwrite);
    say(
      `${n} pairs, d = ${d}, delta step ${show(now.step, 1)}. Key ${chosen} was last written with ${truth}. ` +
        `Read: ${found.map(({ read }) => read).join(", ")}. Recalled of ${keys} keys: ${found.map(({ right }) => right).join(", ")}.`,
    );
  });
};
export default { render };
