/* Exercises that are answered in the page, and a line for each prediction.

   An answer is judged as `check` judges it in Python (attnlib/exercises/engine/answers.py), by data that the page carries:
   the answer, how far off a number may be, and the wrong answers that have a name. A test compares both. */
(() => {
  "use strict";

  /* ---- A number as people write it: 8, 1,048,576, 2/3, 4 * 512^2, sqrt(64), 25 % ---- */
  const WORD = /^\s*(?:(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|(sqrt|ln|log|exp|pi|\u03C0|\u221A)|(\*\*|[-+*\/^()%]))/i;
  const NAMED = { sqrt: Math.sqrt, "\u221A": Math.sqrt, ln: Math.log, log: Math.log, exp: Math.exp };
  const SIGNS = [[/[\u2212\u2013]/g, "-"], [/[\u00D7\u00B7]/g, "*"], [/\u00F7/g, "/"], [/\u00B2/g, "^2"], [/(\d),(?=\d{3}(?!\d))/g, "$1"]];
  const words = (text) => {
    const found = [];
    for (let rest = text.trim(); rest; ) {
      const [whole, number, name, sign] = WORD.exec(rest) || [];
      if (!whole) return null;
      found.push(number ? Number(number) : (name || sign).toLowerCase().replace("**", "^"));
      rest = rest.slice(whole.length).trim();
    }
    return found;
  };
  /* Sums of products of powers; null for what is none of them. */
  const numberOf = (text) => {
    if (/^(infinity|infinite|infinitely many|∞)\.?$/i.test(text.trim())) return Infinity;
    const left = words(SIGNS.reduce((all, [sign, plain]) => all.replace(sign, plain), text));
    if (!left?.length) return null;
    const take = (...signs) => (signs.includes(left[0]) ? left.shift() : "");
    const one = () => {
      const word = left.shift();
      if (typeof word === "number") return word;
      if (word === "pi" || word === "\u03C0") return Math.PI;
      if (NAMED[word]) return NAMED[word](one());
      if (word !== "(") return NaN;
      const inside = sum();
      return take(")") ? inside : NaN;
    };
    const power = () => {
      const base = one() * (take("%") ? 0.01 : 1);
      return take("^") ? base ** signed() : base;
    };
    const signed = () => (take("-") ? -signed() : take("+") ? signed() : power());
    const product = () => {
      let value = signed();
      for (let sign; (sign = take("*", "/")); ) value = sign === "*" ? value * signed() : value / signed();
      return value;
    };
    const sum = () => {
      let value = product();
      for (let sign; (sign = take("+", "-")); ) value += sign === "+" ? product() : -product();
      return value;
    };
    const value = sum();
    return left.length || Number.isNaN(value) ? null : value;
  };

  /* Rows of numbers: [[1, 2], [3, 4]], or 1 2; 3 4. A single row is a list of numbers. */
  const rowsOf = (text) => {
    const rows = text.match(/\[[^[\]]*\]/g) || text.match(/\([^()]*,[^()]*\)/g) || text.split(/[;\n]/).filter((row) => row.trim());
    const inside = rows.map((row) => row.trim().replace(/^[[(](.*)[\])]$/s, "$1").trim());
    return inside.map((row) => row.split(row.includes(",") ? "," : /\s+/).map(numberOf));
  };
  const isTable = (value) => Array.isArray(value[0]);
  const read = (text, like) => {
    if (!Array.isArray(like)) return numberOf(text);
    const rows = rowsOf(text);
    if (!rows.length || rows.flat().includes(null)) return null;
    return isTable(like) ? rows : rows.flat();
  };

  /* ---- Judging ---- */
  const tidy = (choice) => choice.trim().replace(/^\.+|\.+$/g, "").toLowerCase();
  const shape = (value) => (Array.isArray(value) ? [value.length, ...shape(value[0])] : []);
  const isWhole = (value) => !isTable(value) || value.every((row) => row.length === value[0].length);
  const numbers = (value) => [value].flat(2);
  const wrongAt = (one, other, within) => numbers(one).map((x, i) => !(Math.abs(x - numbers(other)[i]) <= within));
  const agree = ({ choices, within }, one, other) =>
    choices.length ? tidy(one) === tidy(other) : String(shape(one)) === String(shape(other)) && !wrongAt(one, other, within).includes(true);

  /* A mistake's own number, in its own size: what is within reach of a large answer may be far from 0.2. */
  const NEAR = 0.05;
  const CLOSE = 0.02; // of the answer
  const MOST_RIVALS = 3; // more mistakes than these with the same number, and none is named
  const isNear = (yours, value) => {
    const largest = Math.max(...numbers(value).map(Math.abs));
    return !largest || !wrongAt(yours, value, NEAR * largest).includes(true);
  };

  /* {status, said, name}: "passed", "wrong", or "" for what cannot be compared. */
  const judge = (exercise, text) => {
    const { answer, choices, within, mistakes } = exercise;
    const yours = choices.length ? text : read(text, answer);
    if (yours === null) return { status: "", said: `${text} is no number. ${asked(answer)}` };
    if (!choices.length && (!isWhole(yours) || String(shape(yours)) !== String(shape(answer)))) return { status: "", said: asked(answer) };
    if (agree(exercise, yours, answer)) return { status: "passed", said: "Right." };
    const is = (value) => agree(exercise, yours, value) && (choices.length || isNear(yours, value));
    const fits = mistakes.filter(({ values }) => values.some(is));
    if (fits.length && fits.length <= MOST_RIVALS)
      return { status: "wrong", said: fits.map(({ sentence }) => sentence).join(" "), name: fits.map(({ name }) => name).join(" or ") };
    return { status: "wrong", said: whereWrong(exercise, yours) };
  };
  const asked = (answer) =>
    Array.isArray(answer)
      ? `Write ${shape(answer).join(" \u00D7 ")} numbers, such as ${isTable(answer) ? "1 2; 3 4 for two rows" : "1 2 3"}.`
      : "Write one number, such as 0.5 or 3/4.";
  const whereWrong = ({ answer, choices, within, whole }, yours) => {
    if (choices.length) return "That is not right.";
    if (!Array.isArray(answer)) {
      const wanted = whole ? "it is a whole number" : `it should be right to ${within}`;
      return Math.abs(yours - answer) <= CLOSE * Math.abs(answer) ? `Close: ${wanted}.` : "That is not right.";
    }
    const wrong = wrongAt(yours, answer, within);
    const first = wrong.indexOf(true);
    const width = isTable(answer) ? answer[0].length : 0;
    const place = width ? `${Math.floor(first / width)}, ${first % width}` : first;
    return `${wrong.filter(Boolean).length} of ${wrong.length} numbers are not right; the first is your ${numbers(yours)[first]} at [${place}].`;
  };
  globalThis.courseAnswers = { judge, numberOf };
  if (typeof document === "undefined") return;

  /* ---- In the page ---- */
  const progress = window.courseProgress;
  const tell = (form, ...parts) => form.querySelector(".told").replaceChildren(...parts);
  const bold = (text) => Object.assign(document.createElement("strong"), { textContent: text });
  const marked = (html) => Object.assign(document.createElement("span"), { innerHTML: html }); // made while building
  const stateOf = (form, status) => { form.dataset.status = status; };

  const answered = (form) => {
    const exercise = JSON.parse(atob(form.dataset.check));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = String(new FormData(form).get("answer") ?? "");
      if (!text.trim()) return tell(form, "Nothing was answered yet.");
      const { status, said, name } = judge(exercise, text);
      stateOf(form, status);
      if (status) progress.tried(form.dataset.id, status === "passed");
      if (status === "passed") return tell(form, bold("\u2713 Right."), " ", marked(exercise.why));
      return name ? tell(form, "That is what this gives: ", bold(name), ". ", marked(said)) : tell(form, said);
    });
  };

  const ticked = (form) => {
    form.addEventListener("change", () => {
      const boxes = [...form.querySelectorAll("input")];
      const done = boxes.filter((box) => box.checked).length;
      const all = done === boxes.length;
      stateOf(form, all ? "passed" : "");
      if (all) progress.tried(form.dataset.id, true);
      tell(form, `${done} of ${boxes.length}${all ? ", by your own marks. Compare with the proof in the solutions." : "."}`);
    });
  };

  const coded = (form) => {
    const solved = form.querySelector("[data-does=solved]");
    const show = () => {
      const yes = Boolean(progress.get().exercises[form.dataset.id]?.passed);
      solved.setAttribute("aria-pressed", yes);
      solved.textContent = yes ? "\u2713 Solved" : "Mark as solved";
    };
    document.addEventListener("progress", show);
    show();
    solved.addEventListener("click", () => progress.solve(form.dataset.id, solved.getAttribute("aria-pressed") !== "true"));
    form.querySelector("[data-does=copy]").addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(JSON.parse(atob(form.dataset.start)));
        tell(form, "Copied. Paste it where attnlib is installed.");
      } catch {
        tell(form, "This browser does not let the page copy; the code stands in the cell below.");
      }
    });
  };

  for (const form of document.querySelectorAll("form.answer")) {
    (form.dataset.check ? answered : form.dataset.start ? coded : ticked)(form);
    const known = progress.get().exercises[form.dataset.id];
    if (known?.passed && !form.dataset.start) {
      stateOf(form, "passed");
      tell(form, "\u2713 You have solved it.");
    }
  }
  for (const fold of document.querySelectorAll("details[data-help]")) {
    const [id, hint] = fold.dataset.help.split(" ");
    fold.addEventListener("toggle", () => fold.open && progress.helped(id, hint ? { hints: Number(hint) } : { solution: true }));
  }

  /* A prediction is kept; what follows it is there in any case. */
  for (const line of document.querySelectorAll("input.guess")) {
    line.value = progress.get().predicted[line.name] || "";
    line.addEventListener("change", () => progress.predict(line.name, line.value.trim()));
    line.addEventListener("keydown", ({ key }) => key === "Enter" && line.blur());
  }
})();
