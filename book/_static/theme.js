/* The frame of the page, in place of the theme's own scripts (80 KB, most of which no page of ours uses).
   1. Colours: as the system says, or as chosen. 2. The search box, also by Ctrl-K. 3. The side bars, as boxes on small
   screens. 4. The contents beside the text follow the reading. 5. Back to top. 6. Copy buttons on code. 7. A jump within
   the page lands where it should. */
(() => {
  "use strict";

  const root = document.documentElement;
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const store = (area, key, value) => {
    try { area().setItem(key, value); } catch { /* a browser may refuse to remember */ }
  };

  /* 1. The script in the head has set them for the first paint. */
  const night = matchMedia("(prefers-color-scheme: dark)");
  const setMode = (mode) => {
    root.dataset.mode = mode;
    root.dataset.theme = mode === "auto" ? (night.matches ? "dark" : "light") : mode;
  };
  for (const button of all(".theme-switch-button")) {
    button.addEventListener("click", () => {
      const round = night.matches ? ["auto", "light", "dark"] : ["auto", "dark", "light"];
      setMode(round[(round.indexOf(root.dataset.mode) + 1) % 3]);
      store(() => localStorage, "mode", root.dataset.mode);
    });
  }
  night.addEventListener("change", () => setMode(root.dataset.mode));

  /* Whether the teaching pages show which rows of the ledger they treat. */
  const setRows = (on) => { root.dataset.rows = on ? "on" : "off"; };
  try { setRows(localStorage.getItem("rows") === "on"); } catch { setRows(false); }
  addEventListener("storage", ({ key, newValue }) => { if (key === "rows") setRows(newValue === "on"); });

  /* A click outside a box closes it; Escape does so by itself. */
  const closeFromOutside = (box) => {
    box.addEventListener("click", (event) => {
      const { left, right, top, bottom } = box.getBoundingClientRect();
      const inside = left <= event.clientX && event.clientX <= right && top <= event.clientY && event.clientY <= bottom;
      if (event.target === box && !inside) box.close();
    });
  };

  /* 2. */
  const mac = /^(Mac|iPhone|iPad)/.test(navigator.platform);
  const dialog = one("#pst-search-dialog");
  const openSearch = () => {
    const field = one(":not(#pst-search-dialog) > form.bd-search input"); // on the search page it is there already
    if (field) field.focus();
    else if (dialog.open) dialog.close();
    else dialog.showModal();
  };
  if (dialog) {
    closeFromOutside(dialog);
    for (const button of all(".search-button__button")) button.addEventListener("click", openSearch);
    document.addEventListener("keydown", (event) => {
      const wanted = (mac ? event.metaKey : event.ctrlKey) && event.key.toLowerCase() === "k";
      if (!wanted || event.shiftKey || event.altKey) return;
      event.preventDefault();
      openSearch();
    });
    if (mac) for (const key of all(".search-button__kbd-shortcut kbd:first-child")) key.textContent = "\u2318";
  }

  /* 3. */
  const move = (from, to) => {
    to.append(...from.childNodes);
    [to.className, from.className] = [from.className, ""];
  };
  const foldable = (name, staysBeside) => {
    const bar = one(`#pst-${name}-sidebar`);
    const box = one(`#pst-${name}-sidebar-modal`);
    const button = one(`.${name}-toggle`);
    if (!bar || !box || !button) return;
    button.addEventListener("click", () => {
      if (matchMedia(staysBeside).matches) return bar.classList.toggle("pst-sidebar-hidden");
      move(bar, box);
      box.showModal();
      box.querySelector("a.active, a.current.reference")?.scrollIntoView({ block: "center" });
    });
    closeFromOutside(box);
    box.addEventListener("click", (event) => event.target.closest("a") && box.close());
    box.addEventListener("close", () => move(box, bar));
  };
  foldable("primary", "(min-width: 992px)");
  foldable("secondary", "not all");

  const sidebar = one("#pst-primary-sidebar");
  const here = one(".bd-docs-nav .current.reference");
  if (sidebar && here) {
    const below = here.getBoundingClientRect().top - innerHeight / 2;
    if (below > 0) sidebar.scrollTop = below + innerHeight / 4;
  }

  /* 4. What is being read is the last heading above the upper third of the window. */
  const entries = new Map();
  for (const link of all("#pst-page-toc-nav a")) {
    const heading = document.getElementById(link.hash.slice(1))?.querySelector("h1, h2, h3, h4");
    if (heading) entries.set(heading, link);
  }
  const contents = one("#pst-secondary-sidebar");
  const keepInSight = (link) => {
    const { top, bottom } = link.getBoundingClientRect(), frame = contents.getBoundingClientRect();
    const inside = frame.top + 48 < top && bottom < frame.bottom - 48;
    if (!inside) contents.scrollTop += top - frame.top - frame.height / 3;
  };
  const mark = (current) => {
    for (const link of entries.values()) {
      link.classList.toggle("active", link === current);
      if (link === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    if (current) keepInSight(current);
  };
  const above = new Set();
  const watcher = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) above[isIntersecting ? "add" : "delete"](target);
    mark(entries.get([...entries.keys()].findLast((heading) => above.has(heading))));
  }, { rootMargin: "1000000px 0px -70% 0px" });
  for (const heading of entries.keys()) watcher.observe(heading);

  /* 5. The button shows once the first screen is gone; on a narrow one, where it would lie on the text, on the way up. */
  const top = one("#pst-back-to-top");
  let before = 0;
  const onScroll = () => {
    if (scrollY !== before) document.body.classList.toggle("going-up", scrollY < before);
    before = scrollY;
    document.body.classList.toggle("scrolled", scrollY > 0);
    document.body.classList.toggle("far-down", scrollY > innerHeight);
  };
  addEventListener("scroll", onScroll, { passive: true });
  top?.addEventListener("click", () => scrollTo({ top: 0 }));

  /* 6. Where the browser keeps its clipboard closed, the code is marked for Ctrl-C instead. */
  const copy = (button, code) => {
    const done = () => {
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    };
    const markIt = () => getSelection().selectAllChildren(code);
    if (!navigator.clipboard) return markIt();
    navigator.clipboard.writeText(code.textContent.replace(/\n$/, "")).then(done, markIt);
  };
  for (const code of all("div.highlight pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copybtn";
    button.textContent = "Copy";
    button.addEventListener("click", () => copy(button, code));
    code.after(button);
  }

  /* 7. What is far below is laid out when the reader comes near (course.css), so before a jump everything is. A fold that
     one jumps to, or into, opens. A row or an equation that has moved to another page is shown there. */
  const leadOn = (name) => {
    if (!/^([sec]\d{3}|eq-.+)$/.test(name)) return;
    const script = document.createElement("script");
    script.src = `${root.dataset.content_root}_static/places.js`;
    script.onload = () => {
      const page = Object.keys(window.places).find((one) => window.places[one].split(" ").includes(name));
      if (page) location.replace(`${root.dataset.content_root}${page}.html#${name}`);
    };
    document.head.append(script);
  };
  const unfold = () => {
    const name = decodeURIComponent(location.hash.slice(1));
    const place = name && document.getElementById(name);
    if (!place) return leadOn(name);
    const own = place.matches("details") ? place : place.querySelector(":scope > details");
    for (let fold = own || place.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    place.scrollIntoView();
  };
  document.addEventListener("click", ({ target }) => {
    const link = target.closest?.("a[href*='#']");
    if (link && link.pathname === location.pathname) root.dataset.whole = "";
  }, true);
  addEventListener("hashchange", () => {
    root.dataset.whole = "";
    unfold();
  });
  if (performance.getEntriesByType("navigation")[0]?.type === "navigate") unfold();
})();
