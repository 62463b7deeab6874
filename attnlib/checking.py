"""What a shape annotation requires of an argument, and the error message for one that does not fit.

`attnlib.shapes.checked` calls this: first the kind of each argument is checked, then the sizes that several of them
must share. Only `.shape` and `.dtype` are read, so arrays and tensors are treated alike, and neither NumPy nor torch is
imported.
"""

import functools
import inspect
import math
import re
import sys
from collections.abc import Callable
from itertools import zip_longest
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import IO, Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

AXES = ("no axis", "one axis", "two axes", "three axes", "four axes")
NUMBERS = {"h": " of heads", "n": " of keys", "m": " of queries", "T": " of steps"}
PLURAL = {"Q": "queries", "K": "keys", "V": "values"}
DTYPES = {"float": ("float", "bfloat"), "int": ("int", "uint"), "bool": ("bool",), "complex": ("complex",)}
KINDS = {  # what an array must hold and how to convert it, by kind; by name for "mask", "bias" and "Z"
    "float": ("hold real floating-point numbers", "Convert it to float32 or float64 first."),
    "int": ("be an array of integers", "Convert it to int64 first."),
    "complex": ("hold complex numbers", "Convert it to complex128 first."),
    "bool": ("be boolean", "An additive mask becomes boolean with `mask_from_additive`."),
    "mask": ("be boolean with True = may look", "An additive 0/-inf mask becomes boolean with `mask == 0`."),
    "bias": ("hold numbers to add to the scores", "A boolean mask is passed as `mask`."),
    "Z": (
        "be boolean with True = stop here",
        "Probabilities become decisions with a comparison, such as `p > 0.5`.",
    ),
    "numpy": (  # an array or tensor of the other library
        "be a NumPy array",
        "`.detach().cpu().numpy()` makes one; attnlib.nn has the same function for tensors.",
    ),
    "torch": (
        "be a torch tensor",
        "`torch.from_numpy` makes one; attnlib.reference has the same function for arrays.",
    ),
}
OF_ITS_OWN_DTYPE = (
    "bias",
    "lam",
)  # a bias is converted; the log of a sum stays in float32 beside half precision
# For `layer(X, X, X)`, which torch.nn.MultiheadAttention takes.
ANOTHER_SOURCE = "Keys and values come from one source: `layer(X, source)`, and for X itself `layer(X)`."
HINTS = {  # advice on a wrong shape, by the name of the array or its first letter
    "mask": " A mask over keys (b, n) becomes (b, 1, n) with `mask[:, None, :]`.",
    "positions": " Positions of each row, the same for all of its heads, become `positions[:, None]`.",
    "reward": " The rewards of all keys become those of the drawn ones with `R[index]`.",
    "S": " More draws of the same rows go into leading axes.",
    "W": " Parameters are stored (in, out).",
}
SEEDS = {
    "numpy": "from a seed with `np.random.default_rng(seed)`",
    "torch": "from a seed with `torch.Generator().manual_seed(seed)`",
}


def dtype_of(value: Any) -> str:
    """The name of the dtype; of the type where the value is not an array."""
    return str(getattr(value, "dtype", type(value).__name__)).removeprefix("torch.")


class Axes:
    """`*#b #m d_k`: any number of batch axes, then axes with names; an axis with a # may have size one."""

    def __init__(self, home: Any, kind: str, text: str) -> None:
        self.home, self.kind, self.text = home, kind, text
        words = re.sub("[{}]", "", text).split()
        self.batch = words.pop(0) if words and words[0][0] in "*." else ""
        self.names, self.least = words, sum(word[0] != "#" for word in words)
        self.more: list[
            Axes
        ] = []  # alternatives with more axes, such as a mask with one for the heads, or of another kind

    def __str__(self) -> str:
        words = re.sub(r"[#{}]|self\.", "", self.text).split()
        return f"({', '.join(words)}{',' if len(words) == 1 and not self.batch else ''})"

    @property
    def dtypes(self) -> tuple[str, ...]:
        """How the names of the dtypes begin that the array, or one of its alternatives, may have."""
        return tuple(name for one in (self, *self.more) for name in DTYPES[one.kind])

    def parts(self, shape: tuple[int, ...]) -> list[tuple[str, Any]]:
        """The name of each axis with its size in `shape`; all batch axes together come first."""
        at = max(0, len(shape) - len(self.names))
        return [(self.batch, shape[:at]), *zip(self.names[::-1], shape[at:][::-1], strict=False)]

    def fits(self, value: Any) -> bool:
        return hasattr(value, "dtype") and hasattr(value, "shape")

    def read(self, call: "Call", name: str, value: Any) -> None:
        home, came = call.library if self.home is Any else self.home, dtype_of(value)
        rule, then = KINDS.get(name.split(".")[-1], KINDS[self.kind])
        if self.fits(value) and home and not isinstance(value, home):
            came, (rule, then) = type(value).__name__, KINDS[home.__module__]
        elif self.fits(value) and came.startswith(self.dtypes):
            call.arrays.append((name, tuple(value.shape), value, self))
            return
        elif not self.fits(value) and self.kind == "float":
            rule, then = "be an array", "Convert it to an array first."
        elif self.fits(value) and name == "mask" and "source" in call.given and call.has_shape(value.shape):
            then = f"{ANOTHER_SOURCE} {then}"
        call.refuse(f"{name} must {rule}; got {came}. {then}", TypeError)


