"""The tables of Coming from elsewhere: each name exists on both sides, and differences are those that are written."""

import importlib
import inspect
import re
import sys
import warnings
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
import transformers
from bs4 import BeautifulSoup

from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.nn import losses, masks, norm, ops, positional, transformer
from attnlib.nn.attention import scaled_dot_product_attention
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.testing import assert_close

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from _ext.peers import peers  # noqa: E402  (the extension lies beside the book)

PAGE = ROOT / "book" / "api" / "coming-from-elsewhere.md"
ROWS = [(group, row) for group, rows in peers(ROOT).items() for row in rows]
PINNED = ("torch", "transformers", "tokenizers")


def named(row):
    return f"{row['there']} is {row['here']}"


def found(path):
    """What a dotted name leads to; modules of PyTorch and of Hugging Face are loaded only when asked for."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            value = getattr(value, name)
        return value
    raise LookupError(path)


def takes(value, name):
    """Whether a function, a class or a config takes an argument of that name."""
    try:
        given = inspect.signature(value).parameters
    except ValueError:  # written in C++: its documentation begins with its signature
        return f"{name}" in (value.__doc__ or "")
    several = any(one.kind is one.VAR_KEYWORD for one in given.values())
    if name in given or not several:
        return name in given
    if inspect.isclass(value):
        return name in ModelConfig.__annotations__ or hasattr(value(), name)
    return name in ModelConfig.__annotations__ or "parameters" in given


# ---- Names ----------------------------------------------------------------------------------------------------------


def test_the_tables_have_rows_for_each_of_the_five_and_the_page_shows_all():
    text = PAGE.read_text()
    assert len(ROWS) >= 40
    assert list(peers(ROOT)) == re.findall(r"```\{peers\} (.*)", text)
    for _, row in ROWS:
        assert row.keys() <= {"there", "here", "arguments", "differs"} and row["differs"].endswith("."), row
    names = [(group, row["there"], row["here"]) for group, row in ROWS]
    assert len(set(names)) == len(names)
    assert len(re.sub(r"```.*?```", "", text, flags=re.S).split()) <= 1200


@pytest.mark.parametrize("row", [row for _, row in ROWS], ids=named)
def test_the_name_here_exists_and_takes_the_arguments(row):
    assert row["here"].split(".")[0] in ("attnlib", "torch")
    value = found(row["here"])
    assert callable(value)
    for name in row.get("arguments", {}).values():
        assert takes(value, name), f"{row['here']} takes no {name}"


@pytest.mark.parametrize(
    "row", [row for group, row in ROWS if group in ("PyTorch", "Hugging Face")], ids=named
)
def test_the_name_there_exists_and_takes_the_arguments(row):
    assert row["there"].split(".")[0] in PINNED
    value = found(row["there"])
    for name in row.get("arguments", {}):
        assert takes(value, name), f"{row['there']} takes no {name}"


def test_a_name_or_an_argument_that_does_not_exist_would_be_found():
    """The three looks above can fail."""
    with pytest.raises((LookupError, AttributeError)):
        found("attnlib.nn.multihead.MultiheadAttention")
    assert not takes(MultiHeadAttention, "num_heads") and not takes(torch.nn.MultiheadAttention, "n_heads")
    assert not takes(transformers.GPT2Config, "n_heads") and not takes(transformers.GenerationConfig, "width")
    assert not takes(F.scaled_dot_product_attention, "no_such_mask")


@pytest.mark.built
def test_the_page_has_every_row_and_each_name_leads_to_its_entry():
    folder = ROOT / "_build" / "html" / "book" / "api"
    page = BeautifulSoup((folder / "coming-from-elsewhere.html").read_text(), "html.parser")
    shown = page.select("table.twins tbody tr")
    assert len(shown) == len(ROWS)
    for line, (_, row) in zip(shown, ROWS, strict=True):
        there, here, differs = line.select("td")
        assert there.text.strip() == row["there"].replace(", ", "") and differs.text.strip()
        links = [str(link["href"]) for link in here.select("a")]
        assert len(links) == (0 if row["here"].startswith("torch.") else 1), row["here"]
        for href in links:
            file, _, anchor = href.partition("#")
            assert f'id="{anchor}"' in (folder / file).read_text()


# ---- What gives no error --------------------------------------------------------------------------------------------

B, N, D, H = 2, 5, 8, 2


@pytest.fixture
def X():
    return torch.randn(B, N, D, generator=torch.Generator().manual_seed(0))


def same_layer(**more):
    """PyTorch's module and ours with the same parameters."""
    torch.manual_seed(0)
    theirs = torch.nn.MultiheadAttention(D, H, batch_first=True, **more).eval()
    ours = MultiHeadAttention(d_model=D, n_heads=H)
    with torch.no_grad():
        for name, W, b in zip(
            "QKV", theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3), strict=True
        ):
            getattr(ours, f"W_{name}").weight.copy_(W)
            getattr(ours, f"W_{name}").bias.copy_(b)
        ours.W_O.load_state_dict(theirs.out_proj.state_dict())
    return theirs, ours


