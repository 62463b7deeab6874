/* What three formats hold of a number, exactly: `e` bits are for the power of two, `m` for the digits. */
export const FORMATS = { float32: [8, 23], float16: [5, 10], bfloat16: [8, 7] };
const top = ([e]) => 2 ** (e - 1) - 1;
export const largest = (f) => (2 - 2 ** -f[1]) * 2 ** top(f);
export const normal = (f) => 2 ** (1 - top(f));
const view = new DataView(new ArrayBuffer(8));
const power = (x) => (view.setFloat64(0, x), ((view.getUint32(0) >> 20) & 0x7ff) - 1023);
export const spacing = (x, f) => 2 ** (Math.min(top(f), Math.max(power(x), 1 - top(f))) - f[1]);
export const stored = (x, f) => {
  const step = spacing(x, f);
  const [down, over] = [Math.floor(x / step), x / step - Math.floor(x / step)];
  const near = step * (down + (over > 0.5 || (over === 0.5 && down % 2 !== 0)));
  return Math.abs(near) > largest(f) ? Math.sign(near) * Infinity : near;
};
/* The next numbers below and above. */
const out = (y, f) => (Math.abs(y) + spacing(y, f) > largest(f) ? Math.sign(y) * Infinity : y + (y < 0 ? -1 : 1) * spacing(y, f));
const inward = (y, f) => (Number.isFinite(y) ? y - Math.sign(y) * spacing(y * (1 - 2 ** -40), f) : Math.sign(y) * largest(f));
export const beside = (y, f) => (y < 0 ? [out(y, f), inward(y, f)] : [y ? inward(y, f) : -out(y, f), out(y, f)]);
export const bits = (x, f) => {
  const [e, m] = f;
  const y = stored(x, f);
  const sign = x < 0 || Object.is(x, -0) ? "1" : "0";
  if (!Number.isFinite(y)) return [sign, "1".repeat(e), "0".repeat(m)];
  const steps = Math.abs(y) / spacing(y, f);
  const leads = Math.floor(steps / 2 ** m);
  const two = (n, places) => n.toString(2).padStart(places, "0");
  return [sign, two(leads && power(y) + top(f), e), two(steps - leads * 2 ** m, m)];
};

const write = (x, places = 9) => {
  const near = Number(x.toPrecision(places));
  const far = near && Math.abs(Math.log10(Math.abs(near)) - 1.5) > 5.5;
  return (far ? near.toExponential() : String(near)).replaceAll("-", "−").replace("+", "").replace("Infinity", "∞");
};
export const said = (x, f) => {
  const y = stored(x, f);
  const [below, above] = beside(y, f);
  const given = write(x, 17);
  if (!Number.isFinite(y)) return `${given} becomes infinity: an overflow. The largest number is ${write(largest(f), 5)}.`;
  if (x && !y) return `${given} becomes zero: an underflow. The smallest number above zero is ${write(above, 3)}.`;
  const off = y === x ? "it is" : `${write(y)}, off by ${write(100 * Math.abs(y / x - 1), 2)} %`;
  const [down, up] = [y - below, above - y].map((step) => write(step, 3));
  const few = y && Math.abs(y) < normal(f) ? ` Subnormal: ${power(y / spacing(y, f))} of ${f[1]} digits are left.` : "";
  return `${given} is stored as ${off}. The next is ${down} below, ${up} above.${few}`;
};