class Range:
    """`1..n`, `0<..` or `axis`: an integer or a real number, and the interval that it must lie in."""

    def __init__(self, home: type, text: str = "0..") -> None:
        self.kind, self.word = (Integral, "an integer") if home is int else (Real, "a number")
        self.axis = text == "axis"  # the number of an axis of the first array
        self.low, self.open, self.high = re.findall(r"(\d*)(<?)(?:axis|\.\.)([\w.]*)", text)[0]

    def fits(self, value: Any) -> bool:
        return isinstance(value, self.kind) and not isinstance(value, bool)

    def read(self, call: "Call", name: str, value: Any) -> None:
        if not self.fits(value):
            call.refuse(f"{name} must be {self.word}; got {type(value).__name__}.", TypeError)
        call.numbers.append((name, value, self))

    def check_bounds(self, call: "Call", name: str, value: Any) -> None:
        n = max((len(shape) for _, shape, *_ in call.arrays), default=0) if self.axis else 0
        low, high = -n if self.axis else int(self.low), n - 1 if self.axis else math.inf
        high = call.size(self.high) if self.high else high
        most = f"{self.high.split('.')[-1]}={high}" if self.kind is Integral and self.high else high
        rule = f"between {low} and {most}" if self.high or self.axis else f"at least {low}"
        rule = f"{rule}, for {n} axes" if self.axis else rule
        if self.kind is Real and not self.high:
            rule = "positive and finite" if self.open else "finite and not negative"
        if not low <= value <= high or (self.open and value == low) or value == math.inf:
            call.refuse(f"{name} must be {rule}; got {name}={value:{'' if self.kind is Integral else 'g'}}.")


class Instance:
    """Any other class, or a function; of a NamedTuple each field is checked by its own annotation."""

    def __init__(self, *kinds: Any) -> None:
        self.kinds = tuple(get_origin(kind) or kind for kind in kinds)
        hints = get_type_hints(kinds[0], include_extras=True) if hasattr(kinds[0], "_fields") else {}
        self.fields = {name: reader(one) for name, one in hints.items()}

    def fits(self, value: Any) -> bool:
        if IO in self.kinds and (hasattr(value, "read") or hasattr(value, "write")):
            return True  # an open file, of whatever class
        return callable(value) if self.kinds == (Callable,) else isinstance(value, self.kinds)

    def read(self, call: "Call", name: str, value: Any) -> None:
        if not self.fits(value):
            kinds = [kind.__name__ for kind in self.kinds]
            rule = f"{kinds[0]} with {', '.join(self.fields)}" if self.fields else f"a {' or '.join(kinds)}"
            seed = SEEDS.get(self.kinds[0].__module__.split(".")[0]) if kinds == ["Generator"] else None
            then = "Pass the function itself." if self.kinds == (Callable,) else None
            then = then or f"Make one {seed or f'with `{kinds[0]}(...)`'}."
            if IO in self.kinds:
                rule, then = "a path or an open file", "Make a path with `Path(...)`."
            call.refuse(f"{name} must be {rule}; got {type(value).__name__}. {then}", TypeError)
        for field, read in self.fields.items():
            read(call, f"{name}.{field}", getattr(value, field))


