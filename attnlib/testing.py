"""What tests, exercises and proofs measure with: tolerances, central differences, parameters copied between twins."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

TOLERANCES: dict[str, tuple[float, float]] = {
    "float64": (1e-10, 1e-12),
    "central difference": (1e-6, 1e-8),
    "float32": (1e-5, 1e-5),
    "float16": (1e-3, 2e-3),
    "bfloat16": (1.6e-2, 1e-2),
    "real checkpoint": (1e-4, 1e-4),
}


def tolerance(kind: str) -> tuple[float, float]:
    """rtol and atol for a kind of comparison.

    >>> tolerance("float32")
    (1e-05, 1e-05)
    """
    if kind not in TOLERANCES:
        raise ValueError(f"tolerance: kind must be one of {', '.join(TOLERANCES)}; got {kind!r}.")
    return TOLERANCES[kind]


def assert_close(actual: Any, expected: Any, kind: str) -> None:
    """Equal shapes, and equal numbers to the tolerance of `kind`; arrays, tensors or numbers."""
    rtol, atol = tolerance(kind)
    actual, expected = _as_array(actual), _as_array(expected)
    assert np.shape(actual) == np.shape(expected), f"shapes {np.shape(actual)} and {np.shape(expected)}"
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)


def _as_array(values: Any) -> Any:
    """An array; a tensor is detached, and bfloat16, which NumPy does not know, becomes float32."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if "bfloat16" in str(values.dtype) else values
    return np.asarray(values)


def judged(said: Any, meant: Any = False) -> str:
    """The verdict on a statement: does it hold as said; if not, does it hold as meant, with a condition or a detail?

    >>> judged(True), judged(1 > 2, meant=2 > 1), judged(False)
    ('TRUE', 'IMPRECISE', 'FALSE')
    """
    return "TRUE" if said else "IMPRECISE" if meant else "FALSE"


def ledger_row(name: str, *, holds: Any, verdict: str = "") -> None:
    """Fails unless what the ledger calls correct `holds`; prints the row and its verdict, which tests compare.

    >>> ledger_row("C117", holds=1 + 1 == 2, verdict=judged(1 + 1 == 3))
    C117: FALSE
    """
    assert holds, f"{name}: what the ledger calls correct does not hold."
    print(f"{name}: {verdict or 'holds'}")


def central_difference(f: Callable[..., Any], X: Any, dY: Any, step: float = 1e-5) -> Any:
    """The gradient of sum(f(X) * dY) by X, one entry moved at a time; float64.

    >>> central_difference(lambda X: X**2, np.array([3.0]), np.array([1.0])).round(6)
    array([6.])
    """
    X = np.array(X, dtype=np.float64)
    gradient = np.empty_like(X)
    for place in np.ndindex(*X.shape):
        old = X[place]
        X[place] = old + step
        ahead = np.sum(f(X) * dY)
        X[place] = old - step
        behind = np.sum(f(X) * dY)
        X[place] = old
        gradient[place] = (ahead - behind) / (2 * step)
    return gradient


def check_gradients(
    forward: Callable[..., tuple[Any, Any]],
    backward: Callable[[Any, Any], Any],
    arrays: Sequence[Any],
    rng: np.random.Generator,
) -> None:
    """A hand-derived backward against central differences, for a random output gradient.

    forward     arrays -> (output, cache)
    backward    (gradient of the output, cache) -> one gradient for each array, or one array if there is one
    """
    output, cache = forward(*arrays)
    dY = rng.normal(size=np.shape(output))
    gradients = backward(dY, cache)
    gradients = (gradients,) if isinstance(gradients, np.ndarray) else gradients
    for i, (array, gradient) in enumerate(zip(arrays, gradients, strict=True)):

        def moved(X: Any, i: int = i) -> Any:
            return forward(*arrays[:i], X, *arrays[i + 1 :])[0]

        assert_close(gradient, central_difference(moved, array, dY), "central difference")