def test_a_mask_of_the_module_is_the_other_way_round(X):
    theirs, ours = same_layer()
    hidden = torch.ones(N, N, dtype=torch.bool).triu(1)
    padded = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    right, _ = theirs(X, X, X, attn_mask=hidden, key_padding_mask=padded)
    assert_close(ours(X, mask=~hidden, key_mask=~padded), right.detach(), "float32")
    assert (ours(X, mask=hidden | torch.eye(N, dtype=torch.bool)) - right).abs().max() > 1e-3


def test_the_module_gives_no_number_where_a_query_may_attend_to_nothing(X):
    theirs, ours = same_layer()
    hidden = torch.zeros(N, N, dtype=torch.bool)
    hidden[0] = True
    assert theirs(X, X, X, attn_mask=hidden)[0][:, 0].isnan().all()
    assert_close(ours(X, mask=~hidden)[:, 0], ours.W_O.bias.expand(B, D), "float32")


def test_a_mask_of_the_function_is_read_as_here_and_its_flag_aligns_the_first(X):
    mask = torch.ones(N, N, dtype=torch.bool).tril()
    right = F.scaled_dot_product_attention(X, X, X, attn_mask=mask)
    assert_close(scaled_dot_product_attention(X, X, X, mask), right, "float32")
    last = X[:, -2:]
    by_flag = F.scaled_dot_product_attention(last, X, X, is_causal=True)
    by_mask = scaled_dot_product_attention(last, X, X, masks.causal_mask(N, 2)[None])
    assert_close(by_flag[:, 0], X[:, 0], "float32")  # the first query sees the first key alone
    assert_close(by_mask[:, 1], scaled_dot_product_attention(X[:, -1:], X, X)[:, 0], "float32")


def test_the_epsilons_of_the_norms(X):
    small, one = X * 1e-3, torch.ones(D)
    assert_close(norm.layer_norm(small, one, 0 * one), torch.nn.LayerNorm(D)(small).detach(), "float32")
    theirs = F.rms_norm(small, (D,), one)
    assert (norm.rms_norm(small, one) - theirs).abs().max() > 0.1
    assert_close(norm.rms_norm(small, one, eps=torch.finfo(torch.float32).eps), theirs, "float32")
    llama = transformers.models.llama.modeling_llama.LlamaRMSNorm(D)
    assert llama.variance_epsilon == transformers.LlamaConfig().rms_norm_eps == 1e-6


def test_the_defaults_of_pytorchs_blocks_and_of_gpt2():
    layer = torch.nn.TransformerEncoderLayer(D, H)
    assert not layer.norm_first and layer.dropout.p == 0.1 and not layer.self_attn.batch_first
    assert layer.activation is F.relu
    block = transformer.Block(attention=MultiHeadAttention(d_model=D, n_heads=H))
    assert block.order == "pre" and MultiHeadAttention(d_model=D, n_heads=H).dropout == 0
    config = transformers.GPT2Config()
    assert config.resid_pdrop == config.embd_pdrop == config.attn_pdrop == 0.1
    assert config.activation_function == "gelu_new" and ModelConfig(7).activation == "gelu_tanh"
    assert config.tie_word_embeddings and ModelConfig(7).tied and ModelConfig(7).dropout == 0