const [WIDE, room] = [368, 16];
const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "float_formats");
  const traits = ["x", "format"];
  const text = (x, y, what, more = {}) => draw("text", { x, y, "text-anchor": "middle", ...more }, what);
  const sheets = [84, 66, 62].map((high) => draw("svg", { viewBox: `0 0 ${WIDE} ${high}`, role: "img" }));
  const [word, reach, near] = sheets;
  stage.append(...sheets);
  const of = along(-46, 40, 70, WIDE);
  for (let at = -40; at < 40; at += 20) reach.append(text(of(at), 64, write(Number(`1e${at}`))));
  const names = Object.entries(FORMATS).map(([name, f], i) => {
    const [from, middle, to] = [normal(f) * 2 ** -f[1], normal(f), largest(f)].map((x) => of(Math.log10(x)));
    const bar = (x, end, kind) => draw("rect", { x, width: end - x, y: 3 + 16 * i, height: 11, class: kind });
    reach.append(bar(from, middle, "xp-few"), bar(middle, to, "a"));
    return reach.appendChild(text(64, 12 + 16 * i, name, { "text-anchor": "end" }));
  });
  const here = reach.appendChild(draw("line", { class: "line-b", y2: 51 }));

  const move = (x) => Math.abs(x) <= 1e40 && change(model, "x", x);
  const input = make("input", { type: "text", id: name(), autocomplete: "off" });
  input.addEventListener("input", () => input.value.trim() && move(Number(input.value)));
  const field = make("div", { class: "xp-text" }, make("label", { for: input.id }, "your number"), input);
  const kinds = choice("format", Object.keys(FORMATS).map((kind) => [kind, kind]), (kind) => change(model, "format", kind));
  const split = () => model.get("x").toExponential().split("e");
  const digits = slider("digits", [1, 9.999, 0.001], (to) => move(Number(`${model.get("x") < 0 ? -to : to}e${split()[1]}`)));
  const ten = slider("power of ten", [-46, 39, 1], (to) => move(Number(`${model.get("x") ? split()[0] : 1}e${to}`)));
  controls.append(field, kinds.element, digits.element, ten.element, again(model, traits));

  return redraw(model, traits, () => {
    const [x, format] = traits.map((trait) => model.get(trait));
    const f = FORMATS[format];
    const y = stored(x, f);
    const start = { "text-anchor": "start" };
    word.replaceChildren(text(0, 11, "sign", start), text(2 * room, 11, "power of two", start), text(0, 56, "digits", start));
    bits(x, f).forEach((part, k) =>
      [...part].forEach((bit, i) => {
        const [left, high] = [(k === 1 ? i + 2 : i) * room, k < 2 ? 15 : 60];
        word.append(draw("rect", { x: left + 0.5, y: high, width: room - 1, height: 22, class: `xp-bit ${"dba"[k]}` }), text(left + room / 2, high + 16, bit));
      }),
    );
    names.forEach((label) => label.classList.toggle("xp-chosen", label.textContent === format));
    const at = of(Math.min(40, Math.max(-46, Math.log10(Math.abs(x)))));
    fill(here, { x1: at, x2: at }, []);

    const known = Number.isFinite(y) ? y : Math.sign(y) * largest(f);
    const step = spacing(known, f);
    const place = (to) => Math.min(WIDE - 7, Math.max(7, (WIDE * (1 + (to - known) / step / 1.6)) / 2));
    near.replaceChildren(draw("line", { class: "axis", x1: 0, x2: WIDE, y1: 26, y2: 26 }));
    for (const to of [known, ...beside(known, f)].filter(Number.isFinite)) {
      near.append(draw("line", { x1: place(to), x2: place(to), y1: 20, y2: 32, class: to === y ? "line-b" : "axis" }));
      near.append(to === known ? text(WIDE / 2, 58, write(to)) : text(place(to), 44, (to > known ? "+" : "−") + write(Math.abs(to - known), 3)));
    }
    near.append(draw("path", { class: "b", d: `M${place(x)} 22l-7 -14h14Z` }));

    const labels = [`The bits in ${format}: ${bits(x, f).join(", ")}.`, `The range of each format, and ${write(x)} in it.`, `The numbers of ${format} beside ${write(x, 17)}.`];
    sheets.forEach((sheet, i) => sheet.setAttribute("aria-label", labels[i]));
    kinds.value(format);
    const [lead, exponent] = split();
    if (Number(input.value) !== x || !input.value) input.value = x;
    digits.value(Math.abs(lead), write(Number(lead), 6));
    ten.value(exponent, write(Number(exponent)));
    say(said(x, f));
  });
};
export default { render };
