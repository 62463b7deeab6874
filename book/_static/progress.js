/* What a reader has read and solved. It is one entry of localStorage, `attention-executed`, in JSON:

     {"version": 1, "read": {"book/01-foundations/2-the-attention-function": "2026-11-22"},
      "solved": {"foundations.softmax": {"page": "book/01-foundations/4-softmax-and-scale", "on": "2026-11-22"}}}

   Other scripts use `window.courseProgress`: `get()` gives it, `read(page, yes)` and `solve(id, page, yes)` change it, and
   the event `progress` on `document` says that it has changed, in another window too. The contents show it; the first
   page saves, loads and forgets it. A page counts as read when its end was in sight a minute after one came to it. */
(() => {
  "use strict";

  const KEY = "attention-executed";
  const MINUTE = 60000;
  const EMPTY = { version: 1, read: {}, solved: {} };
  const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const isProgress = (value) => isRecord(value) && value.version === 1 && isRecord(value.read) && isRecord(value.solved);
  let kept = EMPTY; // where the browser refuses to remember, for as long as the page is open
  const get = () => {
    try {
      const stored = JSON.parse(localStorage.getItem(KEY));
      return isProgress(stored) ? stored : kept;
    } catch {
      return kept;
    }
  };
  const set = (progress) => {
    kept = progress;
    try { localStorage.setItem(KEY, JSON.stringify(progress)); } catch { /* see above */ }
    document.dispatchEvent(new Event("progress"));
  };
  const today = () => new Date().toISOString().slice(0, 10);
  const change = (part, name, value) => {
    const progress = structuredClone(get());
    if (value) progress[part][name] = value;
    else delete progress[part][name];
    set(progress);
  };
  const read = (page, yes = true) => change("read", page, yes && today());
  const solve = (id, page, yes = true) => change("solved", id, yes && { page, on: today() });
  window.courseProgress = { get, read, solve };

  /* The contents. */
  const entries = [...document.querySelectorAll("nav.bd-links li[data-page]")];
  const stateOf = (page, count, { read: pages, solved }) => {
    const done = Object.values(solved).filter((one) => one.page === page).length;
    return [pages[page] ? "read" : "", done ? `${done} of ${count} exercises solved` : ""].filter(Boolean).join(", ");
  };
  const showInContents = (progress) => {
    for (const entry of entries) {
      const said = stateOf(entry.dataset.page, entry.dataset.exercises, progress);
      let mark = entry.querySelector(".done");
      if (!said) { mark?.remove(); continue; }
      if (!mark) {
        mark = document.createElement("span");
        mark.className = "done";
        mark.setAttribute("role", "img");
        entry.querySelector("a").append(mark);
      }
      mark.textContent = said.startsWith("read") ? "\u2713" : "\u25CB";
      mark.title = said;
      mark.setAttribute("aria-label", said);
    }
  };

  /* The foot of a notebook. */
  const here = document.querySelector("nav.bd-links li[data-page].active, nav.bd-links li[data-page].current")?.dataset.page;
  const button = document.querySelector(".mark-read");
  const showAtFoot = (progress) => {
    if (!button) return;
    const yes = Boolean(progress.read[here]);
    button.setAttribute("aria-pressed", yes);
    button.textContent = yes ? "\u2713 Read" : "Mark as read";
  };
  if (button && here) {
    button.addEventListener("click", () => read(here, !get().read[here]));
    const came = Date.now();
    const end = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting || Date.now() - came < MINUTE) return;
      end.disconnect();
      if (!get().read[here]) read(here);
    });
    end.observe(button);
  }

  /* The first page. */
  const tools = document.querySelector(".progress-tools");
  const start = document.querySelector(".start");
  const said = tools?.querySelector(".progress-said");
  const showOnFirst = (progress) => {
    if (!said) return;
    const pages = entries.filter(({ dataset }) => progress.read[dataset.page]).length;
    const solved = Object.keys(progress.solved).length;
    said.textContent = pages || solved ? `${pages} of ${entries.length} notebooks read, ${solved} exercises solved.` : "Nothing yet.";
    const next = pages && entries.find(({ dataset }) => !progress.read[dataset.page])?.querySelector("a");
    start.querySelector(".go-on")?.remove();
    if (!next) return;
    const link = document.createElement("a");
    link.className = "go-on";
    link.href = next.getAttribute("href");
    link.textContent = `Go on with ${next.querySelector(".nr").textContent} ${next.querySelector(".name").textContent}`;
    start.append(link);
  };
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(get(), null, 1)], { type: "application/json" }));
    link.download = `${KEY}-progress.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), MINUTE);
  };
  const load = async (file) => {
    let progress = null;
    try { progress = JSON.parse(await file.text()); } catch { /* said below */ }
    if (isProgress(progress)) {
      const before = get();
      set({ version: 1, read: { ...before.read, ...progress.read }, solved: { ...before.solved, ...progress.solved } });
    } else {
      said.textContent = `${file.name} is not a copy saved by this book; nothing was changed.`;
    }
  };
  if (tools) {
    const file = tools.querySelector("input");
    const does = { export: save, import: () => file.click(), forget: () => set(EMPTY) };
    tools.addEventListener("click", ({ target }) => does[target.dataset.does]?.());
    file.addEventListener("change", () => {
      if (file.files[0]) load(file.files[0]);
      file.value = "";
    });
  }

  const show = () => {
    const progress = get();
    showInContents(progress);
    showAtFoot(progress);
    showOnFirst(progress);
  };
  document.addEventListener("progress", show);
  addEventListener("storage", ({ key }) => key === KEY && show());
  addEventListener("pageshow", ({ persisted }) => persisted && show());
  show();
})();