def test_the_two_forms_of_gelu(X):
    from transformers.activations import NewGELUActivation

    from attnlib.nn.activations import gelu, gelu_tanh

    assert_close(gelu(X), F.gelu(X), "float32")
    assert_close(gelu_tanh(X), NewGELUActivation()(X), "float32")
    assert not torch.allclose(gelu(X), gelu_tanh(X), atol=1e-5)


def test_losses_are_of_each_token(X):
    targets = torch.tensor([[1, 2, 3, 4, 0], [7, 6, 5, -100, -100]])
    real = targets >= 0
    theirs = F.cross_entropy(X.transpose(1, 2), targets)
    assert_close(losses.sequence_loss(X, targets.clamp(min=0), real), theirs, "float32")
    each = losses.cross_entropy(X[:1], targets[:1])
    assert each.shape == (1, N)
    smooth = torch.nn.CrossEntropyLoss(label_smoothing=0.1)(X[0], targets[0])
    assert_close(losses.smoothed_cross_entropy(X[0], targets[0], 0.1).mean(), smooth, "float32")


def test_rotary_layouts_by_positions_of_rows(X):
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    places = torch.tensor([[0, 1, 2, 3, 4], [0, 0, 0, 1, 2]])
    angles = positional.angles(places, D).repeat(1, 1, 2)
    Q = X[:, None].expand(B, 3, N, D)
    theirs, _ = apply_rotary_pos_emb(Q, Q, angles.cos(), angles.sin())
    assert_close(positional.rotary_halves(Q, places[:, None]), theirs, "float32")
    assert (positional.rotary(Q, places[:, None]) - theirs).abs().max() > 0.1


def test_without_any_key_the_weights_are_zeros():
    """Scores of -1e6, as d2l writes them, leave equal weights."""
    S, nothing = torch.randn(1, N), torch.zeros(1, N, dtype=torch.bool)
    assert ops.masked_softmax(S, nothing).sum() == 0
    assert_close(torch.softmax(torch.full((1, N), -1e6), -1), torch.full((1, N), 1 / N), "float32")


def test_a_first_loss_is_a_sixth_above_log_v_where_parameters_start_as_those_of_pytorchs_modules():
    """The sentence on LLMs-from-scratch: after the last norm scores have a variance of one third."""
    torch.manual_seed(0)
    tokens = torch.randint(50, (4, 17))
    config = ModelConfig(vocab=50, context=16, d_model=64, tied=True, n_layers=1)
    ours = GPT(config)

    def first(model):
        return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()).item()

    log_v = torch.tensor(50.0).log().item()
    assert abs(first(ours) - log_v) < 0.1
    untied = GPT(ModelConfig(vocab=50, context=16, d_model=64, tied=False, n_layers=1))
    for module in untied.modules():
        if hasattr(module, "reset_parameters") and not isinstance(module, positional.LearnedPositions):
            module.reset_parameters()
    assert first(untied) - log_v == pytest.approx(1 / 6, abs=0.08)


# ---- torch.jit.trace ------------------------------------------------------------------------------------------------


@pytest.mark.traced
def test_a_model_cannot_be_traced_and_is_exported_instead(tmp_path):
    """The page and `help(GPT)` say so; if it ever can be, the sentences go."""
    torch.manual_seed(0)
    model = GPT(ModelConfig(vocab=11, context=16, d_model=8, n_heads=2, n_layers=1)).eval()
    tokens = torch.randint(11, (2, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(TypeError, match="must be bool, not Tensor"):
            torch.jit.trace(model, tokens)
    sizes = {0: torch.export.Dim("batch", min=2), 1: torch.export.Dim("length", min=2, max=16)}
    program = torch.export.export(model, (tokens,), dynamic_shapes=(sizes,))
    torch.export.save(program, tmp_path / "model.pt2")
    again = torch.export.load(tmp_path / "model.pt2").module()
    for shape in ((2, 5), (3, 16), (7, 2)):
        tokens = torch.randint(11, shape)
        assert_close(again(tokens).detach(), model(tokens).detach(), "float32")
    text = " ".join((GPT.__doc__ or "").split())
    assert (
        "`torch.export.export`" in text
        and "`torch.jit.trace`" in text
        and "torch.jit.trace" in PAGE.read_text()
    )
