/* What can be taken out: four heads, the attention and the network of each block; by its mean or by zeros. */
const partSwitches = (state, changed) => {
  const how = choice("What stands in its place", [["mean", "its mean"], ["zero", "zeros"]], isBroken(state) ? "mean" : state.off[0]?.[1] ?? "mean", (value) => {
    if (!isBroken(state)) state.off = state.off.map(([part]) => [part, value]);
    changed();
  });
  const names = [0, 1, 2, 3].flatMap((l) => [0, 1, 2, 3, "attention", "network"].map((part) => `${l}.${part}`));
  const switches = names.map((name) => {
    const [l, part] = name.split(".");
    return button(/\d/.test(part) ? name : part, () => {
      if (isBroken(state)) state.off = [];
      const there = state.off.some(([one]) => one === name);
      state.off = there ? state.off.filter(([one]) => one !== name) : [...state.off, [name, how.value()]];
      changed();
    }, { "data-part": name, "aria-label": /\d/.test(part) ? `head ${name}` : `${part} of block ${l}` });
  });
  const show = () => switches.forEach((one) => one.setAttribute("aria-pressed", String(state.off.some(([name]) => name === one.dataset.part))));
  return { element: make("div", {}, make("div", { class: "ig-parts", role: "group", "aria-label": "Parts to take out" }, ...switches), how.element), show, how: how.value };
};
