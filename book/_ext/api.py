"""The reference of `attnlib`, made from its docstrings.

    ```{api} models train data
    ```

lists these parts of the package, module by module; a part that does not exist yet is left out. `*` stands for every
part that no other page lists, so a new one is never lost. An entry has its signature, its docstring with the outputs
of the examples, the places that teach it, and its source.
"""

import ast
import hashlib
import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from . import docstrings, signatures
from .anchors import TAG, register
from .chapters import number
from .docstrings import EquationLabel
from .package import Module, Package, Symbol, anchor_of, group_of, kin, nearest, read_package
from .page_facts import facts_of, pages
from .taught_in import Place, owners, taught, users

DIRECTIVE = re.compile(r"^```\{api\}\s+(.*)$", re.M)


class Foot(nodes.General, nodes.Element):
    """The last lines of an entry: where it is taught, what explains it, its source; `symbol` is its name."""


class ApiDirective(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        package = package_of(self.env.app)
        for module in package.modules.values():
            self.env.note_dependency(module.file)
        wanted = self.arguments[0].split()
        if wanted == ["*"]:
            wanted = [group for group in package.groups() if group not in listed(Path(self.env.srcdir))]
        modules = [
            module
            for group in wanted
            for module in package.modules.values()
            if group_of(module.name) == group
        ]
        return [self.module(module) for module in modules if module.symbols or "." not in module.name]

    def module(self, module: Module) -> nodes.section:
        section = self.section(module.name, f"attnlib.{module.name}")
        for block in docstrings.blocks(module.doc)[:2]:  # what follows is for those who write it
            section += self.linked(docstrings.parse_block(block))
        section += [self.entry(symbol) for symbol in module.symbols]
        return section

    def entry(self, symbol: Symbol) -> nodes.section:
        section = self.section(symbol.path, symbol.name)
        node = symbol.node
        if isinstance(node, ast.ClassDef):
            section += nodes.raw("", signatures.class_signature(node), format="html")
            section += self.linked([*docstrings.parse(symbol.doc), *members(symbol, node)])
        else:
            section += nodes.raw("", signatures.function_signature(node), format="html")
            section += self.linked(docstrings.parse(symbol.doc))
        section += Foot(symbol=symbol.path)
        return section

    def section(self, path: str, title: str) -> nodes.section:
        section = nodes.section("", nodes.title(title, title), classes=["api"])
        section.line = self.lineno
        register(self.state.document, self.env, anchor_of(path), section, title)
        return section

    def linked(self, parts: list[nodes.Node]) -> list[nodes.Node]:
        """The same parts; the equation labels in them are stored, because the page shows previews of them."""
        for part in parts:
            facts_of(self.env).labels.update(one["label"] for one in part.findall(EquationLabel))
        return parts


def listed(folder: Path) -> set[str]:
    """The parts that some page lists by name."""
    texts = [file.read_text("utf8") for file in (folder / "book").rglob("*.md")]
    return {group for text in texts for line in DIRECTIVE.findall(text) for group in line.split()}


def members(symbol: Symbol, node: ast.ClassDef) -> list[nodes.Node]:
    """The fields that carry a comment, and the public methods."""
    rows = [(name, comment_of(symbol, name)) for name, _, _ in signatures.fields(node)]
    rows = [(name, comment) for name, comment in rows if comment]
    made: list[nodes.Node] = [docstrings.table(rows)] if rows else []
    for method in signatures.methods(node):
        head = signatures.function_signature(method, f".{method.name}", method=True)
        made.append(nodes.raw("", head, format="html"))
        made += docstrings.parse(ast.get_docstring(method) or "")
    return made


def comment_of(symbol: Symbol, name: str) -> str:
    """The comment on the lines of a field."""
    start = symbol.node.lineno
    for line in symbol.node.body:
        if isinstance(line, ast.AnnAssign) and ast.unparse(line.target) == name:
            own = symbol.comments[line.lineno - start : (line.end_lineno or line.lineno) - start + 1]
            return " ".join(filter(None, own))
    return ""


# ---- Links, once every page has been read ---------------------------------------------------------------------------


def package_of(app: Sphinx) -> Package:
    return app.course_package  # type: ignore[attr-defined]


def entries(env: BuildEnvironment) -> dict[str, str]:
    """The page of each entry of the reference."""
    package = package_of(env.app)
    known = {anchor_of(path): path for path in [*package.modules, *package.symbols]}
    return {known[a]: page for page, facts in pages(env).items() for a in facts.anchors & known.keys()}


def link(builder, page: str, anchor: str, text: str) -> str:
    uri = builder.get_relative_uri(builder.current_docname, page)
    return f'<a href="{uri}{f"#{anchor}" if anchor else ""}">{text}</a>'


def visit_label(self, node: EquationLabel) -> None:
    page = owners(self.builder.env).get(node["label"])
    if page is None:
        self.body.append(f"<code>{node['label']}</code>")
    else:
        self.body.append(equation_link(self.builder, page, node["label"], bare=node["bare"]))
    raise nodes.SkipNode


def equation_link(builder, page: str, label: str, *, bare: bool = False) -> str:
    """A link whose text is the equation's number, in parentheses unless it stands in some."""
    tag = TAG.search(facts_of(builder.env, page).equations[label])
    number = tag[1] if tag else label
    return link(builder, page, label, number if bare else f"({number})")


def visit_foot(self, node: Foot) -> None:
    builder, package = self.builder, package_of(self.builder.app)
    symbol = package.symbols[node["symbol"]]
    lines = [
        (
            "Taught in",
            [place_link(builder, *group) for group in by_page(taught(builder.env, package, symbol))],
        ),
        ("Used in", [page_link(builder, page) for page in also_used(builder.env, package, symbol)]),
        ("Example", example_links(builder, package, symbol)),
        ("Twin", twin_links(builder, package, symbol)),
        ("Source", [source_link(builder, symbol)]),
    ]
    items = [f"<div><dt>{name}</dt><dd>{', '.join(found)}</dd></div>" for name, found in lines if found]
    self.body.append(f'<dl class="api-foot">{"".join(items)}</dl>\n')
    raise nodes.SkipNode


def by_page(places: list[Place]) -> list[tuple[str, list[str]]]:
    """Each page once, with the equations on it."""
    grouped: dict[str, list[str]] = {}
    for page, label in places:
        grouped.setdefault(page, []).extend([label] if label else [])
    return list(grouped.items())


def page_link(builder, page: str) -> str:
    title = escape(builder.env.titles[page].astext())
    return link(builder, page, "", f"{number(page)} {title}".strip())


def place_link(builder, page: str, labels: list[str]) -> str:
    return " ".join([page_link(builder, page), *(equation_link(builder, page, label) for label in labels)])


def also_used(env: BuildEnvironment, package: Package, symbol: Symbol) -> list[str]:
    teaching = {page for page, _ in taught(env, package, symbol)}
    return [page for page in users(env, symbol) if page not in teaching]


def example_links(builder, package: Package, symbol: Symbol) -> list[str]:
    """For an entry without an example, the nearest one that has one."""
    if ">>>" in symbol.doc:
        return []
    found = [one for one in kin(package, symbol) if ">>>" in one.doc]
    return [entry_link(builder, one) for one in found[:1]]


def twin_links(builder, package: Package, symbol: Symbol) -> list[str]:
    found = [one for one in nearest(package, symbol) if one.name == symbol.name]
    return [entry_link(builder, one) for one in found[:1]]


def entry_link(builder, symbol: Symbol) -> str:
    page = entries(builder.env).get(symbol.path)
    text = f"<code>{symbol.path}</code>"
    return link(builder, page, anchor_of(symbol.path), text) if page else text


def source_link(builder, symbol: Symbol) -> str:
    theme = builder.config.html_theme_options
    branch, file = theme.get("repository_branch", "main"), symbol.file
    lines = f"L{symbol.node.lineno}-L{symbol.node.end_lineno}"
    address = f"{theme.get('repository_url', '')}/blob/{branch}/{file}#{lines}"
    return f'<a href="{escape(address)}">{file}</a>'


def read_it(app: Sphinx, config: Config) -> None:
    """The package is read once a build; when what it offers changes, links to it change on every page."""
    app.course_package = read_package(Path(app.srcdir) / "attnlib")  # type: ignore[attr-defined]
    names = " ".join(sorted(package_of(app).symbols))
    config["course_api"] = hashlib.sha256(names.encode()).hexdigest()


def stale(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Reference pages whose links lead elsewhere than when they were written; their equations get previews."""
    owner, package = owners(env), package_of(app)
    for path, page in entries(env).items():
        facts = facts_of(env, page)
        facts.links.update((owner[label], label) for label in facts.labels if label in owner)
        if path in package.symbols:
            facts.links.update(place for place in taught(env, package, package.symbols[path]) if place[1])
    titles = tuple(sorted((page, env.titles[page].astext()) for page in env.all_docs if number(page)))
    uses = tuple(sorted((page, *sorted(facts.used)) for page, facts in pages(env).items()))
    shown = (titles, uses, tuple(sorted(owner.items())))
    changed = getattr(env, "course_taught", None) != shown
    env.course_taught = shown  # type: ignore[attr-defined]
    return sorted(set(entries(env).values())) if changed else []


def setup(app: Sphinx) -> None:
    app.add_config_value("course_api", "", "html")
    app.connect("config-inited", read_it)
    app.add_directive("api", ApiDirective)
    app.add_node(EquationLabel, html=(visit_label, None))
    app.add_node(Foot, html=(visit_foot, None))
    app.connect("env-updated", stale)
