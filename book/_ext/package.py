"""What `attnlib` offers, read from its source without importing it.

A module offers the functions and classes whose names do not begin with an underscore. A package that has an
`__all__` offers exactly that, under its own name. Names are written without `attnlib.`: `reference.ops.softmax`.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

LABEL = re.compile(r"\beq-[a-z0-9]+(?:-[a-z0-9]+)*")
Definition = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True, eq=False)
class Symbol:
    """A public function or class: `home` is the module that offers it, `file` the one that defines it."""

    name: str
    home: str
    file: str
    node: Definition
    comments: tuple[
        str, ...
    ] = ()  # the comment at the end of each line of the definition, "" where there is none

    @property
    def path(self) -> str:
        return f"{self.home}.{self.name}"

    @cached_property
    def doc(self) -> str:
        return ast.get_docstring(self.node) or ""

    @cached_property
    def labels(self) -> list[str]:
        return list(dict.fromkeys(LABEL.findall(self.doc)))

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that the definition mentions."""
        return frozenset(node.id for node in ast.walk(self.node) if isinstance(node, ast.Name))


@dataclass
class Module:
    name: str
    doc: str
    file: str
    symbols: list[Symbol] = field(default_factory=list)


@dataclass
class Package:
    """All modules by name; `aliases` leads from where a symbol is defined to where it is offered."""

    modules: dict[str, Module] = field(default_factory=dict)
    symbols: dict[str, Symbol] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def find(self, path: str) -> str:
        """The name under which `path` is listed; empty if it is not.

        >>> Package(modules={"nn.ops": Module("nn.ops", "", "")}).find("attnlib.nn.ops")
        'nn.ops'
        """
        path = path.removeprefix("attnlib.")
        path = self.aliases.get(path, path)
        return path if path in self.symbols or path in self.modules else ""

    @cached_property
    def by_name(self) -> dict[str, list[tuple[int, Symbol]]]:
        """The symbols of each name with their places in the order of all; asked for when all are read."""
        found: dict[str, list[tuple[int, Symbol]]] = {}
        for place, symbol in enumerate(self.symbols.values()):
            found.setdefault(symbol.name, []).append((place, symbol))
        return found

    def groups(self) -> list[str]:
        """The parts of attnlib: `reference`, `nn`, ..., each a package or a module."""
        return list(dict.fromkeys(map(group_of, self.modules)))


def read_package(folder: Path) -> Package:
    """The package in `folder`; an empty one if there is none."""
    package = Package()
    closed: list[str] = []  # packages that say themselves what they offer
    for file in sorted(folder.rglob("*.py"), key=lambda file: (file.parent, file.name)):
        parts = list(file.relative_to(folder).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        name = ".".join(parts)
        if not name or any(part.startswith("_") for part in parts):
            continue
        if any(name.startswith(f"{other}.") for other in closed):
            continue
        module = read_module(folder, file, name)
        if file.name == "__init__.py" and module.symbols:
            closed.append(name)
        package.modules[name] = module
        for symbol in module.symbols:
            package.symbols[symbol.path] = symbol
            defined = symbol.file.removesuffix(".py").removeprefix(f"{folder.name}/").replace("/", ".")
            package.aliases[f"{defined}.{symbol.name}"] = symbol.path
    return package


def read_module(folder: Path, file: Path, name: str) -> Module:
    tree = parsed(file)
    module = Module(name, ast.get_docstring(tree) or "", relative(folder, file))
    offered = exported(tree)
    if offered is None:
        module.symbols = list(definitions(folder, file, name))
    for line in tree.body if offered else []:
        if isinstance(line, ast.ImportFrom) and (line.module or "").startswith(f"{folder.name}."):
            names = {alias.name for alias in line.names} & set(offered or ())
            source = folder.parent / (line.module or "").replace(".", "/")
            source = source / "__init__.py" if source.is_dir() else source.with_suffix(".py")
            module.symbols += [one for one in definitions(folder, source, name) if one.name in names]
    return module


@cache
def parsed(file: Path) -> ast.Module:
    """A file is read as itself and for the packages that offer its names."""
    return ast.parse(file.read_text("utf8"))


def definitions(folder: Path, file: Path, home: str) -> Iterator[Symbol]:
    lines = file.read_text("utf8").splitlines()
    for node in parsed(file).body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            own = lines[node.lineno - 1 : node.end_lineno]
            comments = tuple(line.partition("  # ")[2].strip() for line in own)
            yield Symbol(node.name, home, relative(folder, file), node, comments)


def exported(tree: ast.Module) -> list[str] | None:
    """The names in `__all__`; None if there is none."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return None


def relative(folder: Path, file: Path) -> str:
    return file.relative_to(folder.parent).as_posix()


def kin(package: Package, symbol: Symbol) -> list[Symbol]:
    """What explains a symbol that does not explain itself, nearest first, and what explains that."""
    found = [symbol]
    for one in found:  # names are appended during the loop
        found += [other for other in nearest(package, one) if other not in found]
    return found[1:]


def nearest(package: Package, symbol: Symbol) -> list[Symbol]:
    """A backward is explained by its forward, a function of `nn` by its twin, a cache by the function that returns it,
    a layer by the functions that it calls.
    """
    half, _, rest = symbol.home.partition(".")
    other = {"reference": "nn", "nn": "reference"}.get(half, "")
    named = [f"{symbol.home}.{symbol.name.removesuffix('_backward')}", f"{other}.{rest}.{symbol.name}"]
    neighbours = package.modules[symbol.home].symbols
    mentioned = sorted(found for name in symbol.names for found in package.by_name.get(name, []))
    near = [one for _, one in mentioned if group_of(one.home) == half]
    found = [package.symbols[path] for path in named if path in package.symbols]
    if isinstance(symbol.node, ast.ClassDef):
        found += [one for one in neighbours if symbol.name in one.names]
    found += [one for one in neighbours if one.name in symbol.names] + near
    return [one for one in dict.fromkeys(found) if one is not symbol]


def anchor_of(path: str) -> str:
    """The anchor of an entry on its page; without dots, which the search of the book would take for classes."""
    return path.replace(".", "-")


def group_of(name: str) -> str:
    return name.split(".")[0]
