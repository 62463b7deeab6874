/* The search, over the sections of the book (search-data.js and its parts, written by book/_ext/search_data.py). 1. Words: by their stems,
   and one name for what has several (book/synonyms.yml). 2. What a word is worth in a section. 3. Sections are gathered
   by page. 4. Places with a name of their own come first. 5. A piece of text. 6. The list. */
(() => {
  "use strict";

  const { pages, parts, entries, names, synonyms } = window.searchData;
  const root = document.documentElement.dataset.content_root;

  /* 1. */
  const stemmer = new Stemmer();
  const IDLE = new Set([...stopwords, ..."a an can could did do does explain from get has have how i its me mean means my one our should show so tell than us use used using vs we were what when where whether which who why would you your".split(" ")]);
  const stem = (word) => (/^[a-z]+$/.test(word) ? stemmer.stemWord(word) : word);
  const WORD = /[\p{L}\d_]+|[²√]/gu;
  const wordsIn = (text) => [...text.toLowerCase().matchAll(WORD)].map(({ 0: word, index }) => ({ word, index, end: index + word.length }));
  const phrases = new Map(); // by their first words: the other words, and the name of all that means the same
  for (const [name, ...others] of synonyms) {
    for (const phrase of [name, ...others]) {
      const [first, ...rest] = wordsIn(phrase).map(({ word }) => word);
      phrases.set(first, [...(phrases.get(first) || []), { rest, name }].sort((a, b) => b.rest.length - a.rest.length));
    }
  }
  const known = new Map();
  const ownTerms = (word) => {
    if (!known.has(word)) {
      const parts = word.split("_");
      const all = parts.length > 1 ? [word, parts.join(""), ...parts.filter((part) => part.length > 1)] : [word];
      known.set(word, [...new Set(all.map(stem))]);
    }
    return known.get(word);
  };
  const nameTerms = (name) => [`= ${name}`, ...wordsIn(name).flatMap(({ word }) => ownTerms(word))];
  /* The words of a text with their places and terms; a phrase that has a name counts as that name and as its words. */
  const termsIn = (text) => {
    const words = wordsIn(text), found = [];
    for (let i = 0; i < words.length; i += 1) {
      const fits = ({ rest }) => rest.every((word, k) => words[i + 1 + k]?.word === word);
      const phrase = phrases.get(words[i].word)?.find(fits);
      if (!phrase) {
        found.push({ ...words[i], terms: ownTerms(words[i].word) });
        continue;
      }
      const last = i + phrase.rest.length;
      const own = words.slice(i, last + 1).flatMap(({ word }) => ownTerms(word));
      found.push({ index: words[i].index, end: words[last].end, terms: [...new Set([...nameTerms(phrase.name), ...own])] });
      i = last;
    }
    return found;
  };

  /* 2. What a word tells is the rarer the more (BM25); where it stands counts too: in the title of a page, in a heading,
     in bold, in the text. */
  const FIELDS = { title: 6, subjects: 4, heading: 4, bold: 2.5, text: 1 };
  let documents;
  const postings = new Map(); // term -> Map of document -> how often, weighted
  let lengths, usual;
  const index = () => {
    documents = entries.map(([page, anchor, heading, text, bold]) =>
      ({ page, anchor, heading, text, fields: { title: anchor ? "" : pages[page][2], subjects: anchor ? "" : pages[page][3], heading: anchor ? heading : "", bold, text } }));
    lengths = documents.map(({ fields }, id) => {
      let length = 0;
      for (const [field, weight] of Object.entries(FIELDS)) {
        for (const { terms } of termsIn(fields[field])) {
          length += 1;
          for (const term of terms) {
            if (!postings.has(term)) postings.set(term, new Map());
            postings.get(term).set(id, (postings.get(term).get(id) || 0) + weight);
          }
        }
      }
      return length;
    });
    usual = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
  };
  /* Once, when somebody turns to the search: a page that is only opened need not wait for it. A part that does not come is
     left out, and asked for again with the next question. */
  const wanting = new Set(parts);
  const fetched = (part) => new Promise((done) => {
    const script = document.createElement("script");
    script.src = `${root}_static/search-${part}.js`;
    script.onload = () => { wanting.delete(part); done(); };
    script.onerror = () => { script.remove(); done(); };
    document.head.append(script);
  });
  let reading;
  const read = () => {
    reading = reading || Promise.all([...wanting].map(fetched)).then(() => {
      postings.clear();
      index();
      if (wanting.size) reading = null;
    });
    return reading;
  };
  const [K, B] = [1.6, 0.5];
  const worth = (term, id) => {
    const found = postings.get(term), often = found.get(id);
    const rare = Math.log(1 + (documents.length - found.size + 0.5) / (found.size + 0.5));
    return (rare * often * (K + 1)) / (often + K * (1 - B + (B * lengths[id]) / usual));
  };
  /* A word that is nowhere in the book stands for those that begin with it, or else for those that are a letter off. */
  const oneOff = (a, b) => {
    let i = 0, j = 0;
    while (i < a.length && a[i] === b[i]) i += 1;
    while (j < Math.min(a.length, b.length) - i && a.at(-1 - j) === b.at(-1 - j)) j += 1;
    const [x, y] = [a.slice(i, a.length - j), b.slice(i, b.length - j)];
    return Math.max(x.length, y.length) <= 1 || (x.length === 2 && x[0] === y[1] && x[1] === y[0]);
  };
  const inTheBook = (term) => {
    if (postings.has(term)) return [term];
    const all = [...postings.keys()];
    const begun = term.length > 2 ? all.filter((other) => other.startsWith(term)) : [];
    return begun.length || term.length < 5 ? begun : all.filter((other) => oneOff(term, other));
  };

  /* 3. A page counts by its best places, and by how much of the question it answers. */
  const asked = (query) => {
    const all = termsIn(query);
    const telling = all.filter(({ terms }) => !terms.every((term) => IDLE.has(term)));
    return (telling.length ? telling : all).map(({ terms }) => [...new Set(terms.flatMap(inTheBook))]);
  };
  const weightOf = (page) => {
    if (/^book\/\d/.test(page)) return 1;
    if (/how-to-use|exercises|notation/.test(page)) return 0.8;
    return /glossary|intro/.test(page) ? 0.6 : 0.4;
  };
  const placesOf = (wanted) => {
    const scores = new Map();
    wanted.forEach((terms, which) => {
      const best = new Map();
      for (const term of terms) for (const id of postings.get(term)?.keys() || []) best.set(id, (best.get(id) || 0) + worth(term, id) / terms.length);
      for (const [id, score] of best) {
        const place = scores.get(id) || { id, score: 0, answered: new Set() };
        place.score += score;
        place.answered.add(which);
        scores.set(id, place);
      }
    });
    for (const place of scores.values()) place.score *= place.answered.size / wanted.length;
    return [...scores.values()].sort((a, b) => b.score - a.score);
  };
  const INDEXED = 1.5; // a page that the index of subjects names for the very question counts twice
  const treats = (page, question) => pages[page][3].toLowerCase().split("; ").includes(question);
  const byPage = (found, count, question) => {
    const gathered = new Map();
    for (const { id, score, answered } of found) {
      const { page } = documents[id];
      const group = gathered.get(page) || { page, score: 0, answered: new Set(), places: [] };
      group.score += score * (pages[page][1] ? 0.6 : 0.1) ** group.places.length;
      group.places.push(documents[id]);
      answered.forEach((which) => group.answered.add(which));
      gathered.set(page, group);
    }
    for (const group of gathered.values()) group.score *= (group.answered.size / count) * weightOf(pages[group.page][0]) * (treats(group.page, question) ? INDEXED : 1);
    return [...gathered.values()].sort((a, b) => b.score - a.score);
  };

  /* 4. What has this very name comes first. */
  const bare = (query) => query.toLowerCase().trim().replace(/^eq(?:uation)?\.?\s*(?=\(?\d)/, "").replace(/^\((.*)\)$/, "$1");
  const named = (query) => names.filter(([name]) => name === bare(query))
    .map(([, page, anchor, called]) => ({ page, places: [{ page, anchor, heading: called, text: "", named: true }] }));
  const search = async (query) => {
    await read();
    const wanted = asked(query);
    return { terms: new Set(wanted.flat()), results: [...named(query), ...byPage(placesOf(wanted), wanted.length, bare(query))] };
  };

  /* 5. A piece of the text with as many of the words as a line or two hold, from one word to another. */
  const LINE = 220;
  const matches = (text, terms) => termsIn(text).filter((token) => token.terms.some((term) => terms.has(term)));
  const piece = (text, terms) => {
    const found = matches(text, terms);
    let best = { from: 0, worth: 0 };
    found.forEach(({ index }, i) => {
      const near = found.slice(i).filter(({ end }) => end <= index + LINE - 40);
      const count = new Set(near.flatMap((token) => token.terms.filter((term) => terms.has(term)))).size;
      if (count > best.worth) best = { from: index, worth: count };
    });
    const sentence = text.lastIndexOf(". ", best.from);
    const word = text.indexOf(" ", Math.max(0, best.from - 60));
    const from = best.from < 60 ? 0 : sentence >= 0 && sentence > best.from - 90 ? sentence + 2 : Math.min(word + 1, best.from);
    const cut = text.length <= from + LINE ? text.length : Math.max(text.lastIndexOf(" ", from + LINE), from + LINE / 2);
    return { from, to: Math.floor(cut), found };
  };
  const marked = (text, terms) => {
    const { from, to, found } = piece(text, terms), parts = [from ? "\u2026 " : ""];
    let at = from;
    for (const { index, end } of found.filter((token) => token.index >= from && token.end <= to)) {
      const mark = document.createElement("mark");
      mark.textContent = text.slice(index, end);
      parts.push(text.slice(at, index), mark);
      at = end;
    }
    return [...parts, text.slice(at, to), to < text.length ? " \u2026" : ""];
  };

  /* 6. A link takes along the words as they stand in the book, for found.js to mark. */
  const MOST_WORDS = 12;
  const wordsOf = (page, terms) => {
    const said = documents.filter((other) => other.page === page).flatMap(({ heading, text }) =>
      [heading, text].flatMap((part) => matches(part, terms).map(({ index, end }) => part.slice(index, end).toLowerCase())));
    return [...new Set(said)].slice(0, MOST_WORDS).join("|");
  };
  const address = ({ page, anchor }, words) => {
    const query = words ? `?${new URLSearchParams({ highlight: words })}` : "";
    return `${root}${pages[page][0]}.html${query}${anchor ? `#${anchor}` : ""}`;
  };
  const make = (tag, className, ...children) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children);
    return element;
  };
  const linkTo = (place, text, words) => {
    const link = make("a", "", text);
    link.href = address(place, words);
    return link;
  };
  const ALSO = 3;
  const item = ({ page, places }, terms) => {
    const [best, ...others] = places, [, number, title] = pages[page];
    const words = best.named ? "" : wordsOf(page, terms);
    const name = `${number} ${title}`.trim();
    const link = linkTo(best, best.named ? best.heading : name, words);
    const where = best.named ? name : best.anchor && best.heading;
    const shown = make("li", "", make("p", "result", link, ...(where ? [make("span", "where", where)] : [])));
    if (best.text) shown.append(make("p", "context", ...marked(best.text, terms)));
    const also = others.filter(({ anchor }) => anchor).slice(0, ALSO);
    if (also.length) shown.append(make("p", "also", ...also.flatMap((place) => [linkTo(place, place.heading, words), " "])));
    return shown;
  };
  const FIRST = 10;
  const list = document.getElementById("search-results");
  const said = document.getElementById("search-said");
  const more = document.getElementById("search-more");
  const field = document.querySelector(".bd-search-container input[type=search]");
  let shown;
  const show = async (query) => {
    shown = query;
    if (query.trim() && wanting.size) said.textContent = "Looking through the book\u2026";
    const { terms, results } = query.trim() ? await search(query) : { terms: new Set(), results: [] };
    if (query !== shown) return; // the reader has typed on
    const draw = (some) => list.append(...some.map((result) => item(result, terms)));
    const counted = results.length === 1 ? "1 page" : `${results.length} pages`;
    list.replaceChildren();
    draw(results.slice(0, FIRST));
    said.textContent = !query.trim() ? "" : results.length ? `${counted} for \u201c${query.trim()}\u201d` : `Nothing found for \u201c${query.trim()}\u201d. Try one word of it, or look into the glossary.`;
    more.hidden = results.length <= FIRST;
    more.onclick = () => {
      draw(results.slice(FIRST));
      more.hidden = true;
    };
    document.title = query.trim() ? `${query.trim()} \u2014 Search` : "Search";
  };
  let timer = 0;
  if (field) {
    field.value = new URLSearchParams(location.search).get("q") || "";
    field.addEventListener("focus", read, { once: true });
    field.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        show(field.value);
        if (location.protocol !== "file:") history.replaceState(null, "", `?${new URLSearchParams({ q: field.value })}`);
      }, 200);
    });
    if (field.value) show(field.value);
  }
  window.bookSearch = async (query) => (await search(query)).results.map(({ page }) => pages[page][0]);
})();
