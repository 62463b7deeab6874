/* What a reader has read, answered and predicted. It is one entry of localStorage, `attention-executed`, in JSON:

     {"version": 1, "exercises": {"foundations.softmax": {"attempts": 2, "passed": true, "hints": 1, "solution": false}},
      "read": {"book/01-foundations/2-the-attention-function": "2026-11-22"}, "predicted": {"1f3a90bc": "about 8"}}

   Its first two fields are the progress file of Python (attnlib/exercises/engine/store.py), so either reads what the other
   has saved. Other scripts use `window.courseProgress`: `get()` gives it, `read(page, yes)`, `tried(id, passed)`,
   `solve(id, yes)`, `helped(id, fields)` and `predict(key, text)` change it, and the event `progress` on `document` says that
   it has changed, in another window too. The contents show it; the first page saves, loads and forgets it. A page counts as
   read when its end was in sight a minute after one came to it. */
(() => {
  "use strict";

  const KEY = "attention-executed";
  const MINUTE = 60000;
  const EMPTY = { version: 1, exercises: {}, read: {}, predicted: {} };
  const UNTRIED = { attempts: 0, passed: false, hints: 0, solution: false };
  const PARTS = ["exercises", "read", "predicted"];
  const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const isProgress = (value) =>
    isRecord(value) && value.version === 1 && PARTS.some((part) => part in value) && PARTS.every((part) => isRecord(value[part] ?? {}));
  let kept = EMPTY; // where the browser refuses to remember, for as long as the page is open
  const get = () => {
    try {
      const stored = JSON.parse(localStorage.getItem(KEY));
      return isProgress(stored) ? { ...EMPTY, ...stored } : kept;
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
  const note = (id, fields) => change("exercises", id, { ...UNTRIED, ...get().exercises[id], ...fields });
  const tried = (id, passed) => {
    const before = get().exercises[id] || UNTRIED;
    note(id, { attempts: before.attempts + 1, passed: before.passed || passed });
  };
  const solve = (id, yes = true) => note(id, { passed: yes });
  const helped = (id, { hints = 0, solution = false }) => {
    const before = get().exercises[id] || UNTRIED;
    if (hints > before.hints || solution > before.solution) note(id, { hints: Math.max(hints, before.hints), solution: solution || before.solution });
  };
  const predict = (key, text) => change("predicted", key, text);
  window.courseProgress = { get, read, tried, solve, helped, predict };

  /* The contents. */
  const entries = [...document.querySelectorAll("nav.bd-links li[data-page]")];
  const exercisesOf = (entry) => entry.dataset.exercises.split(" ").filter(Boolean);
  const solvedOf = (ids, { exercises }) => ids.filter((id) => exercises[id]?.passed).length;
  const stateOf = (entry, progress) => {
    const [ids, done] = [exercisesOf(entry), solvedOf(exercisesOf(entry), progress)];
    return [progress.read[entry.dataset.page] ? "read" : "", done ? `${done} of ${ids.length} exercises solved` : ""].filter(Boolean).join(", ");
  };
  /* Below the name of a chapter, how many of its exercises are solved. */
  const showOfChapter = (caption, progress) => {
    const ids = entries.filter((entry) => entry.parentElement === caption.nextElementSibling).flatMap(exercisesOf);
    const done = solvedOf(ids, progress);
    caption.querySelector(".solved")?.remove();
    if (!done) return;
    const bar = document.createElement("span");
    bar.className = "solved";
    bar.setAttribute("role", "img");
    bar.title = `${done} of ${ids.length} exercises solved`;
    bar.setAttribute("aria-label", bar.title);
    bar.style.setProperty("--share", `${(100 * done) / ids.length}%`);
    caption.append(bar);
  };
  const showInContents = (progress) => {
    for (const caption of document.querySelectorAll("nav.bd-links p.caption")) showOfChapter(caption, progress);
    for (const entry of entries) {
      const said = stateOf(entry, progress);
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
    const solved = solvedOf(Object.keys(progress.exercises), progress);
    said.textContent = pages || solved ? `${pages} of ${entries.length} notebooks read, ${solved} exercises solved.` : "Nothing yet.";
    const next = pages && entries.find(({ dataset }) => !progress.read[dataset.page])?.querySelector("a");
    start.querySelector(".go-on")?.remove();
    if (!next) return;
    const link = document.createElement("a");
    link.className = "go-on";
    link.href = next.getAttribute("href");
    link.textContent = `Go on with ${next.querySelector(".nr").textContent} ${next.querySelector(".name .title").textContent}`;
    start.append(link);
  };
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(get(), null, 1)], { type: "application/json" }));
    link.download = `${KEY}-progress.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), MINUTE);
  };
  /* Nothing that was reached is lost; of two predictions the loaded one stays. */
  const more = (one = UNTRIED, other = UNTRIED) => ({
    attempts: Math.max(one.attempts, other.attempts), passed: one.passed || other.passed,
    hints: Math.max(one.hints, other.hints), solution: one.solution || other.solution,
  });
  const joined = (one, other) => {
    const ids = Object.keys({ ...one.exercises, ...other.exercises });
    const exercises = Object.fromEntries(ids.map((id) => [id, more(one.exercises[id], other.exercises[id])]));
    return { version: 1, exercises, read: { ...one.read, ...other.read }, predicted: { ...one.predicted, ...other.predicted } };
  };
  const load = async (file) => {
    let progress = null;
    try { progress = JSON.parse(await file.text()); } catch { /* said below */ }
    if (isProgress(progress)) {
      set(joined(get(), { ...EMPTY, ...progress }));
    } else {
      said.textContent = `${file.name} is not a copy saved by this book or by attnlib; nothing was changed.`;
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
