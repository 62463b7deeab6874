"""Faults of a page, planted one at a time: what is planted, which check notices it, and what the check then says.

The table is data, read by test_page_faults.py, which plants each fault and finds the same place sound without it.
`python tests/page_faults.py` prints it. A check is named by its module in tests/ and its name there.
"""

from typing import Any, NamedTuple


class Fault(NamedTuple):
    """`planted` is HTML at the end of a page's text, or a pair: what stands in a file, and what is put in its place."""

    planted: Any
    noticed_by: str
    says: str


AXE = "test_pages.inaccessible"
SOUND = (
    '<!doctype html><html lang="en" data-theme="light"><head><title>Sound</title><link rel="icon" href="data:,">'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><style>:focus { outline: 2px solid }'
    "[data-theme=dark] body { background: #111; color: #eee } [data-theme=dark] a { color: #9cf }</style></head>"
    '<body><div id="pst-skip-link"><a href="#main-content">Skip to main content</a></div>'
    '<main class="bd-article" id="main-content"><h1>Sound</h1>%s</main></body></html>'
)
# Planted in a page that is open: it is written anew, and checked.
OPENED = {
    "a formula in red": Fault('<p class="katex-error">x</p>', "test_pages.untypeset", "not typeset"),
    "raw dollars in the text": Fault(r"<p>So $\alpha_i$ is it.</p>", "test_pages.untypeset", "not typeset"),
    "a formula that waits for MathJax": Fault(
        "<p><mjx-container>x</mjx-container></p>", "test_pages.untypeset", "not typeset"
    ),
    "a full stop that stands apart": Fault(
        '<p class="together"><span style="display: inline-block; width: 9em"><span class="base">x</span></span>.</p>',
        "test_pages.torn", "not behind its formula",
    ),
    "an image without words": Fault('<img src="data:,">', "test_pages.unnamed_graphics", "without a description"),
    "an image named by its path": Fault(
        '<img alt="../_images/ab12.png" src="data:,">', "test_pages.unnamed_graphics", "without a description"
    ),
    "a drawing without words": Fault("<svg></svg>", "test_pages.unnamed_graphics", "without a description"),
    "a page wider than a telephone": Fault(
        '<pre style="width: 900px">x</pre>', "test_pages.overflow", "wider than the screen"
    ),
    "an explorable that never starts": Fault(
        '<div data-explorable="scores"></div>', "test_pages.explorable_faults", "scores did not start"
    ),
    "an explorable that shows nothing": Fault(
        '<div class="explorable" data-explorable="scores" data-ready="1"><div class="explorable-view"></div></div>',
        "test_explorable_pages.broken", "scores does not move",
    ),
    "faint text": Fault('<p style="color: #aaa">Faint.</p>', AXE, "axe color-contrast"),
    "faint text behind many that can be read": Fault(
        "<p>Clear.</p>" * 30 + '<p style="color: #aaa">Faint.</p>', AXE, "axe color-contrast"
    ),
    "text on a ground of nearly its colour": Fault(
        "<p>Clear.</p>" * 30 + '<div style="background: #555"><p>Faint.</p></div>', AXE, "axe color-contrast"
    ),
    "text that its box makes faint": Fault(
        "<p>Clear.</p>" * 30 + '<div style="opacity: 0.3"><p>Faint.</p></div>', AXE, "axe color-contrast"
    ),
    "text that is faint in dark only": Fault(
        '<p style="color: #555">Faint.</p>', f"{AXE} in dark", "axe color-contrast"
    ),
    "a link in a text that only its colour tells": Fault(
        '<p>A text with <a href="#x" style="color: #222; text-decoration: none">a link</a> in it.</p><p id="x">x</p>',
        AXE, "axe link-in-text-block",
    ),
    "a link without words": Fault('<p><a href="#main-content"></a></p>', AXE, "axe link-name"),
    "a button without a name": Fault("<button></button>", AXE, "axe button-name"),
    "a field without a label": Fault("<input>", AXE, "axe label"),
    "a choice without a label": Fault("<select><option>x</option></select>", AXE, "axe select-name"),
    "a fold without words": Fault("<details><summary></summary>x</details>", AXE, "axe summary-name"),
    "a frame without a title": Fault('<iframe srcdoc="<p>x</p>"></iframe>', AXE, "axe frame-title"),
    "a heading level skipped": Fault("<h4>Deep</h4>", AXE, "axe heading-order"),
    "a heading without words": Fault("<h2></h2>", AXE, "axe empty-heading"),
    "a list of what is no item": Fault("<ul><p>x</p></ul>", AXE, "axe list"),
    "a role that does not exist": Fault('<p role="paragraf">x</p>', AXE, "axe aria-roles"),
    "a role that does not exist in a formula": Fault(
        '<p><math><mrow><mi>a</mi><mi role="paragraf">x</mi></mrow></math></p>', AXE, "axe aria-roles"
    ),
    "a link in a formula without words": Fault(
        '<p><math><mrow><mi>a</mi><mtext><a href="#main-content"></a></mtext></mrow></math></p>', AXE, "axe link-name"
    ),
    "an order of its own for Tab": Fault('<button tabindex="3">x</button>', AXE, "axe tabindex"),
    "a target too small for a finger": Fault(
        '<button style="all: unset; width: 9px; height: 9px">x</button>' * 2, AXE, "axe target-size"
    ),
    "a page without a language": Fault((' lang="en"', ""), AXE, "axe html-has-lang"),
    "a page without a title": Fault(("<title>Sound</title>", ""), AXE, "axe document-title"),
    "a page that cannot be enlarged": Fault(
        ("initial-scale=1", "initial-scale=1, user-scalable=no"), AXE, "axe meta-viewport"
    ),
    "a skip link that leads nowhere": Fault(('href="#main-content"', 'href="#gone"'), AXE, "axe region"),
}  # fmt: skip
# Planted in a page that is then loaded: it goes wrong on the way, or by keyboard.
LOADED = {
    "a request to another host": Fault(
        '<img alt="A dot." src="http://127.0.0.2:9/x.png">', "test_pages.Opened", "another host"
    ),
    "a missing file": Fault('<img alt="A dot." src="gone.png">', "test_pages.Opened", "404 for"),
    "a console error": Fault("<script>console.error('planted')</script>", "test_pages.Opened", "console: planted"),
    "a console warning": Fault("<script>console.warn('planted')</script>", "test_pages.Opened", "console: planted"),
    "a page error": Fault("<script>nowhere()</script>", "test_pages.Opened", "page error"),
    "an explorable that throws": Fault(
        '<div data-explorable="scores"></div><script>throw new Error("no scores")</script>',
        "test_pages.Opened", "page error: no scores",
    ),
    "a page too heavy": Fault('<img alt="Noise." src="noise.png">', "test_pages.weight_faults", "kB is 6"),
    "too many requests": Fault(
        "".join(f'<img alt="x" src="x.svg?{i}">' for i in range(31)), "test_pages.weight_faults", "requests is 3"
    ),
    "a page that moves while it loads": Fault(
        "<script>setTimeout(() => document.querySelector('h1').style.marginTop = '400px', 100)</script>",
        "test_pages.weight_faults", "CLS is",
    ),
    "a page that moves on the way down": Fault(
        "<p style='height: 3000px'></p><aside style='position: fixed; top: 0; width: 100%; height: 300px'>Here.</aside>"
        "<script>onscroll = () => { document.querySelector('aside').style.top = `${scrollY / 5}px` }</script>",
        "test_pages.on_the_way_down", "CLS down is",
    ),
    "a page that moves far down": Fault(
        "<style>html { overflow-anchor: none }</style><p style='height: 9000px'>x</p><p id='late'></p>"
        "<p id='last' style='height: 900px'>x</p><script>new IntersectionObserver(([seen]) => {"
        "if (seen.isIntersecting) late.style.height = '300px' }).observe(last)</script>",
        "test_pages.on_the_way_down", "CLS down is",
    ),
    "focus that cannot be seen behind a hundred stops": Fault(
        "<button>x</button>" * 108 + '<a href="#main-content" style="outline: 0 !important">x</a>',
        "test_pages.keyboard_faults", "not visible on <a",
    ),
    "a trap for Tab behind a hundred stops": Fault(
        "<button>x</button>" * 108 + "<button onkeydown='event.preventDefault()'>x</button><button>x</button>",
        "test_pages.keyboard_faults", "come out",
    ),
    "focus that cannot be seen": Fault(
        "<style>a { outline: 0 !important }</style>", "test_pages.keyboard_faults", "not visible on <a"
    ),
    "no skip link": Fault(
        "<style>#pst-skip-link { display: none }</style>", "test_pages.keyboard_faults", "skip link"
    ),
    "a trap for Tab": Fault(
        "<button onkeydown='event.preventDefault()'>x</button>", "test_pages.keyboard_faults", "come out"
    ),
}  # fmt: skip


