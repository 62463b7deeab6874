/* From text to tokens and back: byte-level byte-pair encoding, as `attnlib.data.bpe` does it. */

/* ---- Characters: a class of a regular expression from the ranges that Python knows (attnlib/js/letters.py) ---- */
const classOf = (written) => {
  let at = 0;
  const numbers = written.split(" ").map((word) => (at += parseInt(word, 36)));
  const escaped = numbers.map((code) => `\\u{${code.toString(16)}}`);
  return escaped.map((code, i) => (i % 2 ? `-${code}` : code)).join("");
};

/* The pattern published with GPT-2: contractions, words, numbers, the rest, white space. */
const wordPattern = ({ letter, numeral, space }) => {
  const [L, N, s] = [letter, numeral, space].map(classOf);
  const rest = `[^${s}${L}${N}]+`;
  return new RegExp(`'(?:[sdmt]|ll|ve|re)| ?[${L}]+| ?[${N}]+| ?${rest}|[${s}]+(?![^${s}])|[${s}]+`, "gu");
};

/* ---- Bytes: a byte that is no text travels as U+DC80 to U+DCFF, Python's "surrogateescape" ---- */
const LOWEST_ESCAPE = 0xdc80;
const HIGHEST_ESCAPE = 0xdcff;

export const bytesOf = (text) => {
  const bytes = [];
  for (const character of text) {
    const code = character.codePointAt(0);
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
    else if (code >= LOWEST_ESCAPE && code <= HIGHEST_ESCAPE) bytes.push(code & 0xff);
    else if (code >= 0xd800 && code < 0xe000) throw new Error("The text has half a character in it. Paste it again from where it came.");
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
  }
  return bytes;
};

/* The character that begins at byte i and its length; [escape, 1] where the bytes there are no character. */
const characterAt = (bytes, i) => {
  const first = bytes[i];
  const length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  let code = length < 2 ? first : first & (0xff >> (length + 1));
  for (let k = 1; k < length; k++) {
    if ((bytes[i + k] & 0xc0) !== 0x80) return [0xdc00 + first, 1];
    code = (code << 6) | (bytes[i + k] & 63);
  }
  const valid = length && code >= [0, 0, 0x80, 0x800, 0x10000][length] && code < 0x110000 && !(code >= 0xd800 && code < 0xe000);
  return valid ? [code, length] : [0xdc00 + first, 1];
};

const escapedText = (bytes) => {
  let text = "";
  for (let i = 0; i < bytes.length; ) {
    const [code, length] = characterAt(bytes, i);
    text += String.fromCodePoint(code);
    i += length;
  }
  return text;
};

/* ---- The alphabet: which byte has which number (printable ones first) ---- */
const byteNumbers = () => {
  const printing = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  const every = [...Array(256).keys()];
  return [...every.filter(printing), ...every.filter((byte) => !printing(byte))];
};

/* ---- Merging: join the pair of lowest rank, everywhere, until no pair has one ---- */
export const mergeWord = (parts, ranks, size) => {
  for (;;) {
    let best = Infinity;
    for (let i = 0; i + 1 < parts.length; i++) best = Math.min(best, ranks.get(parts[i] * size + parts[i + 1]) ?? Infinity);
    if (best === Infinity) return parts;
    const merged = [];
    for (let i = 0; i < parts.length; i++) {
      const found = i + 1 < parts.length && ranks.get(parts[i] * size + parts[i + 1]) === best;
      merged.push(found ? best : parts[i]);
      if (found) i++;
    }
    parts = merged;
  }
};

/* The tokenizer of a model: `merges` are pairs of tokens, best rank first; the token after them all is `end`. */
export const newTokenizer = ({ merges, characters, end: endText }) => {
  const order = byteNumbers();
  const numberOf = new Map(order.map((byte, number) => [byte, number]));
  const size = 256 + merges.length + 1;
  const ranks = new Map(merges.map(([left, right], rank) => [left * size + right, 256 + rank]));
  const bytes = order.map((byte) => [byte]);
  for (const [left, right] of merges) bytes.push([...bytes[left], ...bytes[right]]);
  const end = bytes.push(bytesOf(endText)) - 1;
  const words = wordPattern(characters);
  const known = new Map();

  const encodeWord = (word) => {
    if (!known.has(word)) known.set(word, mergeWord(bytesOf(word).map((byte) => numberOf.get(byte)), ranks, size));
    return known.get(word);
  };
  const readable = (text) => escapedText(bytesOf(text));
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const encodeWords = (text) => (text.match(words) ?? []).flatMap(encodeWord);
  return {
    end,
    /* Text that somebody pasted: a special token in it is ordinary text. */
    encodeOrdinary: (text) => encodeWords(readable(text)),
    encode: (text) => readable(text).split(endText).flatMap((part, i) => [...(i ? [end] : []), ...encodeWords(part)]),
    bytes: (token) => bytes[token],
    /* The text of tokens; bytes that are no character are shown as �. */
    decode: (tokens) => decoder.decode(Uint8Array.from(tokens.flatMap((token) => bytes[token]))),
  };
};