def reader(annotation: Any) -> Callable[["Call", str, Any], None]:
    """The function that checks an argument with this annotation.

    Of several alternatives (`A | B`) the one that fits decides; if none does, the one for arrays writes the error.
    """
    options = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    if any(option is Any or isinstance(option, TypeVar) for option in options):
        return lambda call, name, value: None
    rules = [_rule(option) for option in options if option is not NoneType]
    arrays = [rule for rule in rules if isinstance(rule, Axes)]
    plain = [kind for rule in rules if isinstance(rule, Instance) and not rule.fields for kind in rule.kinds]
    rules = [rule for rule in rules if isinstance(rule, Range) or getattr(rule, "fields", None)]
    rules += ([Instance(*plain)] if plain else []) + arrays[:1]
    for axes in arrays[:1]:
        axes.more = arrays[1:]

    def read(call: "Call", name: str, value: Any) -> None:
        if value is not None or NoneType not in options:
            next((rule for rule in rules if rule.fits(value)), rules[-1]).read(call, name, value)

    return read


def _rule(annotation: Any) -> Any:
    """The rule for an annotation without alternatives."""
    if get_origin(annotation) is not Annotated:
        return Instance({int: Integral, float: Real}.get(annotation, annotation))
    home, (kind, text) = get_args(annotation)
    return Range(home, text) if kind == "number" else Axes(home, kind, text)