def text(line: str) -> tuple[str, str]:
    """Put in front of the first text of a notebook."""
    return r'("cell_type": "markdown",.*?"source": \[\n)', rf'\g<1>"{line}\\n\\n",'


def code(line: str) -> tuple[str, str]:
    """Put in front of the code of a notebook's fourth cell of code."""
    return r'("execution_count": 4,.*?"source": \[\n)', rf'\g<1>"{line}\\n",'


def output(stored: str) -> tuple[str, str]:
    """Put under the first cell, which stores none."""
    return r'"outputs": \[\]', rf'"outputs": [{stored}]'


def tagged(tag: str) -> tuple[str, str]:
    """Put on the third cell of code."""
    return r'("execution_count": 3,.*?"tags": \[)', rf'\g<1>"{tag}", '


# Planted in a copy of a notebook of the book.
NOTEBOOK = "book/04-transformer/14-guess-and-check.ipynb"
NOTEBOOKS = {
    "a cell that was never run": Fault(
        ('"execution_count": 3', '"execution_count": null'),
        "test_notebooks.test_every_cell_has_run_in_order", "never ran",
    ),
    "a cell that was run again": Fault(
        ('"execution_count": 3', '"execution_count": 33'),
        "test_notebooks.test_every_cell_has_run_in_order", "never ran",
    ),
    "an error in a stored output": Fault(
        output('{"output_type": "error", "ename": "E", "evalue": "", "traceback": []}'),
        "test_notebooks.test_no_stored_output_is_an_error_or_a_warning", "error",
    ),
    "a warning in a stored output": Fault(
        ('"name": "stdout"', '"name": "stderr"'),
        "test_notebooks.test_no_stored_output_is_an_error_or_a_warning", "a warning is stored",
    ),
    "a directive in a notebook's cell": Fault(
        text("```{note}"), "test_notebooks.test_the_text_is_plain_markdown", "directive or role"
    ),
    "another setup cell": Fault(
        ("# Setup: on Colab", "# On Colab"),
        "test_notebooks.test_the_setup_cell_is_the_same_everywhere", "run `make cell`",
    ),
    "a cell that is not compared": Fault(
        tagged("nbval-skip"),
        "test_notebooks.test_a_cell_whose_output_may_differ_says_why_and_asserts_its_claim", "nbval-skip",
    ),
    "a cell that may print anything": Fault(
        tagged("nbval-ignore-output"),
        "test_notebooks.test_a_cell_whose_output_may_differ_says_why_and_asserts_its_claim", "",
    ),
    "a figure shown without words": Fault(
        code("plt.show()"), "test_notebooks.test_figures_are_shown_with_a_description", "viz.show"
    ),
    "a stored picture without words": Fault(
        output('{"output_type": "display_data", "data": {"image/png": ""}, "metadata": {}}'),
        "test_notebooks.test_figures_are_shown_with_a_description", "without description",
    ),
    "a stored drawing that says too little": Fault(
        (r'("image/svg\+xml".*?"text/plain": \[\n)[^\]]*', r'\g<1>"Two lines."'),
        "test_notebooks.test_figures_are_shown_with_a_description", "say what the figure shows",
    ),
    "a picture to move that has no name": Fault(
        code("viz.explore(scores)"),
        "test_notebooks.test_a_picture_to_move_has_the_name_by_which_a_reader_can_ask_it", "",
    ),
    "imports that stand open": Fault(
        ('"hide-input"', '"C001"'), "test_notebooks.test_the_imports_are_folded_and_hide_nothing_else", "begins with"
    ),
    "no predictions": Fault(
        ("Predict first", "Look"), "test_notebooks.test_a_section_asks_for_predictions", "predictions"
    ),
    "a word that belittles": Fault(
        text("This is simply so."), "test_notebooks.test_the_prose_keeps_the_house_words", "simply"
    ),
    "a label of an equation twice": Fault(
        text(r'<a id=\\"eq-accept\\"></a>'), "test_notebooks.test_labels_of_equations_are_unique_and_numbers_ascend",
        "eq-accept",
    ),
    "a number of an equation out of order": Fault(
        text(r"$$ a \\\\tag{4.99} $$"), "test_notebooks.test_labels_of_equations_are_unique_and_numbers_ascend",
        "reading order",
    ),
    "a reference that shows another number": Fault(
        text("See [(4.99)](#eq-accept)."), "test_notebooks.test_a_reference_to_an_equation_shows_its_number", "4.99"
    ),
    "code that names an equation by its number": Fault(
        code("# by equation 4.39"), "test_notebooks.test_code_names_no_equation_by_its_number", "numbers change"
    ),
    "a number in prose that no output shows": Fault(
        text("It was 0.98765."), "test_prose_numbers.test_each_number_of_the_prose_is_shown_by_the_page", "0.98765"
    ),
    "a title of further reading in no reference": Fault(
        (r"(## Further reading.*?)\*[^*]+\*", r"\g<1>*A paper that nobody wrote*"),
        "test_bibliography.test_every_title_of_further_reading_is_in_the_references", "nobody wrote",
    ),
    "a word of a machine": Fault(
        text("It lies in /home" "/reader."), "test_project.test_nothing_names_a_machine", "/home"
    ),
    "a new term that the glossary lacks": Fault(
        text("This is called **zither attention**."), "test_page_faults.unexplained", "zither attention"
    ),
}  # fmt: skip

