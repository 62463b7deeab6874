/* The words that one searched for are marked on the page that was found. Marks are painted over the text: no element of
   the page changes, nothing moves. The page opens at the first mark of the place that was found; a bar leads from one to
   the next, and Escape clears them. The words come with the address and are taken out of it: a page that is loaded again
   or come back to has no marks of an earlier search. */
(() => {
  "use strict";

  const UNMARKED = ".katex, svg, button, script, style";
  const marksOf = (words, article) => {
    const pattern = new RegExp(`(?<![\\p{L}\\d])(?:${words.join("|")})(?![\\p{L}\\d])`, "giu");
    const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    const marks = [];
    while (texts.nextNode()) {
      const node = texts.currentNode;
      if (node.parentElement.closest(UNMARKED)) continue;
      for (const { index, 0: word } of node.data.matchAll(pattern)) {
        const [startContainer, endContainer] = [node, node];
        marks.push(new StaticRange({ startContainer, startOffset: index, endContainer, endOffset: index + word.length }));
      }
    }
    return marks;
  };
  const buttonFor = (text, action) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.addEventListener("click", action);
    return button;
  };
  const goTo = (mark) => {
    const place = mark.startContainer.parentElement;
    for (let fold = place.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    document.documentElement.dataset.whole = ""; // every section has its height before one of them is gone to
    place.scrollIntoView({ block: "center" });
    CSS.highlights.set("found-here", new Highlight(mark));
  };
  const show = (marks, article, first) => {
    let at = -1;
    const said = document.createElement("output");
    said.textContent = `${marks.length} marked`;
    const to = (next) => {
      at = next % marks.length;
      goTo(marks[at]);
      said.textContent = `${at + 1} of ${marks.length}`;
    };
    const bar = document.createElement("section");
    const clear = () => {
      bar.remove();
      for (const name of ["found", "found-here"]) CSS.highlights.delete(name);
    };
    bar.className = "found-bar";
    bar.ariaLabel = "What was searched for";
    bar.append(said, buttonFor("Next", () => to(at + 1)), buttonFor("Clear", clear));
    CSS.highlights.set("found", new Highlight(...marks));
    article.after(bar);
    const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    if (first >= 0) addEventListener("load", async () => {
      document.documentElement.dataset.whole = "";
      await drawn(); // only what is drawn asks for its fonts, which may change heights
      await document.fonts.ready;
      await drawn();
      to(first);
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !document.querySelector("dialog[open], #preview")) clear();
    }, true); // before the preview has gone
  };

  /* The first mark of the place that was asked for: of its section, or else of the page. */
  const firstOf = (marks) => {
    const place = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const section = place && (place.closest("section[id]") || place);
    const inside = section ? marks.findIndex(({ startContainer }) => section.contains(startContainer)) : 0;
    return !section || inside >= 0 ? inside : -1;
  };

  const url = new URL(location.href);
  const asked = history.state?.marked ? "" : url.searchParams.get("highlight") || "";
  const words = asked.toLowerCase().split("|").map((word) => word.trim()).filter(Boolean)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&").replace(/[\s-]+/g, "[\\s-]+"))
    .sort((a, b) => b.length - a.length);
  const article = document.querySelector(".bd-article");
  if (!words.length || !article || !window.Highlight) return;
  url.searchParams.delete("highlight");
  history.replaceState({ ...history.state, marked: true }, "", location.protocol === "file:" ? location.href : url);
  const marks = marksOf(words, article);
  if (marks.length) show(marks, article, firstOf(marks));
})();
