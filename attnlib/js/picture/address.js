/* Everything that the picture shows has an address: what stands after `#gpt?` in the URL. */
const START = { text: "", seed: 1, t: -1, temperature: 0.8, topK: 0, nucleus: 1, head: "2.1", kind: "opening bracket", open: "", off: [] };

const fromAddress = (hash) => {
  if (!hash.startsWith("#gpt?")) return {};
  const given = new URLSearchParams(hash.slice(5));
  const number = (name, low, high) => {
    const x = Number(given.get(name));
    return given.has(name) && Number.isFinite(x) ? { [name]: Math.min(high, Math.max(low, x)) } : {};
  };
  const off = (given.get("off") ?? "").split(",").map((one) => one.split(":")).filter(([part, how]) => (/^[0-3]\.([0-3]|attention|network)$/.test(part) && /^(zero|mean)$/.test(how)) || (how === "break" && /^(root|mask|last|gain|residual|qk|kv|late|eps)$/.test(part)));
  return {
    ...(given.has("text") ? { text: given.get("text") } : {}),
    ...number("seed", 0, 999999), ...number("t", -1, 255), ...number("temperature", 0, 2), ...number("topK", 0, 50), ...number("nucleus", 0.05, 1),
    ...(/^[0-3]\.[0-3]$/.test(given.get("head")) ? { head: given.get("head") } : {}),
    ...(given.has("kind") ? { kind: given.get("kind") } : {}),
    ...(/^[\w.]+$/.test(given.get("open")) ? { open: given.get("open") } : {}),
    off,
  };
};

const toAddress = (state) => {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(START)) {
    if (name === "off") state.off.length && words.set("off", state.off.map((one) => one.join(":")).join(","));
    else if (state[name] !== value) words.set(name, state[name]);
  }
  return `#gpt?${words}`;
};