class Call:
    """One call of `who`, the function: the arrays and numbers that it was given, and the sizes found so far."""

    def __init__(self, who: str, library: Any, given: dict[str, Any], same: dict[str, str]) -> None:
        self.who, self.library, self.given, self.same = who, library, given, same
        self.arrays: list[tuple[str, tuple[int, ...], Any, Axes]] = []
        self.numbers: list[tuple[str, Any, Range]] = []
        self.sizes: dict[
            str, tuple[Any, str, tuple[int, ...], Axes]
        ] = {}  # the name of a size: its value, and the array that it was read from

    @property
    def of_torch(self) -> bool:
        """Whether the function takes tensors."""
        return getattr(self.library, "__module__", "") == "torch"

    def has_shape(self, shape: Any) -> bool:
        """Whether an array before this one has that shape."""
        return any(tuple(shape) == one for _, one, *_ in self.arrays)

    def refuse(self, rule: str, kind: type[Exception] = ValueError) -> None:
        raise kind(f"{self.who}: {rule}")

    def size(self, name: str) -> Any:
        """The value of a size: from an array, from an argument such as `n` or `self.d_model`, or a product, `h*d_k`."""
        name = self.same.get(name, name)
        if name in self.sizes:
            return self.sizes[name][0]
        factors = factors_of(name)
        if len(factors) > 1:
            known = [self.size(factor) for factor in factors]
            return None if None in known else math.prod(known)
        first, *attributes = name.split(".")
        value = functools.reduce(getattr, attributes, self.given.get(first))
        return int(name) if name.isdigit() else value if isinstance(value, Integral) else None

    def agree(self) -> None:
        """Check ranks and dtypes, then sizes, then what broadcasts to them, then numbers."""
        for name, shape, _, axes in self.arrays:
            self._rank(name, shape, axes)
        floats = {
            name: one
            for name, _, one, axes in self.arrays
            if axes.kind == "float"
            and name.split(".")[-1] not in OF_ITS_OWN_DTYPE
            and dtype_of(one).startswith(DTYPES["float"])
        }
        if len({one.dtype for one in floats.values()}) > 1 and not converts(next(iter(floats.values()))):
            these = ", ".join(f"{name} {dtype_of(one)}" for name, one in floats.items())
            rule = f"all arrays must have the same dtype; got {these}. Convert them to one dtype."
            self.refuse(rule, TypeError)
        for name, value, bounds in self.numbers:
            if not bounds.axis and not bounds.high:
                bounds.check_bounds(self, name, value)
        sizes = [
            (*part, name, shape, axes) for name, shape, _, axes in self.arrays for part in axes.parts(shape)
        ]
        for one in sorted(sizes, key=lambda one: len(factors_of(one[0])) > 1):  # products last
            if one[0] and "#" not in one[0] and one[0] != "...":
                self._same(*one)
        for name, shape, _, axes in self.arrays:
            if "#" in axes.text:
                self._broadcasts(name, shape, axes)
        for name, value, bounds in self.numbers:
            bounds.check_bounds(self, name, value)

    def _rank(self, name: str, shape: tuple[int, ...], axes: Axes) -> None:
        n, least = len(shape), min(one.least for one in (axes, *axes.more))
        fixed = [size for axis, size in axes.parts(shape)[1:] if axis != "b"]
        if 0 in (fixed if self.of_torch else shape):  # a batch of tensors may be empty
            self.refuse(f"every axis must have at least one entry; got {name} {shape}.")
        if n < least or (n > len(axes.names) and not axes.batch):
            rule = f"needs {AXES[least]} or more," if axes.batch else "must be"
            then = f" A single vector becomes a matrix of one row with `{name}[None]`." if n == 1 else ""
            then = f" Take one of the batch, such as `{name}[0]`." if n > least else then
            self.refuse(f"{name} {rule} {axes}; got {shape}.{then}")

    def _solved(self, product: str, has: int, name: str, shape: tuple[int, ...]) -> tuple[str, int]:
        """Solve a product of sizes, such as `h*d_k`, for its one unknown factor; with more, leave it as it is."""
        known = {factor: self.size(factor) for factor in factors_of(product)}
        missing = [factor for factor, size in known.items() if size is None]
        if len(known) == 1 or len(missing) > 1:
            return product, has
        other = next(self.same.get(factor, factor) for factor in known if factor not in missing)
        rest = math.prod(size for size in known.values() if size is not None)
        if other.isdigit() and has % rest:
            self.refuse(f"the width of {name} must be a multiple of {rest}; got {name} {shape}.")
        splits_evenly(self.who, f"the width of {name}", has, other, rest)
        return missing[0], has // rest

    def _same(self, size: str, has: Any, name: str, shape: tuple[int, ...], axes: Axes) -> None:
        """Compare an axis with the size of that name, or remember its size if it is the first with that name."""
        size = self.same.get(size, size)
        known = self.size(size)
        if known is None:
            size, has = self._solved(size, has, name, shape)
            self.sizes[size] = has, name, shape, axes
        if known in (None, has):
            return
        hint = HINTS.get(name, HINTS.get(name.split(".")[-1][0], ""))
        if size not in self.sizes:
            self.refuse(f"{name} must be {axes} with {size.split('.')[-1]}={known}; got {shape}.{hint}")
        _, other, first, its = self.sizes[size]
        what = f"width {size}" if re.match("d|.*_d", size) else f"number{NUMBERS.get(size, '')} {size}"
        if size[0] == "*":
            what, hint = "batch axes", hint or " Repeat the smaller one to match."
        what = "shape" if axes.text == its.text else what
        ends = [f" with {size}={end}" if what.endswith(size) else "" for end in (known, has)]
        rule = f"{PLURAL.get(other, other)} and {PLURAL.get(name, name)} must have the same {what}"
        self.refuse(f"{rule}; got {other} {first}{ends[0]} and {name} {shape}{ends[1]}.{hint}")

    def _broadcasts(self, name: str, shape: tuple[int, ...], axes: Axes) -> None:
        fulls = [self._full(one, shape) for one in (axes, *axes.more)]
        full = next((full for full in fulls if len(full) >= len(shape)), fulls[-1])
        if name == "mask":
            has_one_reading(self.who, shape, fulls[0], fulls[-1])
        if not fits_into(shape, full):
            what = "the shape of the scores" if name == "mask" else f"{axes} ="
            self.refuse(f"{name} must broadcast to {what} {full}; got {shape}.{HINTS.get(name, '')}")

    def _full(self, axes: Axes, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape that an array must broadcast to: sizes known by name, and where none is known the array's own."""
        batch, names = axes.batch.replace("#", ""), [name.strip("#") for name in axes.names]
        fronts = [
            one.parts(own)[0][1][::-1]
            for _, own, _, one in self.arrays
            if one.batch.replace("#", "") == batch
        ]
        joint = tuple(map(max, zip_longest(*fronts, fillvalue=1)))[::-1]
        front = self.sizes[batch][0] if batch in self.sizes else joint
        own = ([1] * len(names) + list(shape))[-len(names) or len(shape) + len(names) :]
        return *front, *(self.size(size) or one for size, one in zip(names, own, strict=True))


@functools.cache
def factors_of(size: str) -> list[str]:
    return [size] if size[:1] == "*" else re.findall(r"^\d+|[^*]+", size)


def fits_into(shape: tuple[int, ...], full: tuple[int, ...]) -> bool:
    pairs = zip(shape[::-1], full[::-1], strict=False)
    return len(shape) <= len(full) and all(has in (1, wanted) for has, wanted in pairs)


def has_one_reading(
    who: str,
    mask: tuple[int, ...],
    scores: tuple[int, ...],
    heads: tuple[int, ...],
    by_name: str = "`mask[:, None, :]`",
) -> None:
    """Refuse the shape of a mask that fits in two ways, of which the wrong one would give wrong numbers silently.

    `scores` is the shape (*b, m, n) of the scores of one head, `heads` the same with an axis for the heads, if any.
    """
    if len(scores) != 3 or len(mask) not in (2, 3) or mask[0] < 2:
        return
    b, m, n = scores
    if mask in ((b, n), (b, 1)) and b == m:
        ways = (
            "(m, n) and as (b, n)",
            "the same for the whole batch is `mask[None]`",
            f"of keys is {by_name}",
        )
    elif mask in ((b, m, n), (b, m, 1)) and len(heads) == 4 and b == heads[1] and m > 1:
        ways = (
            "(b, m, n) and as (h, m, n)",
            "for each sequence is `mask[:, None]`",
            "for each head is `mask[None]`",
        )
    else:
        return
    raise ValueError(
        f"{who}: mask must fit the scores in one way; got {mask}, which fits as {ways[0]}. "
        f"A mask {ways[1]}, one {ways[2]}."
    )


def splits_evenly(who: str, size: str, width: int, name: str, parts: int) -> None:
    """Refuse a width that does not divide into that many equal parts."""
    if width % parts:
        fitting = [k for k in range(1, width + 1) if width % k == 0]
        near = [k for k in fitting if k < parts][-1:] + [k for k in fitting if k > parts][:1]
        raise ValueError(
            f"{who}: {size} must split evenly into {name}; got {size}={width}, {name}={parts} "
            f"({width} / {parts} leaves {width % parts}). Try {name}={' or '.join(map(str, near))}."
        )


def converts(array: Any) -> bool:
    """Whether torch converts all dtypes to one by itself: within `torch.autocast` it does."""
    return hasattr(array, "detach") and sys.modules["torch"].is_autocast_enabled(array.device.type)


class CheckedSignature:
    """The annotations of a function, read once; `bind` holds each call to them."""

    def __init__(self, function: Callable[..., Any]) -> None:
        owner, _, name = function.__qualname__.rpartition(".")
        self.who = owner if name in ("forward", "__init__") else function.__qualname__
        hints = {
            name: one
            for name, one in get_type_hints(function, include_extras=True).items()
            if name != "return"
        }
        self.same, self.signature = getattr(function, "same", {}), inspect.signature(function)
        self.readers = {name: reader(one) for name, one in hints.items()}
        parts = [part for one in hints.values() for part in (one, *get_args(one))]
        homes = [get_args(part)[0] for part in parts if get_origin(part) is Annotated]
        self.library = next((home for home in homes if home not in (int, float, Any)), None)

    def bind(self, args: tuple[Any, ...], named: dict[str, Any]) -> Call:
        """The call with these arguments; an error if one of them does not fit its annotation."""
        try:
            given = self.signature.bind(*args, **named)
        except TypeError as error:
            raise TypeError(self._misnamed(str(error), args)) from None
        given.apply_defaults()
        call = Call(self.who, self.library, given.arguments, self.same)
        for name, value in given.arguments.items():
            several = self.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            twin = self.same.get(name, "")
            ones = value if several else (given.arguments.get(twin) if value is None else value,)
            for i, one in enumerate(ones):
                if name in self.readers:
                    self.readers[name](call, f"{name[:-1]} {i}" if several else name, one)
        call.agree()
        return call

    def _misnamed(self, error: str, args: tuple[Any, ...]) -> str:
        """What is wrong with the names or the number of the arguments, and which there are."""
        named = [one for one in self.signature.parameters.values() if one.kind is one.KEYWORD_ONLY]
        if "positional" in error and named:
            call = ", ".join(f"{one.name}=..." for one in named[: max(2, len(args) - 1)])
            return (
                f"{self.who}: arguments must be named; got some without a name. Write `{self.who}({call})`."
            )
        names = [one for one in self.signature.parameters if one != "self"]
        return f"{self.who}: {error}. The arguments are {', '.join(names)}."
