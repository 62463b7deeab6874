"""Same file name, same function name in both twins: every exception is listed here with its reason."""

import importlib
import inspect
import pkgutil

import attnlib.reference

MODULE = (
    "a module of nn holds what it learns: SelfAttention, CrossAttention, MultiHeadAttention, AttentionLayer"
)
READING = "another way to write it, for reading"
INSIDE = "a step inside MultiHeadAttention, where each map is a module of its own"
AUTOGRAD = "the derivative itself; autograd has it"
WITHOUT_A_TWIN = {
    "attention.attention_by_loops": READING,
    "attention.attention_layer": MODULE,
    "gates.gated_multi_head_attention": "the context manager nn.gates.gated_heads does it to a module",
    "grouped.grouped_query_attention": MODULE,
    "layers.cross_attention": MODULE,
    "layers.self_attention": MODULE,
    "multihead.head_outputs": INSIDE,
    "multihead.multi_head_as_sum": MODULE,
    "multihead.multi_head_attention": MODULE,
    "multihead.multi_head_attention_by_loops": READING,
    "ops.softmax_jacobian": AUTOGRAD,
    "projections.combine": INSIDE,
    "positional.to_halves": "an order of coordinates; any tensor takes it as an index",
    "positional.to_neighbours": "an order of coordinates; any tensor takes it as an index",
    "projections.project": INSIDE,
    "recurrent.sigmoid": "torch.sigmoid",
    "transformer.feed_forward": "a module of nn holds what it learns: FeedForward",
}


def functions_of(package, name):
    try:
        module = importlib.import_module(f"{package}.{name}")
    except ModuleNotFoundError:
        return set()
    own = {
        one for one, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__
    }
    return {f"{name}.{one}" for one in own if one[0] != "_" and not one.endswith("_backward")}


def test_every_forward_of_the_reference_has_its_twin_or_a_reason():
    names = [module.name for module in pkgutil.iter_modules(attnlib.reference.__path__)]
    mine = set().union(*(functions_of("attnlib.reference", name) for name in names))
    twins = set().union(*(functions_of("attnlib.nn", name) for name in names))
    assert mine - twins == set(WITHOUT_A_TWIN)