def copy_parameters(parameters: Any, module: Any) -> None:
    """Copy a NamedTuple of (in, out) matrices into the module's parameters of the same names.

    An `nn.Linear` stores (out, in), so its weight gets the one transpose; a parameter is stored as in the book. A bias
    b_Q goes to the `nn.Linear` W_Q; None is no bias. All are checked first, so a parameter that does not fit leaves the
    module as it was.
    """
    import torch

    with torch.no_grad():
        for W, home, turned in _homes(parameters, module):
            home.copy_(torch.from_numpy(np.array(W.T if turned else W)))


def _homes(parameters: Any, module: Any) -> list[tuple[Any, Any, bool]]:
    """Each parameter, the module's tensor for it, and whether that is stored as (out, in)."""
    homes = [(W, *_home(name, W, module)) for name, W in parameters._asdict().items()]
    return [one for one in homes if one[1] is not None]


def _home(name: str, W: Any, module: Any) -> tuple[Any, bool]:
    """The tensor of the module that the parameter `name` goes to; None for a bias that neither has."""
    import torch

    home = getattr(module, name, None)
    if home is None and name.startswith("b_"):
        home = getattr(getattr(module, f"W_{name[2:]}", None), "bias", None)
    if home is None and W is None:
        return None, False
    if home is None:
        raise ValueError(
            f"copy_parameters: {type(module).__name__} must have a parameter {name}; it has none."
        )
    turned = isinstance(home, torch.nn.Linear)
    home = home.weight if isinstance(home, torch.nn.Linear) else home
    shape = tuple(home.T.shape if turned else home.shape)
    if W is None or W.shape != shape:
        came = "None" if W is None else W.shape
        raise ValueError(f"copy_parameters: {name} must be (in, out) = {shape}; got {came}.")
    return home, turned


def check_twin(
    forward: Callable[..., tuple[Any, Any]],
    backward: Callable[[Any, Any], Any],
    twin: Callable[..., Any],
    arrays: Sequence[Any],
    rng: np.random.Generator,
    parameters: Any = None,
    module: Any = None,
) -> None:
    """A forward and its hand-derived backward against the twin and its autograd, for a random output gradient.

    twin          the function of `attnlib.nn`, or a module's: the same arrays as tensors -> the output
    arrays        arrays, or NamedTuples of them
    parameters    what `forward` takes behind the arrays; `module` gets it copied, and is asked for its gradients
    """
    import torch

    output, cache = forward(*arrays) if parameters is None else forward(*arrays, parameters)
    dY = [rng.normal(size=np.shape(O)).astype(O.dtype) for O in _leaves(output)]
    gradients = _leaves(backward(_filled(output, iter(dY)), cache))
    leaves = [torch.tensor(array, requires_grad=True) for array in _leaves(tuple(arrays))]
    homes = [] if parameters is None else _homes(parameters, module)
    if homes:
        copy_parameters(parameters, module)
    Y = _leaves(twin(*_filled(tuple(arrays), iter(leaves))))
    for O, one in zip(_leaves(output), Y, strict=True):
        assert_close(one, O, str(O.dtype))
    learned = [home for _, home, _ in homes]
    slopes = torch.autograd.grad(Y, [*leaves, *learned], [torch.tensor(d) for d in dY])
    turned = [*(False for _ in leaves), *(turn for *_, turn in homes)]
    for slope, turn, gradient in zip(slopes, turned, gradients, strict=True):
        assert_close(slope.T if turn else slope, gradient, str(gradient.dtype))


def _leaves(values: Any) -> list[Any]:
    """The arrays in NamedTuples and tuples, one behind the other; None is none."""
    if isinstance(values, tuple):
        return [leaf for value in values for leaf in _leaves(value)]
    return [] if values is None else [values]


def _filled(like: Any, leaves: Iterator[Any]) -> Any:
    """The tuple again, with other leaves."""
    if isinstance(like, tuple):
        values = [_filled(one, leaves) for one in like]
        return type(like)(*values) if hasattr(like, "_fields") else tuple(values)
    return None if like is None else next(leaves)
