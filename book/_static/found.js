/* The words that one searched for are marked on the page that was found. Marks are painted over the text: no element of
   the page changes, nothing moves. 1. A result shows some of its text and takes the words along. 2. The page that it
   leads to marks them; a bar leads from one to the next, and Escape clears them. */
(() => {
  "use strict";

  /* 1. A word is found by its stem, so what it has in common with its stem is taken along. A place with a name of its
     own (an equation, an exercise, a row of the ledger) needs no marks. */
  const NAMED = /^#((eq|ex)-|[sec]\d{3}$)/;
  const common = (word) => {
    const stem = new Stemmer().stemWord(word);
    let length = 0;
    while (length < word.length && word[length] === stem[length]) length += 1;
    return word.slice(0, length);
  };
  const takeAlong = ({ target }) => {
    const link = target.closest("#search-results a");
    if (!link || NAMED.test(link.hash)) return;
    const query = new URLSearchParams(location.search).get("q") || "";
    const words = splitQuery(query.toLowerCase()).filter((word) => word.length > 1 && !stopwords.includes(word));
    if (words.length) link.search = new URLSearchParams({ highlight: words.map(common).join(" ") });
  };
  /* What is shown of a page is its text: no frame of the page, no code. */
  const LEFT_OUT = "h1, pre, div.math, script, style, template, .headerlink, .katex-html, annotation, .eyebrow, .page-head, .anchor, .asserts";
  const textOf = (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const found = (anchor && page.querySelector(anchor)) || page.querySelector(".bd-article");
    for (const part of found.querySelectorAll(LEFT_OUT)) part.remove();
    return found.textContent;
  };
  if (document.getElementById("search-results")) {
    for (const kind of ["click", "auxclick"]) document.addEventListener(kind, takeAlong, true);
    document.addEventListener("DOMContentLoaded", () => { Search.htmlToText = textOf; });
  }

  /* 2. */
  const UNMARKED = ".katex, svg, button, script, style";
  const marksOf = (words, article) => {
    const pattern = new RegExp(`(?<![\\p{L}\\d])(?:${words.join("|")})[\\p{L}\\d]*`, "giu");
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
    place.scrollIntoView({ block: "center" });
    CSS.highlights.set("found-here", new Highlight(mark));
  };
  const show = (marks, article) => {
    let at = -1;
    const said = document.createElement("output");
    said.textContent = `${marks.length} marked`;
    const next = () => {
      at = (at + 1) % marks.length;
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
    bar.append(said, buttonFor("Next", next), buttonFor("Clear", clear));
    CSS.highlights.set("found", new Highlight(...marks));
    article.after(bar);
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !document.querySelector("dialog[open], #preview")) clear();
    }, true); // before the preview has gone
  };

  const asked = new URLSearchParams(location.search).get("highlight") || "";
  const words = asked.toLowerCase().match(/[\p{L}\d_]+/gu);
  const article = document.querySelector(".bd-article");
  if (!words || !article || !window.Highlight) return;
  const marks = marksOf(words, article);
  if (marks.length) show(marks, article);
})();
