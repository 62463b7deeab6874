/* Pipeline schedules, tick by tick: i is the forward pass of part i of the batch, -i its backward pass, 0 is waiting. */
const played = (orders) => {
  const [left, done, table] = [orders.map((order) => [...order]), new Set(), orders.map(() => [])];
  const ready = (r, task) => {
    const before = task > 0 ? r - 1 : r + 1; // forwards come from above, backwards from below
    return before < 0 || before === orders.length || done.has(`${before} ${task}`);
  };
  while (left.some((order) => order.length)) {
    const now = left.map(([task], r) => (task && ready(r, task) ? task : 0));
    now.forEach((task, r) => {
      if (task) done.add(`${r} ${left[r].shift()}`);
      table[r].push(task);
    });
  }
  return table;
};
const upTo = (n, from = 1) => Array.from({ length: Math.max(0, n - from + 1) }, (_, i) => from + i);
export const schedules = {
  GPipe: (p, m) => played(upTo(p).map(() => [...upTo(m), ...upTo(m).map((i) => -i)])),
  "1F1B": (p, m) =>
    played(
      upTo(p).map((r) => {
        const ahead = Math.min(p - r, m);
        return [...upTo(ahead), ...upTo(m, ahead + 1).flatMap((i) => [i, ahead - i]), ...upTo(m, m - ahead + 1).map((i) => -i)];
      }),
    ),
};
/* For how many parts each worker keeps what their backward pass needs, behind each tick. */
export const keeping = (table) => table.map((row) => row.map((_, t) => sum(row.slice(0, t + 1).map(Math.sign))));
export const kept = (table) => keeping(table).map((row) => Math.max(...row));
export const waiting = (table) => table.flat().filter((task) => !task).length / table.flat().length;
export const bubble = (p, m) => (p - 1) / (m + p - 1);

const [WIDE, HIGH, LEFT, RIGHT] = [440, 184, 28, 56];
const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "pipeline_schedule");
  const traits = ["schedule", "workers", "parts", "tick"];
  const svg = draw("svg", { viewBox: `0 0 ${WIDE} ${HIGH + 22}`, role: "img" });
  stage.append(svg);
  const kinds = choice("schedule", Object.keys(schedules).map((kind) => [kind, kind]), (kind) => change(model, "schedule", kind));
  const moved = (trait) => (to) => change(model, trait, to);
  const sliders = [slider("workers", [1, 8, 1], moved("workers")), slider("micro-batches", [1, 16, 1], moved("parts")), slider("tick", [1, 46, 1], moved("tick"))];
  controls.append(kinds.element, ...sliders.map(({ element }) => element), again(model, traits));

  return redraw(model, traits, () => {
    const [kind, p, m, asked] = traits.map((trait) => model.get(trait));
    const table = schedules[kind](p, m);
    const ticks = table[0].length;
    const tick = Math.min(asked, ticks);
    const [room, tall] = [(WIDE - LEFT - RIGHT) / ticks, Math.min(38, HIGH / p)];
    const text = (x, y, what, more = {}) => svg.append(draw("text", { x, y, "text-anchor": "middle", ...more }, what));
    svg.replaceChildren(draw("rect", { x: LEFT + (tick - 1) * room, y: 18, width: room, height: p * tall + 2, class: "xp-now" }));
    text(WIDE - RIGHT / 2, 12, "keeps");
    text(LEFT / 2, 12, "worker", { "text-anchor": "start", x: 0 });
    const [now, most] = [keeping(table).map((row) => row[tick - 1]), kept(table)];
    table.forEach((row, r) => {
      const y = 20 + r * tall;
      const middle = y + tall / 2 + 4;
      text(LEFT / 2, middle, r);
      text(WIDE - RIGHT / 2, middle, `${now[r]} of ${most[r]}`);
      row.forEach((task, t) => {
        const x = LEFT + t * room;
        svg.append(draw("rect", { x: x + room * 0.04, y, width: room * 0.92, height: tall - 2, class: task ? `xp-task ${task > 0 ? "a" : "b"}` : "xp-wait" }));
        if (task && room > 11) text(x + room / 2, middle, Math.abs(task), { class: `xp-part ${task > 0 ? "a" : "b"}` });
      });
    });
    svg.setAttribute("aria-label", `${kind}: ${p} workers, ${m} micro-batches, ${ticks} ticks, one marked; what each keeps then, of its most.`);
    kinds.value(kind);
    sliders[0].value(p, String(p));
    sliders[1].value(m, String(m));
    sliders[2].input.max = ticks;
    sliders[2].value(tick, `${tick} of ${ticks}`);
    const does = (task) => (task ? `${task > 0 ? "forward" : "backward"} ${Math.abs(task)}` : "waits");
    say(
      `Waiting: ${show(100 * waiting(table), 0)} % of the time, (${p} − 1)/(${m} + ${p} − 1). Kept at most: ${most.join(", ")}. ` +
        `Tick ${tick}: ${table.map((row) => does(row[tick - 1])).join(", ")}.`,
    );
  });
};
export default { render };
