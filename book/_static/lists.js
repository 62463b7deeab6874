/* The lists of the ledger and of the exercises get a search box and filters. What is chosen stands in the address, and is
   remembered with the page's place in the history: it survives a reload and a way back, from a disk too. */
(() => {
  "use strict";

  const has = (name) => [(row) => (row.dataset[name] ? row.dataset[name].split(name === "documents" ? " " : "\n") : []),
    (row, value, values) => values(row).includes(value)];
  const FILTERS = {
    ledger: [["chapter", "Chapter", ...has("chapter")], ["document", "Document", ...has("documents")], ["verdict", "Verdict", ...has("verdict")], ["evidence", "Evidence", ...has("evidence")]],
    exercises: [["chapter", "Chapter", ...has("chapter")], ["kind", "Kind", ...has("kind")], ["level", "Level", ...has("level")],
      ["minutes", "Minutes", (row) => row.closest("ol").dataset.steps.split(" "), (row, value) => +row.dataset.minutes <= +value]],
  };
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const byNumber = (a, b) => (isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b);
  const chooser = ([name, title, valuesOf, fits], rows, names) => {
    const count = new Map();
    for (const value of new Set(rows.flatMap(valuesOf))) count.set(value, rows.filter((row) => fits(row, value, valuesOf)).length);
    if (count.size < 2) return null;
    const select = make("select", { id: `ledger-${name}`, name }, make("option", { value: "" }, "all"));
    for (const value of [...count.keys()].sort(byNumber)) {
      const said = { minutes: `at most ${value}`, level: "\u2605".repeat(+value) }[name] || [value, names[value]].filter(Boolean).join(" ");
      select.append(make("option", { value }, `${said} (${count.get(value)})`));
    }
    return { select, label: make("label", { for: select.id }, title, select), fits: (row) => !select.value || fits(row, select.value, valuesOf) };
  };
  const onPages = () => {
    const box = make("input", { type: "checkbox", name: "rows" });
    try { box.checked = localStorage.getItem("rows") === "on"; } catch { /* a browser may refuse to remember */ }
    box.addEventListener("change", () => {
      document.documentElement.dataset.rows = box.checked ? "on" : "off";
      try { localStorage.setItem("rows", box.checked ? "on" : "off"); } catch { /* as above */ }
    });
    return make("label", { class: "on-pages" }, box, "Show on each page which rows it treats");
  };
  const minutesOf = (rows) => rows.reduce((sum, row) => sum + +row.dataset.minutes, 0);

  const filter = (list) => {
    const kind = list.matches(".exercises") ? "exercises" : "ledger";
    const rows = [...list.children], what = kind === "ledger" ? "rows" : "exercises";
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const tools = list.previousElementSibling; // its place is kept free, so that nothing moves
    const search = make("input", { type: "search", id: "ledger-search", name: "q", autocomplete: "off" });
    const choosers = FILTERS[kind].map((one) => chooser(one, rows, JSON.parse(list.dataset.names || "{}"))).filter(Boolean);
    const shown = make("output", { for: "ledger-search" });
    const all = make("button", { type: "button" }, `Show all ${rows.length} ${what}`);
    const line = make("p", { class: "shown" }, shown, all, ...(kind === "ledger" ? [onPages()] : []));
    tools.append(make("label", { class: "wide", for: "ledger-search" }, "Search", search), ...choosers.map(({ label }) => label), line);
    const fields = [search, ...choosers.map(({ select }) => select)];

    const apply = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      rows.forEach((row, i) => {
        row.hidden = !(words.every((word) => texts[i].includes(word)) && choosers.every(({ fits }) => fits(row)));
      });
      const left = rows.filter((row) => !row.hidden);
      const counted = left.length === rows.length ? `${rows.length} ${what}` : `${left.length} of ${rows.length} ${what}`;
      shown.textContent = kind === "ledger" ? counted : `${counted}, ${minutesOf(left)} minutes`;
      all.hidden = left.length === rows.length;
    };
    const remember = () => {
      const chosen = Object.fromEntries(fields.filter(({ value }) => value).map(({ name, value }) => [name, value]));
      const query = new URLSearchParams(chosen).toString();
      const address = location.protocol === "file:" ? location.href : `${location.pathname}${query && "?"}${query}${location.hash}`;
      history.replaceState({ ...history.state, chosen }, "", address);
    };
    const choose = (chosen) => {
      for (const field of fields) {
        field.value = chosen[field.name] || "";
        if (field.selectedIndex === -1) field.value = ""; // an address may ask for what is not there
      }
      apply();
    };
    const reveal = () => {
      const row = document.getElementById(location.hash.slice(1));
      if (!row?.hidden) return;
      choose({});
      remember();
      row.scrollIntoView();
    };
    all.addEventListener("click", () => { choose({}); remember(); search.focus(); });
    tools.addEventListener("input", () => { apply(); remember(); });
    tools.addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", reveal);
    choose(history.state?.chosen || Object.fromEntries(new URLSearchParams(location.search)));
    reveal();
  };
  document.querySelectorAll("ol.ledger, ol.exercises").forEach(filter);
})();
