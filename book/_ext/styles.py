"""One style sheet for the whole book: those of the theme and ours in their order, without the rules that no page uses,
and with the fonts.

A rule stays if every class and id that its selector asks for occurs in a page or in a script. What a selector says
inside `:is()`, `:not()` and the like is not judged, and a rule that asks for no class and no id always stays.
"""

import hashlib
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

from .fonts import embed

NAME = "book.css"
THEME = "styles/pydata-sphinx-theme.css"
LINK = re.compile(r'[ \t]*<link\b(?=[^>]*rel="stylesheet")[^>]*href="([^"]*_static/)([^"?]+)[^"]*"[^>]*>\n?')
TOKEN = re.compile(
    r"""/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|url\([^"')]*\)|[{};]|[^{};"'/u]+|.""", re.S
)
IMPORT = re.compile(r"""@import\s+(?:url\()?["']?([^"')]+)["']?\)?\s*;""")
URL = re.compile(r"""url\((["']?)(?!data:|#|https?:)([^"')]+)\1\)""")
NAMED = re.compile(r"[.#](-?[A-Za-z_](?:\\.|[\w-])*)")
GROUPS = ("@media", "@supports", "@layer", "@container")
ATTRIBUTE = re.compile(r'\s(?:class|id)="([^"]*)"')
SCRIPT = re.compile(r"<script\b[^>]*>(.*?)</script>", re.S)
WORD = re.compile(r"[\w-]+")
VARIABLE = re.compile(r"(?<![\w-])(--[\w-]+)\s*:")
READ = re.compile(r"var\(\s*(--[\w-]+)")
SETTING = re.compile(r"""(?<![\w-])(--[\w-]+)\s*:(?:"[^"]*"|'[^']*'|[^;{}"'])*(?:;\s*|(?=\}))""")
ICON = re.compile(r"(\.fa(-[\w-]*)?(?![\w-])[^,]*(,\s*|$))+")
# A browser begins to read a font when it lays out the first text in it, and paints meanwhile in another. Here it reads
# all of them, which lie in the sheet, before it shows anything; it waits for no network, and never for long.
READ_FONTS = """<script>(page => {
    page.dataset.fonts = "coming";
    const show = () => page.removeAttribute("data-fonts");
    Promise.allSettled([...document.fonts].map(font => font.load())).then(show);
    setTimeout(show, 3000);
  })(document.documentElement)</script>"""

Rule = tuple[str, str | list["Rule"]]  # what stands before the braces, and what stands in them


def parse(css: str) -> list[Rule]:
    """The rules of a style sheet; those of @media and its like hold rules themselves.

    >>> parse('@media print { a::after { content: "}" } } /* x */ @charset "utf-8"; b, i {top: 0;}')
    [('@media print', [('a::after', 'content: "}"')]), ('@charset "utf-8"', ''), ('b, i', 'top: 0;')]
    """
    tokens = (token for token in TOKEN.findall(css) if not token.startswith("/*"))
    return list(rules(tokens))


def rules(tokens: Iterator[str]) -> Iterator[Rule]:
    head = ""
    for token in tokens:
        if token == "}":
            return
        if token == ";":
            yield clean(head), ""
        elif token == "{":
            grouped = head.strip().startswith(GROUPS)
            yield clean(head), list(rules(tokens)) if grouped else clean(block(tokens))
        head = "" if token in ";{" else head + token


def block(tokens: Iterator[str]) -> str:
    """The text between two braces, nested braces included."""
    text, depth = "", 1
    for token in tokens:
        depth += (token == "{") - (token == "}")
        if not depth:
            break
        text += token
    return text


