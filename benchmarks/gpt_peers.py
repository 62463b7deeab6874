"""The same GPT twice, for a race of equals: ours and Hugging Face's GPT-2, with the same parameters."""

from typing import Any

import torch

from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.models.pretrained import take_published

SEED, LAYERS, WIDTH, HEADS = 0, 4, 256, 4


def peers(vocab: int, longest: int) -> tuple[GPT, Any]:
    """Four layers, 256 wide; the parameters are drawn ten times as large as usual, so that no two scores are equal."""
    import transformers

    torch.manual_seed(SEED)
    config = transformers.GPT2Config(
        vocab_size=vocab, n_positions=longest, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, initializer_range=0.2,
        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    theirs = transformers.GPT2LMHeadModel(config)
    ours = GPT(ModelConfig(vocab=vocab, context=longest, d_model=WIDTH, n_heads=HEADS, n_layers=LAYERS))
    take_published(ours, {name: W.detach() for name, W in theirs.named_parameters()})
    return ours, theirs
