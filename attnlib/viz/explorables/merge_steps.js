/* Merges on the reader's own text: what it is cut into when the first merges of a list are known. */
const WORDS =
  /'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;
/* The character that stands for each byte, in the order of the bytes' numbers: those that print, then the others. */
const BYTES = Array.from({ length: 256 }, (_, byte) => byte);
const prints = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
const ORDER = [...BYTES.filter(prints), ...BYTES.filter((byte) => !prints(byte))];
const SIGN = new Map(ORDER.map((byte, i) => [byte, String.fromCharCode(i < 188 ? byte : 68 + i)]));
const BYTE = new Map([...SIGN].map(([byte, sign]) => [sign, byte]));

const single = (word) => [...new TextEncoder().encode(word)].map((byte) => SIGN.get(byte));
const join = (parts, pair) => {
  const whole = pair.replace(" ", "");
  const joined = [];
  for (const part of parts)
    if (joined.length && `${joined.at(-1)} ${part}` === pair) joined[joined.length - 1] = whole;
    else joined.push(part);
  return joined;
};
/* The tokens of a text, written as the list of merges writes them, and the places in the list that joined something. */
export const cut = (text, pairs, known) => {
  const used = new Set();
  const tokens = (text.match(WORDS) ?? []).flatMap((word) =>
    pairs.slice(0, known).reduce((parts, pair, rank) => {
      const joined = parts.length > 1 ? join(parts, pair) : parts;
      if (joined.length < parts.length) used.add(rank);
      return joined;
    }, single(word)),
  );
  return [tokens, [...used].sort((a, b) => a - b)];
};
export const numbersOf = (pairs) =>
  new Map([...new Set([...SIGN.values(), ...pairs.map((pair) => pair.replace(" ", ""))])].map((token, i) => [token, i]));
/* As a reader sees it: a space as ␣, and bytes that are no whole character by their number. */
export const readable = (token) => {
  const bytes = [...token].map((sign) => BYTE.get(sign));
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(new Uint8Array(bytes)).replace(/ /g, "␣").replace(/\n/g, "↵");
  } catch {
    return bytes.map((byte) => byte.toString(16)).join(" ");
  }
};

const render = ({ model, el }) => {
  const { stage, controls, say } = frame(model, el, "merge_steps");
  const pairs = model.get("pairs");
  const number = numbersOf(pairs);
  const list = make("ol", { "aria-label": "tokens, each with its number" });
  stage.append(list);
  const input = make("input", { type: "text", id: name(), maxlength: 60, spellcheck: "false", autocomplete: "off" });
  input.addEventListener("input", () => change(model, "text", input.value));
  const field = make("div", { class: "xp-text" }, make("label", { for: input.id }, "your text"), input);
  const known = slider("merges", [0, pairs.length, 1], (to) => change(model, "known", to));
  let used = [];
  const next = button("Next merge here", () => change(model, "known", 1 + (used.find((rank) => rank >= model.get("known")) ?? pairs.length - 1)));
  controls.append(field, known.element, next, again(model, ["text", "known"]));

  return redraw(model, ["text", "known"], () => {
    const [text, first] = [model.get("text"), model.get("known")];
    const [tokens, done] = cut(text, pairs, first);
    used = cut(text, pairs, pairs.length)[1];
    const last = pairs[done.at(-1)];
    const fresh = last && last.replace(" ", "");
    const shown = (token) => make("li", token === fresh ? { class: "fresh" } : {}, make("b", {}, readable(token)), make("span", {}, String(number.get(token))));
    list.replaceChildren(...tokens.map(shown));
    list.style.minHeight = `${list.offsetHeight}px`;
    if (input.value !== text) input.value = text;
    known.value(first, `${first} of ${pairs.length}`);
    const bytes = new TextEncoder().encode(text).length;
    const halves = last && last.split(" ").map((half) => `“${readable(half)}”`);
    say(
      `${bytes} bytes, ${tokens.length} tokens with ${first} merges. ` +
        (last ? `The last one that joins something here is merge ${done.at(-1) + 1}, ${halves.join(" and ")}.` : "None of them joins anything here."),
    );
  });
};
export default { render };
