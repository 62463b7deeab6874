/* What a page does besides being read. Without scripts everything is still there: these are conveniences.
   1. A box that is wider than the screen can be scrolled with the keyboard.
   2. Pointing at a link to an equation, a symbol or a term of the glossary, moving the focus to it or tapping it once
      shows what it stands for; Escape hides it.
   3. A picture to move gets its script when it is nearly in view.
   4. A figure opens large. */
(() => {
  "use strict";

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };

  /* 1. A box reports its size when it is laid out, which for those far below is when the reader comes near; until
     then it counts as one that may scroll. */
  const BOXES = ".katex-display, .drawing, .pst-scrollable-table-container, .bd-article pre, .cell_output > .output";
  const laidOut = new Set();
  const letScroll = (box) => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  };
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      laidOut.add(target);
      letScroll(target);
    }
  });

  /* 2. */
  const previewOf = (link) => {
    const url = new URL(link.href, location.href);
    const label = decodeURIComponent(url.hash.slice(1));
    const name = CSS.escape(label);
    const stored = document.querySelector(`template[data-equation="${name}"], template[data-preview="${name}"]`);
    if (stored) return stored.content.cloneNode(true);
    if (url.pathname !== location.pathname) return null;
    const equation = document.getElementById(label);
    if (!equation) return null;
    const copy = equation.cloneNode(true);
    copy.removeAttribute("id");
    return copy;
  };

  /* A formula in words. Read as plain text, its MathML would lose every fraction, root and index. */
  const inOne = (words) => (/^(\S*|\([^()]*\))$/.test(words) ? words : `(${words})`);
  const WORDS = {
    mfrac: ([above, below]) => `${inOne(above)} over ${inOne(below)}`,
    msqrt: (parts) => `the root of ${inOne(parts.join(" "))}`,
    msub: ([base, index]) => `${base} ${base === "sum" ? "over" : "sub"} ${index}`,
    msup: ([base, power]) => (/^(transposed|prime)$/.test(power) ? `${base} ${power}` : `${base} to the ${inOne(power)}`),
    msubsup: ([base, index, power]) => WORDS.msup([`${base} sub ${index}`, power]),
    munder: ([base, index]) => `${base} over ${index}`,
    mtable: (rows) => rows.filter(Boolean).join("; "),
    munderover: ([base, from, to]) => `${base} from ${from} to ${to}`,
    annotation: () => "",
  };
  const SIGNS = { "∑": "sum", "∏": "product", "−": "minus", "⊤": "transposed", "′": "prime", "ˉ": "bar" };
  const aloud = (node) => {
    const parts = [...node.children].map(aloud);
    const plain = () => parts.filter(Boolean).join(" ") || SIGNS[node.textContent] || node.textContent.trim();
    return (WORDS[node.localName] || plain)(parts);
  };
  const nameOf = (content) => {
    const meaning = content.querySelector(".meaning");
    if (meaning) return meaning.textContent;
    const formula = content.querySelector("math");
    const number = /\\tag\{([^}]*)\}/.exec(formula?.textContent)?.[1] || "";
    const words = formula ? aloud(formula).replace(`(${number})`, "") : "";
    return `Equation ${number}: ${words.replace(/[\u2061-\u2064]/g, "").replace(/\s+(?=[\s),;.])|(?<=\()\s+/g, "").trim()}`;
  };

  let box = null;
  let timer = 0;
  const hide = () => {
    clearTimeout(timer);
    if (box) box.remove();
    document.querySelector("[aria-describedby=preview]")?.removeAttribute("aria-describedby");
    box = null;
  };
  const hideSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(hide, 200); // the pointer may move on to what is shown
  };
  const show = (link) => {
    hide();
    const content = previewOf(link);
    if (!content) return false;
    const name = link.getAttribute("aria-label"); // that of a symbol says what it means
    box = make("div", { class: "preview", id: "preview", role: "tooltip", "aria-label": name || nameOf(content) }, content);
    box.dataset.of = link.href;
    if (touched) box.append(make("p", { class: "lead-on" }, "Tap again to go there."));
    box.addEventListener("pointerenter", () => clearTimeout(timer));
    box.addEventListener("pointerleave", hideSoon);
    document.querySelector(".bd-article").append(box);
    if (!name) link.setAttribute("aria-describedby", "preview");
    // No key scrolls a preview, so a wide formula is set smaller.
    const formula = box.querySelector(".katex-display");
    formula?.removeAttribute("tabindex");
    if (formula?.scrollWidth > formula?.clientWidth) box.style.fontSize = `${formula.clientWidth / formula.scrollWidth}rem`;
    const frame = box.offsetParent.getBoundingClientRect();
    const at = link.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.left), document.documentElement.clientWidth - box.offsetWidth - 8);
    const above = at.top > box.offsetHeight + 60;
    box.style.left = `${left - frame.left}px`;
    box.style.top = `${(above ? at.top - box.offsetHeight - 6 : at.bottom + 6) - frame.top}px`;
    return true;
  };
  /* A finger does not point: its first tap shows, the second leads on. */
  const SHOWN = '.bd-article :is(a[href*="#eq-"], a.symbol, a.term)';
  let touched = null; // the link that a finger has just come down on, and whether it was shown then
  const watch = () => {
    for (const link of document.querySelectorAll(SHOWN)) {
      link.addEventListener("pointerdown", ({ pointerType }) => {
        touched = pointerType === "touch" ? { link, shown: box?.dataset.of === link.href } : null;
      });
      link.addEventListener("pointerenter", ({ pointerType }) => {
        clearTimeout(timer);
        if (pointerType !== "touch") timer = setTimeout(show, 120, link);
      });
      link.addEventListener("pointerleave", ({ pointerType }) => pointerType !== "touch" && hideSoon());
      link.addEventListener("focus", () => show(link));
      link.addEventListener("blur", hide);
      link.addEventListener("click", (event) => {
        const first = touched?.link === link && !touched.shown;
        touched = null;
        if (first && (box?.dataset.of === link.href || show(link))) event.preventDefault();
        else hide();
      });
    }
    document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
    document.addEventListener("pointerdown", ({ target }) => {
      if (box && !box.contains(target) && !target.closest?.(SHOWN)) hide();
    });
  };

  /* 3. */
  const scripts = new Map();
  const arrived = (path) => {
    const promise = scripts.get(path) || new Promise((done, fail) => {
      const script = make("script", { src: `${document.documentElement.dataset.content_root}_static/${path}` });
      script.onload = done;
      script.onerror = () => fail(new Error("its script did not arrive"));
      document.head.append(script);
    });
    scripts.set(path, promise);
    return promise;
  };
  const bring = async (box) => {
    try {
      await arrived(box.dataset.script);
      await window.explorables.mount(box);
    } catch (error) {
      box.dataset.failed = "true";
      const why = `This picture cannot be moved here: ${error.message}. It shows the state it starts from.`;
      box.append(make("p", { class: "explorable-failed", role: "status" }, why));
      console.error(error);
    }
  };
  const near = new IntersectionObserver(
    (boxes) => boxes.filter((box) => box.isIntersecting).forEach(({ target }) => { near.unobserve(target); bring(target); }),
    { rootMargin: "800px" },
  );

  /* 4. The drawing itself moves into a box and back, so that nothing in it is there twice. */
  const enlarge = (button) => {
    const caption = button.closest(".figure-caption");
    const shown = caption.previousElementSibling;
    const drawing = shown.querySelector(".drawing") || shown;
    const kept = make("div", { class: "kept" });
    kept.style.height = `${drawing.offsetHeight}px`;
    const close = make("button", { type: "button" }, "Close");
    const large = make("dialog", { class: "large", "aria-label": caption.querySelector("b").textContent }, close);
    drawing.replaceWith(kept);
    large.append(drawing);
    document.querySelector(".bd-article").append(large);
    close.addEventListener("click", () => large.close());
    large.addEventListener("click", ({ target }) => target === large && large.close());
    large.addEventListener("close", () => {
      kept.replaceWith(drawing);
      large.remove();
      button.focus();
    });
    large.showModal();
  };

  for (const box of document.querySelectorAll(BOXES)) {
    box.tabIndex = 0;
    sizes.observe(box);
  }
  document.fonts?.addEventListener("loadingdone", () => laidOut.forEach(letScroll));
  watch();
  for (const button of document.querySelectorAll(".enlarge")) button.addEventListener("click", () => enlarge(button));
  document.querySelectorAll(".explorable").forEach((box) => near.observe(box));
})();
