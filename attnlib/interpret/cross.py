"""The cross-attention weights of a decoder, for each word that it predicts.

Book: encoder-decoder-translation. Row i of the weights is that of the position that predicts word i, having
read the words before it.
"""

from collections.abc import Sequence

import torch

from attnlib.data.bilingual import Pair, source_vocab, target_vocab
from attnlib.data.vocab import batch
from attnlib.interpret.capture import capture
from attnlib.models.encoder_decoder import EncoderDecoder
from attnlib.shapes import Array, Float


@torch.no_grad()
def cross_weights(model: EncoderDecoder, pairs: Sequence[Pair]) -> list[Float[Array, "layers heads m n"]]:
    """For each pair the weights of each layer and head, with its reference translation and both end tokens."""
    data = batch(pairs, source_vocab(), target_vocab())
    inputs = (torch.from_numpy(array) for array in (data.source, data.source_mask, data.target_in))
    with capture(model.eval()) as seen:
        model(*inputs)
    P = torch.stack([seen[f"decoder.{i}.cross.P"] for i in range(len(model.decoder))], 1).double().numpy()
    return [p[:, :, : len(pair.target) + 1, : len(pair.source) + 1] for p, pair in zip(P, pairs, strict=True)]
