"""Tools of tests, exercises and proofs: tolerances, central differences, and parameters copied from twin to twin."""

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
    """The values as a NumPy array; bfloat16, which NumPy does not have, becomes float32."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if "bfloat16" in str(values.dtype) else values
    return np.asarray(values)


def judged(said: Any, meant: Any = False, omits: Any = False) -> str:
    """The verdict on a statement: does it hold as said; and if so, does it leave out something that a reader must add?
    If it does not hold as said: does it hold as meant, with a condition or a detail?

    >>> judged(True), judged(2 > 1, omits=3 > 2), judged(1 > 2, meant=2 > 1), judged(False)
    ('TRUE', 'INCOMPLETE', 'IMPRECISE', 'FALSE')
    """
    if said:
        return "INCOMPLETE" if omits else "TRUE"
    return "IMPRECISE" if meant else "FALSE"


def ledger_row(name: str, *, holds: Any, verdict: str = "") -> None:
    """Fail unless the ledger's correct statement `holds`; print the row and its verdict, which tests compare.

    >>> ledger_row("C117", holds=1 + 1 == 2, verdict=judged(1 + 1 == 3))
    C117: FALSE
    """
    assert holds, f"{name}: what the ledger calls correct does not hold."
    print(f"{name}: {verdict or 'holds'}")


def central_difference(f: Callable[..., Any], X: Any, dY: Any, step: float = 1e-5) -> Any:
    """The gradient of sum(f(X) * dY) with respect to X, by moving one entry at a time; float64.

    >>> central_difference(lambda X: X**2, np.array([3.0]), np.array([1.0])).round(6)
    array([6.])
    """
    X = np.array(X, dtype=np.float64)
    gradient = np.empty_like(X)
    for index in np.ndindex(*X.shape):
        old = X[index]
        X[index] = old + step
        above = np.sum(f(X) * dY)
        X[index] = old - step
        below = np.sum(f(X) * dY)
        X[index] = old
        gradient[index] = (above - below) / (2 * step)
    return gradient


def check_gradients(
    forward: Callable[..., tuple[Any, Any]],
    backward: Callable[[Any, Any], Any],
    arrays: Sequence[Any],
    rng: np.random.Generator,
) -> None:
    """Compare a hand-derived backward with central differences, for a random output gradient.

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

    An `nn.Linear` stores (out, in), so its weight is transposed; an `nn.Parameter` is stored as in the book. The bias
    b_Q goes to the `nn.Linear` W_Q, and None means no bias. All shapes are checked before anything is copied.
    """
    import torch

    with torch.no_grad():
        for W, target, transposed in _targets(parameters, module):
            target.copy_(torch.from_numpy(np.array(W.T if transposed else W)))


def _targets(parameters: Any, module: Any) -> list[tuple[Any, Any, bool]]:
    """Each parameter, the module's tensor for it, and whether that is stored as (out, in)."""
    targets = [(W, *_target(name, W, module)) for name, W in parameters._asdict().items()]
    return [one for one in targets if one[1] is not None]


def _target(name: str, W: Any, module: Any) -> tuple[Any, bool]:
    """The module's tensor for the parameter `name`, and whether it is (out, in); None for a bias that neither has."""
    import torch

    target = getattr(module, name, None)
    if target is None and name.startswith("b_"):
        target = getattr(getattr(module, f"W_{name[2:]}", None), "bias", None)
    if target is None and W is None:
        return None, False
    if target is None:
        raise ValueError(
            f"copy_parameters: {type(module).__name__} must have a parameter {name}; it has none."
        )
    transposed = isinstance(target, torch.nn.Linear)
    target = target.weight if isinstance(target, torch.nn.Linear) else target
    shape = tuple(target.T.shape if transposed else target.shape)
    if W is None or W.shape != shape:
        came = "None" if W is None else W.shape
        raise ValueError(f"copy_parameters: {name} must be (in, out) = {shape}; got {came}.")
    return target, transposed


def check_twin(
    forward: Callable[..., tuple[Any, Any]],
    backward: Callable[[Any, Any], Any],
    twin: Callable[..., Any],
    arrays: Sequence[Any],
    rng: np.random.Generator,
    parameters: Any = None,
    module: Any = None,
) -> None:
    """Compare a forward and its hand-derived backward with the twin and its autograd, for a random output gradient.

    twin          the function or module of `attnlib.nn`: the same arrays as tensors -> the output
    arrays        arrays, or NamedTuples of them
    parameters    the last argument of `forward`; copied into `module`, whose gradients are compared
    """
    import torch

    output, cache = forward(*arrays) if parameters is None else forward(*arrays, parameters)
    dY = [rng.normal(size=np.shape(O)).astype(O.dtype) for O in _leaves(output)]
    gradients = _leaves(backward(_filled(output, iter(dY)), cache))
    leaves = [torch.tensor(array, requires_grad=True) for array in _leaves(tuple(arrays))]
    targets = [] if parameters is None else _targets(parameters, module)
    if targets:
        copy_parameters(parameters, module)
    Y = _leaves(twin(*_filled(tuple(arrays), iter(leaves))))
    for O, one in zip(_leaves(output), Y, strict=True):
        assert_close(one, O, str(O.dtype))
    learned = [target for _, target, _ in targets]
    by_autograd = torch.autograd.grad(Y, [*leaves, *learned], [torch.tensor(d) for d in dY])
    transposed = [*(False for _ in leaves), *(transpose for *_, transpose in targets)]
    for found, transpose, gradient in zip(by_autograd, transposed, gradients, strict=True):
        assert_close(found.T if transpose else found, gradient, str(gradient.dtype))


def _leaves(values: Any) -> list[Any]:
    """The arrays in nested tuples and NamedTuples, in order; None counts as no array."""
    if isinstance(values, tuple):
        return [leaf for value in values for leaf in _leaves(value)]
    return [] if values is None else [values]


def _filled(like: Any, leaves: Iterator[Any]) -> Any:
    """A copy of the nested tuple `like`, with its arrays replaced in order by `leaves`."""
    if isinstance(like, tuple):
        values = [_filled(one, leaves) for one in like]
        return type(like)(*values) if hasattr(like, "_fields") else tuple(values)
    return None if like is None else next(leaves)
