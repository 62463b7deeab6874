/* The model is broken on purpose: the reader predicts how much the surprise rises, and that press breaks it. */
const breaking = (state, changed, breaks) => {
  let predicted = null;
  const said = make("p", { role: "status" });
  const set = (off, rise) => {
    [state.off, predicted] = [off, rise];
    changed();
  };
  const which = choice("The model", Object.entries(breaks).map(([key, { name }]) => [key, `with ${name}`]), "root", () => {});
  const mend = button("Mend it", () => set([], null));
  const presses = ["under 0.1", "0.1 to 1", "over 1"].map((name) => button(name, () => set([[which.value(), "break"]], name)));
  /* `rise` is that of the text, in bits a byte. */
  const show = (rise) => {
    const found = isBroken(state) && breaks[state.off[0][0]];
    mend.disabled = !found;
    said.replaceChildren();
    if (!found) return;
    which.set(state.off[0][0]);
    said.append(`${predicted ? `You predicted ${predicted}. ` : ""}The surprise rises by ${digits(rise)} bits a byte. ${found.lesson} `, linkTo(found));
  };
  return { element: make("div", {}, which.element, make("p", {}, "Predict by how many bits a byte the surprise rises:"), make("div", { class: "ig-row" }, ...presses, mend), said), show };
};
const isBroken = ({ off }) => off[0]?.[1] === "break";