def clean(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def outer(selector: str) -> str:
    """A selector without what stands in parentheses, brackets and quotes.

    >>> outer('a.b:not(.c:is(.d))[x=".e"] .f')
    'a.b:not[] .f'
    """
    selector = re.sub(r"\[[^\]]*\]", "[]", selector)
    while "(" in selector and (inner := re.sub(r"\([^()]*\)", "", selector)) != selector:
        selector = inner
    return selector


def alternatives(head: str) -> list[str]:
    """The selectors of a list.

    >>> alternatives("a, b:is(c, d), e")
    ['a', 'b:is(c, d)', 'e']
    """
    parts, depth = [""], 0
    for character in head:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def purge(sheet: list[Rule], words: set[str]) -> list[Rule]:
    """The rules that may apply where only `words` occur as classes and ids."""
    kept: list[Rule] = []
    for head, body in sheet:
        if isinstance(body, list):
            inner = purge(body, words)
            kept += [(head, inner)] if inner else []
        elif head.startswith("@"):
            kept += [(head, body)]
        else:
            wanted = [one for one in alternatives(head) if set(NAMED.findall(outer(one))) <= words]
            kept += [(", ".join(wanted), body)] if wanted and body else []
    return kept


def text_of(sheet: list[Rule]) -> str:
    return "\n".join(
        f"{head} {{\n{text_of(body)}\n}}"
        if isinstance(body, list)
        else f"{head} {{ {body} }}"
        if body
        else f"{head};"
        for head, body in sheet
        if not head.startswith("@charset")
    )


def without_idle_variables(css: str, elsewhere: set[str]) -> str:
    """Custom properties that nothing reads are left out, and then those that only they had read.

    >>> without_idle_variables("a { --b: var(--c); --c: url('x;y'); --d: 1px; top: var(--d) }", set())
    'a { --d: 1px; top: var(--d) }'
    """
    while True:
        idle = set(VARIABLE.findall(css)) - set(READ.findall(css)) - elsewhere
        if not idle:
            return css
        css = SETTING.sub(lambda m, idle=idle: "" if m[1] in idle else m[0], css)


def read(static: Path, name: str) -> str:
    """A style sheet with those that it imports; addresses in it are told from the folder _static."""
    css, folder = (static / name).read_text("utf8"), posixpath.dirname(name)
    css = URL.sub(lambda m: f'url("{posixpath.normpath(posixpath.join(folder, m[2]))}")', css)
    return IMPORT.sub(lambda m: read(static, posixpath.normpath(posixpath.join(folder, m[1]))), css)


def rules_of(static: Path, name: str) -> list[Rule]:
    """The rules of a sheet. The theme's icon font is not shipped: its rules are left out."""
    found = parse(read(static, name))
    if name != THEME:
        return found
    return [(head, body) for head, body in found if head != "@font-face" and not ICON.fullmatch(head)]


def words_of(pages: list[str], scripts: list[str]) -> set[str]:
    """Everything that may be a class or an id: what the pages say, and each word of the scripts."""
    words = {word for page in pages for names in ATTRIBUTE.findall(page) for word in names.split()}
    for text in (*scripts, *(script for page in pages for script in SCRIPT.findall(page))):
        words.update(WORD.findall(text))
    return words


def sheets_of(page: str) -> list[str]:
    return [found[1] for found in LINK.findall(page)]


def link_one(page: str, version: str) -> str:
    """A page that asks for the one sheet, where it asked for its first, and reads the fonts in it."""
    page = page.replace(f"    {READ_FONTS}\n", "")
    first = LINK.search(page)
    if not first:
        return page
    link = f'    <link rel="stylesheet" href="{first[1]}{NAME}?v={version}" />\n    {READ_FONTS}\n'
    return LINK.sub("", page[: first.start()]) + link + LINK.sub("", page[first.end() :])


def remembered(sheet: Path) -> list[str]:
    """What the sheet of the last build was made from: its first line says so."""
    return sheet.read_text("utf8").split("\n", 1)[0].strip("/* ").split() if sheet.exists() else []


def bundle(app: Sphinx, exception: Exception | None) -> None:
    """Write the one sheet and let all pages ask for it; what it is made from is not shipped."""
    if exception or app.builder.name != "html":
        return
    out, static = Path(app.outdir), Path(app.outdir) / "_static"
    pages = {path: path.read_text("utf8") for path in out.rglob("*.html") if static not in path.parents}
    asked = [name for text in pages.values() for name in sheets_of(text) if name != NAME]
    if not asked and (static / NAME).exists():  # no page was written, and Sphinx has copied nothing anew
        return
    names = list(dict.fromkeys([*remembered(static / NAME), *asked]))
    scripts = [path.read_text("utf8") for path in static.rglob("*.js")]
    names = [name for name in names if (static / name).exists()]
    words = words_of(list(pages.values()), scripts)
    sheet = purge([rule for name in names for rule in rules_of(static, name)], words)
    css = without_idle_variables(text_of(sheet), words)
    css = embed(css, list(pages.values()), scripts, static, out.parent / "fonts")
    for font in static.rglob("*.woff2"):  # they are in the sheet
        font.unlink()
    (static / NAME).write_text(f"/* {' '.join(names)} */\n{css}\n", "utf8")
    version = hashlib.sha256(css.encode()).hexdigest()[:8]
    for path, text in pages.items():
        linked = link_one(text, version)
        if linked != text:
            path.write_text(linked, "utf8")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", bundle)
