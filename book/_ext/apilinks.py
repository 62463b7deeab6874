"""Names of `attnlib` in a notebook lead to the reference: in inline code, and in code cells where they are imported or
called. Each is a link once in a paragraph and once in a cell; a name that the notebook defines itself stays its own.
The tab key stops at the first link in code to each entry, so that a page does not become a long walk.
"""

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from .api import entries, package_of
from .package import anchor_of
from .page_facts import facts_of

CELL = re.compile(r'(<div class="cell_input[^"]*">.*?<pre>)(.*?)(</pre>)', re.S)
OWN = re.compile(r'<span class="(?:nf|nc)">(\w+)</span>')
MODULE = re.compile(r'<span class="nn">(attnlib[\w.]*)</span>')
NAME = re.compile(
    r'(?P<before>(?:<span class="n">(?P<owner>\w+)</span>)?<span class="o">\.</span>)?'
    r'<span class="n">(?P<name>\w+)</span>'
)


def targets(app: Sphinx, page: str) -> dict[str, str]:
    """Address of the entry of each name that the page imports, of `module.name` too."""
    package, places = package_of(app), entries(app.env)
    names = dict(facts_of(app.env, page).names)
    for alias, listed in facts_of(app.env, page).names.items():
        if listed in package.modules:
            names |= {f"{alias}.{one.name}": one.path for one in package.modules[listed].symbols}
    return {name: address(app, page, path) for name, path in names.items() if path in places}


def address(app: Sphinx, page: str, path: str) -> str:
    builder: Any = app.builder
    return f"{builder.get_relative_uri(page, entries(app.env)[path])}#{anchor_of(path)}"


def link_inline_code(app: Sphinx, document: nodes.document, page: str) -> None:
    if app.builder.format != "html":
        return
    known = targets(app, page)
    for paragraph in list(document.findall(nodes.TextElement)):
        seen: set[str] = set()
        for code in [child for child in paragraph.children if isinstance(child, nodes.literal)]:
            name = code.astext().removesuffix("()")
            target = known.get(name) or written_out(app, page, name)
            if not target or target in seen or inside_link(code):
                continue
            seen.add(target)
            code.replace_self(
                nodes.reference("", "", code.deepcopy(), refuri=target, internal=True, classes=["api"])
            )


def written_out(app: Sphinx, page: str, name: str) -> str:
    """The address of `attnlib.reference.ops.softmax`, on any page."""
    listed = package_of(app).find(name) if name.startswith("attnlib.") else ""
    return address(app, page, listed) if listed in entries(app.env) else ""


def inside_link(node: nodes.Node) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(node, nodes.reference | nodes.title):
            return True
    return False


def link_cells(app: Sphinx, page: str, template: str, context: dict[str, Any], document: object) -> None:
    known = targets(app, page) if "body" in context else {}
    if not known:
        return
    own: set[str] = set()
    reached: set[str] = set()

    def linked(cell: re.Match[str]) -> str:
        own.update(OWN.findall(cell[2]))
        open_names = {name: target for name, target in known.items() if name not in own}
        code = MODULE.sub(lambda found: module_link(app, page, found, reached), cell[2])
        return cell[1] + "".join(link_code(code, open_names, reached)) + cell[3]

    context["body"] = CELL.sub(linked, context["body"])


def link_code(code: str, known: dict[str, str], reached: set[str]) -> Iterator[str]:
    """The HTML of a cell with its first mention of each known name linked."""
    seen: set[str] = set()
    end = 0
    for found in NAME.finditer(code):
        name = f"{found['owner']}.{found['name']}" if found["owner"] else found["name"]
        if name in seen or name not in known or (found["before"] and not found["owner"]):
            continue
        seen.add(name)
        start = found.start() + len(found["before"] or "")
        yield code[end:start] + anchor(known[name], code[start : found.end()], reached)
        end = found.end()
    yield code[end:]


def module_link(app: Sphinx, page: str, found: re.Match[str], reached: set[str]) -> str:
    target = written_out(app, page, found[1])
    return anchor(target, found[0], reached) if target else found[0]


def anchor(target: str, text: str, reached: set[str]) -> str:
    """A link; the tab key skips it if an earlier one on the page has the same target."""
    again = ' tabindex="-1"' if target in reached else ""
    reached.add(target)
    return f'<a class="api" href="{target}"{again}>{text}</a>'


def setup(app: Sphinx) -> None:
    app.connect("doctree-resolved", link_inline_code)
    app.connect("html-page-context", link_cells)
