// The order of what the search finds: first a place that has this very name (an equation, an exercise, a row of the
// ledger), then the notebooks, then everything else, the reference of the package last. The numbers are Sphinx's own.
var Scorer = {
  score: ([page, , anchor, , score]) => {
    if (/^#((eq|ex)-|[sec]\d{3}$)/.test(anchor)) return score + 60;
    if (/^book\/\d/.test(page)) return score + 20;
    return page.startsWith("book/api/") ? score - 10 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
