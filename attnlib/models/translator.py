"""The course's translator: a small encoder-decoder for the corpus's English and French.

Book: encoder-decoder-translation. It is stored with the package, in bfloat16 as safetensors. `MODEL_CARD.md` in the
same folder says what it was trained on and what it cannot do; `experiments/translation.py` trains it again.
"""

from difflib import get_close_matches
from pathlib import Path

import torch

from attnlib import decode
from attnlib.data.bilingual import source_vocab, target_vocab
from attnlib.data.vocab import BOS, EOS, PAD, SPECIAL
from attnlib.models.config import ModelConfig
from attnlib.models.encoder_decoder import EncoderDecoder, encoder_decoder_config

FOLDER = Path(__file__).parents[1] / "data" / "translation"
LENGTHS = (3, 16)  # words of the sentences that it was trained on


def translator_config() -> ModelConfig:
    """Two blocks on each side, 64 wide; the scores use the table of the French words."""
    return encoder_decoder_config(len(source_vocab()), len(target_vocab()), context=64, d_model=64, tied=True)


def translator() -> EncoderDecoder:
    """The trained model, with parameters in float32, ready to be used."""
    from safetensors.torch import load_file

    model = EncoderDecoder(translator_config())
    stored = load_file(FOLDER / "model.safetensors")
    model.load_state_dict({**stored, "unembed.weight": stored["embed_target.table.weight"]})
    return model.float().eval()


def words_of(sentence: str) -> tuple[str, ...]:
    """The words of a typed sentence: lower case, without its full stop.

    >>> words_of("The cat sleeps.")
    ('the', 'cat', 'sleeps')
    """
    return tuple(sentence.lower().strip(" .!?").split())


def must_be_known(words: tuple[str, ...]) -> None:
    """Says which words the translator has never met, and what to write instead."""
    known = source_vocab().words[len(SPECIAL) :]
    strange = [word for word in dict.fromkeys(words) if word not in known]
    if strange or not words:
        near = sorted({one for word in strange for one in get_close_matches(word, known, n=2, cutoff=0.5)})
        instead = f" It does know {', '.join(near)}." if near else ""
        raise ValueError(
            f"translate: the translator knows {len(known)} English words and no others; got "
            f"{', '.join(map(repr, strange)) or 'no word at all'}.{instead} All of them: source_vocab().words."
        )


def translate(model: EncoderDecoder, sentence: str) -> str:
    """The model's French for an English sentence, word by word the likeliest.

    The sentences that it was trained on have 3 to 16 words: a longer one is translated, too, and badly.
    """
    words = words_of(sentence)
    must_be_known(words)
    source = torch.tensor([source_vocab().encode(words)])
    start = torch.full((1, 1), BOS)
    written = decode.tokens(
        model.predictor(source), start, max_new_tokens=2 * len(words) + 8, stop=[EOS], pad=PAD
    )
    return " ".join(target_vocab().decode(written[0].tolist())).replace("' ", "'")