# Planted in the files of a built book: one is edited, the others stay. In the first group a small book is enough.
PAGE, GLOSSARY, NOTATION = NOTEBOOK.replace("ipynb", "html"), "book/glossary.html", "book/notation.html"
SITES: dict[str, tuple[str, Fault]] = {
    "a dead anchor": ("small.html", Fault(("</main>", '<a href="#gone">x</a>'), "test_links.dead_links", "#gone")),
    "a dead link to a page": (
        "small.html", Fault(("</main>", '<a href="gone.html">x</a>'), "test_links.dead_links", "gone.html")
    ),
    "a picture that is not there": (
        "small.html", Fault(("</main>", '<img src="gone.png" alt="x">'), "test_links.dead_links", "gone.png")
    ),
    "one id twice": (
        PAGE, Fault(("</article>", '<p id="x"></p><p id="x"></p></article>'), "test_page_faults.marked_wrongly", "id x")
    ),
    "a table without headers": (
        PAGE,
        Fault(
            ("</article>", "<table><tr><td>x</td></tr></table></article>"),
            "test_page_faults.marked_wrongly", "without headers",
        ),
    ),
    "an image named by its file": (
        PAGE,
        Fault(
            ("</article>", '<img alt="figure-3.png" src="x.png"></article>'), "test_page_faults.marked_wrongly",
            "named by its file",
        ),
    ),
    "a claim without a row": (
        PAGE,
        Fault(
            ("</article>", '<span class="badge-row" id="c999">C999</span></article>'),
            "test_page_faults.marked_wrongly", "C999 is no row",
        ),
    ),
    "a figure without a caption": (
        PAGE,
        Fault(
            ('<div class="figure-caption".*?</p>', "<div>"),
            "test_figures.test_every_figure_of_the_book_has_a_number_and_a_caption", "",
        ),
    ),
    "a figure with another's number": (
        PAGE,
        Fault(
            (r"Figure 4\.14\.2\.", "Figure 4.14.1."),
            "test_figures.test_every_figure_of_the_book_has_a_number_and_a_caption", "",
        ),
    ),
    "a term missing in the glossary": (
        GLOSSARY,
        Fault(
            ('id="term-token"', ""),
            "test_figures.test_the_first_use_of_a_term_leads_to_the_glossary_once", "term-token",
        ),
    ),
    "a symbol missing in the notation": (
        NOTATION,
        Fault(
            ('id="symbol-p"', ""), "test_reading_helps.test_the_first_use_of_a_symbol_leads_to_its_meaning", "symbol-p"
        ),
    ),
    "a page that does not say how long it takes": (
        PAGE,
        Fault(
            ("at-a-glance", ""), "test_reading_helps.test_a_notebook_says_how_long_it_takes_and_where_it_stands", ""
        ),
    ),
    "a title of further reading that is no link": (
        PAGE,
        Fault(
            (r'(id="further-reading".*?)<em>.*?</em>', r"\g<1>it"),
            "test_bibliography.test_each_title_on_a_page_is_a_link", "",
        ),
    ),
    "a mark of Markdown left in the text": (
        PAGE,
        Fault(
            ("</article>", "<p>**so**</p></article>"),
            "test_site.test_no_mark_of_markdown_is_left_in_the_text", "so",
        ),
    ),
    "a page that does not say what it is": (
        PAGE,
        Fault(
            ('name="description" content="[^"]*', 'name="description" content="A page.'),
            "test_site.test_every_page_says_what_it_is", "A page.",
        ),
    ),
    "a page missing in the map": (
        "sitemap.xml",
        Fault(
            (r"<loc>[^<]*guess-and-check.html</loc>", ""),
            "test_site.test_the_map_names_the_real_pages_and_no_others", "",
        ),
    ),
    "a lost reader led to no page": (
        "404.html",
        Fault(
            (r'href="([^"]*)book/intro', r'href="\g<1>book/gone'),
            "test_site.test_the_page_for_lost_readers_loads_nothing_and_its_links_are_whole_addresses_of_pages", "gone",
        ),
    ),
}  # fmt: skip
# Planted in the search's data, which a browser then asks.
SEARCH = {
    "a question that no longer finds its page": Fault(
        ('"book/01-foundations/2-the-attention-function"', '"book/01-foundations/gone"'),
        "test_search.test_what_learners_ask_is_found_among_the_first_three", "gone",
    ),
}  # fmt: skip
# Planted in a small book that is packed.
PACKED = {
    "an archive without a page": Fault(
        ("book/glossary.html", None),
        "test_downloads.test_the_archive_has_every_page_needs_no_address_and_is_the_same_twice", "book/glossary.html",
    ),
    "an archive that needs the network": Fault(
        ("book/glossary.html", '<script src="https://example.org/x.js"></script>'),
        "test_downloads.test_the_archive_has_every_page_needs_no_address_and_is_the_same_twice", "example.org",
    ),
}  # fmt: skip
# Planted in a PDF as its words are read back, six sheets for a page: the sheet, and what stands on it.
PRINTED = {
    "a PDF without a page": Fault(
        (2, "x"), "test_downloads.test_the_contents_name_the_page_on_which_each_chapter_begins", "book/intro"
    ),
    "contents of the PDF that name no sheets": Fault(
        (1, "x"), "test_downloads.test_the_contents_name_the_page_on_which_each_chapter_begins", "book/intro"
    ),
    "a PDF that ends too early": Fault(
        (-1, "x"), "test_downloads.test_the_pdf_holds_the_last_words_of_the_book_and_nothing_raw", ""
    ),
    "a formula of the PDF left as text": Fault(
        (4, r"\frac{a}{b}"), "test_downloads.test_the_pdf_holds_the_last_words_of_the_book_and_nothing_raw", "frac"
    ),
    "an empty sheet of the PDF": Fault(
        (4, ""), "test_downloads.test_the_pdf_holds_the_last_words_of_the_book_and_nothing_raw", ""
    ),
}  # fmt: skip
# Planted in the row C007 of the ledger.
OWES = "test_ledger.test_every_place_and_every_proof_of_the_finished_chapters_leads_somewhere"
ROWS = {
    "a row without a proof": Fault({"proof": ()}, OWES, "nothing proves it"),
    "a row without a place": Fault({"where": ()}, OWES, "taught nowhere"),
    "a row taught where it is not": Fault({"where": ("01-foundations/checked#c999",)}, OWES, "no anchor c999"),
    "a row whose proof is gone": Fault(
        {"proof": ("book/01-foundations/checked.ipynb::C999",)}, OWES, "no code cell with the tag C999"
    ),
    "a row that is gone": Fault(None, "test_ledger.test_the_five_chapters_have_the_528_rows_that_they_owe", "268"),
    "a verdict that the introduction does not count": Fault(
        {"verdict": "TRUE"}, "test_ledger.test_the_introduction_counts_what_the_ledger_holds", "turned out false"
    ),
}  # fmt: skip
# Planted by other tests, in a book that is built or a notebook that is run: the table in which each stands.
ELSEWHERE = {
    **dict.fromkeys(
        [
            "a dead link on the page", "a dead link to another page", "a macro that KaTeX does not know",
            "a macro that Colab does not know", "one anchor twice", "one label in two pages",
            "a claim box without a verdict", "a verdict other than the ledger's",
        ],
        "test_book_ext.PLANTED",
    ),
    **dict.fromkeys(["a script that raises", "a script that is not there"], "test_explorable_pages.FAULTS"),
    **dict.fromkeys(["verdict", "no source", "no evidence", "misspelt"], "test_ledger.BROKEN"),
    **dict.fromkeys(
        ["near, and no tolerance", "another word", "a line less", "nothing stored"], "test_tolerance.CELLS"
    ),
}  # fmt: skip

GROUPS = {
    "an open page": OPENED, "a page that loads": LOADED, "a notebook": NOTEBOOKS,
    "a built file": {name: fault for name, (_, fault) in SITES.items()},
    "the search": SEARCH, "the archive": PACKED, "the PDF": PRINTED, "the ledger": ROWS,
}  # fmt: skip


def main() -> None:
    print("| planted in | fault | noticed by |\n|---|---|---|")
    for place, faults in GROUPS.items():
        for name, fault in faults.items():
            print(f"| {place} | {name} | {fault.noticed_by} |")
    for name, table in ELSEWHERE.items():
        print(f"| by another test | {name} | {table} |")
    print(f"\n{sum(map(len, GROUPS.values()))} faults here, {len(ELSEWHERE)} more by other tests")


if __name__ == "__main__":
    main()
