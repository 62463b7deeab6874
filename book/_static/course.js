/* What a page does besides being read. Without scripts everything is still there: these are conveniences.
   1. A box that is wider than the screen can be scrolled with the keyboard.
   2. Pointing at a link to an equation or a symbol, or moving the focus to it, shows what it stands for; Escape hides it.
   3. The pages of the ledger get a search box and filters.
   4. A picture to move gets its script when it is nearly in view. */
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
    if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
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
    if (!content) return;
    const name = link.getAttribute("aria-label"); // that of a symbol says what it means
    box = make("div", { class: "preview", id: "preview", role: "tooltip", "aria-label": name || nameOf(content) }, content);
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
  };
  const watch = () => {
    for (const link of document.querySelectorAll('.bd-article :is(a[href*="#eq-"], a.symbol)')) {
      link.addEventListener("pointerenter", () => {
        clearTimeout(timer);
        timer = setTimeout(show, 120, link);
      });
      link.addEventListener("pointerleave", hideSoon);
      link.addEventListener("focus", () => show(link));
      link.addEventListener("blur", hide);
      link.addEventListener("click", hide);
    }
    document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  };

  /* 3. */
  const FILTERS = [
    ["chapter", "Chapter", (row) => [row.dataset.chapter]],
    ["document", "Document", (row) => row.dataset.documents.split(" ")],
    ["verdict", "Verdict", (row) => (row.dataset.verdict ? [row.dataset.verdict] : [])],
  ];
  const filterLedger = (list) => {
    const rows = [...list.children];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const names = JSON.parse(list.dataset.names);
    const wanted = new URLSearchParams(location.search);
    const search = make("input", { type: "search", id: "ledger-search", autocomplete: "off" });
    search.value = wanted.get("q") || "";
    const tools = list.previousElementSibling; // its place is kept free, so that nothing moves
    tools.append(make("label", { class: "wide", for: "ledger-search" }, "Search", search));
    const active = [];
    for (const [name, title, valuesOf] of FILTERS) {
      const count = new Map();
      for (const row of rows) for (const value of valuesOf(row)) count.set(value, (count.get(value) || 0) + 1);
      if (count.size < 2) continue;
      const select = make("select", { id: `ledger-${name}` }, make("option", { value: "" }, "all"));
      for (const value of [...count.keys()].sort()) {
        const name = names[value] ? `${value} ${names[value]}` : value;
        select.append(make("option", { value }, `${name} (${count.get(value)})`));
      }
      select.value = wanted.get(name) || "";
      tools.append(make("label", { for: select.id }, title, select));
      active.push([name, select, valuesOf]);
    }
    const shown = make("output", { for: "ledger-search" });
    tools.append(shown);

    const apply = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let number = 0;
      rows.forEach((row, i) => {
        const fits =
          words.every((word) => texts[i].includes(word)) &&
          active.every(([, select, valuesOf]) => !select.value || valuesOf(row).includes(select.value));
        row.hidden = !fits;
        number += fits;
      });
      shown.textContent = number === rows.length ? `${rows.length} rows` : `${number} of ${rows.length} rows`;
    };
    const remember = () => {
      const query = new URLSearchParams();
      if (search.value) query.set("q", search.value);
      for (const [name, select] of active) if (select.value) query.set(name, select.value);
      if (location.protocol !== "file:") history.replaceState(null, "", `${query.size ? `?${query}` : location.pathname}`);
    };
    const reveal = () => {
      const row = document.getElementById(location.hash.slice(1));
      if (!row || !row.hidden) return;
      tools.reset();
      search.value = "";
      apply();
      row.scrollIntoView();
    };
    tools.addEventListener("input", () => { apply(); remember(); });
    tools.addEventListener("submit", (event) => event.preventDefault());
    window.addEventListener("hashchange", reveal);
    apply();
    reveal();
  };

  /* 4. */
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

  for (const box of document.querySelectorAll(BOXES)) {
    box.tabIndex = 0;
    sizes.observe(box);
  }
  document.fonts?.addEventListener("loadingdone", () => laidOut.forEach(letScroll));
  watch();
  document.querySelectorAll("ol.ledger").forEach(filterLedger);
  document.querySelectorAll(".explorable").forEach((box) => near.observe(box));
})();
