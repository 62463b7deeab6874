"""A recurrent encoder-decoder, with a fixed context or with attention, small enough to train while you watch.

Book: the-bottleneck (eq-fixed-context, eq-additive-attention, eq-context). The three decoders differ in one thing,
where the context comes from: the encoder's last state (Sutskever, Cho 2014), attention with the decoder's previous
state (Bahdanau 2015), or attention with its current state (Luong 2015).
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from attnlib.nn.ops import masked_softmax
from attnlib.nn.scores import AdditiveScore, dot_scores
from attnlib.shapes import Bool, Float, Int

ATTENTION = ("none", "additive", "dot")
Tensor = torch.Tensor


@dataclass(frozen=True)
class Seq2SeqConfig:
    """What a `Seq2Seq` is made of."""

    source_vocab: int  # how many source tokens there are, padding, beginning and end included
    target_vocab: int  # how many target tokens there are, counted in the same way
    attention: str = "additive"  # "none": one fixed context; "additive": previous state; "dot": current state
    context_every_step: bool = (
        True  # for "none": context at every step (Cho) or as initial state only (Sutskever)
    )
    bidirectional: bool = True  # the encoder reads in both directions, each with half of d_hidden
    d_embedding: int = 64  # width of a token's vector
    d_hidden: int = 64  # width of a state, of the decoder and of the encoder
    d_attention: int = 64  # width inside the additive score

    def __post_init__(self) -> None:
        if self.attention not in ATTENTION:
            raise ValueError(
                f"Seq2SeqConfig: attention must be one of {', '.join(ATTENTION)}; got {self.attention!r}."
            )
        if self.bidirectional and self.d_hidden % 2:
            raise ValueError(
                "Seq2SeqConfig: the two directions of the encoder share d_hidden evenly; "
                f"got d_hidden={self.d_hidden}. Make it even, or set bidirectional=False."
            )


class Memory(NamedTuple):
    """The output of the encoder: a state per source token, which ones are real, and one summary of all."""

    H: Float[Tensor, "b n d_hidden"]
    mask: Bool[Tensor, "b n"]
    summary: Float[Tensor, "b d_hidden"]


class Decoded(NamedTuple):
    """Scores of the next token, the decoder's last state, and the attention weights if there are any."""

    logits: Float[Tensor, "b m vocab"]
    state: Float[Tensor, "b d_hidden"]
    P: Float[Tensor, "b m n"] | None


class Encoder(nn.Module):
    """A GRU over the source, in one direction or both; padding at the end is never read."""

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        directions = 2 if config.bidirectional else 1
        self.embed = nn.Embedding(config.source_vocab, config.d_embedding)
        self.gru = nn.GRU(
            config.d_embedding,
            config.d_hidden // directions,
            batch_first=True,
            bidirectional=config.bidirectional,
        )

    def forward(self, source: Int[Tensor, "b n"], mask: Bool[Tensor, "b n"]) -> Memory:
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed(source), mask.sum(1).cpu(), batch_first=True, enforce_sorted=False
        )
        states, last = self.gru(packed)
        H, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
        return Memory(H, mask, torch.cat(tuple(last), dim=-1))


class FixedDecoder(nn.Module):
    """Every step sees the same context: the encoder's summary (eq-fixed-context)."""

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        d_context = config.d_hidden if config.context_every_step else 0
        self.context_every_step = config.context_every_step
        self.embed = nn.Embedding(config.target_vocab, config.d_embedding)
        self.gru = nn.GRU(config.d_embedding + d_context, config.d_hidden, batch_first=True)
        self.readout = nn.Linear(config.d_hidden + d_context, config.d_hidden)
        self.logits = nn.Linear(config.d_hidden, config.target_vocab)

    def forward(self, target: Int[Tensor, "b m"], state: Float[Tensor, "b d"], memory: Memory) -> Decoded:
        Y = self.embed(target)
        context = memory.summary[:, None].expand(-1, target.shape[1], -1)
        if self.context_every_step:
            Y = torch.cat([Y, context], dim=-1)
        S, last = self.gru(Y, state[None])
        if self.context_every_step:
            S = torch.cat([S, context], dim=-1)
        return Decoded(self.logits(torch.tanh(self.readout(S))), last[0], None)


class AdditiveDecoder(nn.Module):
    """The context of step t is chosen by the state *before* the step, s_{t-1}, and helps to make s_t.

    So the steps must run one after the other, in training too.
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        d = config.d_hidden
        self.embed = nn.Embedding(config.target_vocab, config.d_embedding)
        self.score = AdditiveScore(d_q=d, d_k=d, d_a=config.d_attention)
        self.cell = nn.GRUCell(config.d_embedding + d, d)
        self.readout = nn.Linear(2 * d, d)
        self.logits = nn.Linear(d, config.target_vocab)

    def forward(self, target: Int[Tensor, "b m"], state: Float[Tensor, "b d"], memory: Memory) -> Decoded:
        states, contexts, weights = [], [], []
        for y in self.embed(target).unbind(1):
            scores = self.score(state[:, None], memory.H)  #     eq-additive-attention
            P = masked_softmax(scores, memory.mask[:, None])
            context = (P @ memory.H)[:, 0]  #                    eq-context
            state = self.cell(torch.cat([y, context], dim=-1), state)
            states.append(state)
            contexts.append(context)
            weights.append(P)
        S = torch.cat([torch.stack(states, 1), torch.stack(contexts, 1)], dim=-1)
        return Decoded(self.logits(torch.tanh(self.readout(S))), state, torch.cat(weights, 1))


class DotDecoder(nn.Module):
    """The context of step t is chosen by the state *of* the step, s_t, which does not depend on it.

    So in training all steps attend at once.
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        d = config.d_hidden
        self.embed = nn.Embedding(config.target_vocab, config.d_embedding)
        self.gru = nn.GRU(config.d_embedding, d, batch_first=True)
        self.readout = nn.Linear(2 * d, d)
        self.logits = nn.Linear(d, config.target_vocab)

    def forward(self, target: Int[Tensor, "b m"], state: Float[Tensor, "b d"], memory: Memory) -> Decoded:
        S, last = self.gru(self.embed(target), state[None])
        P = masked_softmax(dot_scores(S, memory.H), memory.mask[:, None])
        S = torch.cat([S, P @ memory.H], dim=-1)
        return Decoded(self.logits(torch.tanh(self.readout(S))), last[0], P)


DECODERS = {"none": FixedDecoder, "additive": AdditiveDecoder, "dot": DotDecoder}


class Seq2Seq(nn.Module):
    """Encoder, bridge and decoder: logits for the next target token after each target token so far."""

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.bridge = nn.Linear(config.d_hidden, config.d_hidden)
        self.decoder = DECODERS[config.attention](config)

    def forward(
        self, source: Int[Tensor, "b n"], source_mask: Bool[Tensor, "b n"], target: Int[Tensor, "b m"]
    ) -> Float[Tensor, "b m vocab"]:
        return self.decode(source, source_mask, target).logits

    def decode(
        self, source: Int[Tensor, "b n"], source_mask: Bool[Tensor, "b n"], target: Int[Tensor, "b m"]
    ) -> Decoded:
        """Logits and weights for a known translation `target`, which begins with <bos>."""
        memory, state = self.read(source, source_mask)
        return self.decoder(target, state, memory)

    def read(
        self, source: Int[Tensor, "b n"], source_mask: Bool[Tensor, "b n"]
    ) -> tuple[Memory, Float[Tensor, "b d_hidden"]]:
        """The output of the encoder, and the decoder's first state, made from its summary."""
        if not bool((source_mask[:, 1:] <= source_mask[:, :-1]).all() & source_mask[:, 0].all()):
            raise ValueError(
                "Seq2Seq: source_mask must be True for the real tokens, which come first; pad at the end."
            )
        memory = self.encoder(source, source_mask)
        return memory, torch.tanh(self.bridge(memory.summary))

    def attention_weights(
        self, source: Int[Tensor, "b n"], source_mask: Bool[Tensor, "b n"], target: Int[Tensor, "b m"]
    ) -> Float[Tensor, "b m n"]:
        """The attention weights for a known translation: row i is where the decoder looked to say token i."""
        P = self.decode(source, source_mask, target).P
        if P is None:
            raise ValueError(
                'Seq2Seq.attention_weights: a model with attention="none" has no weights; train "additive" or "dot".'
            )
        return P

    def predictor(self, source: Int[Tensor, "b n"], source_mask: Bool[Tensor, "b n"]) -> "Predictor":
        """`next_log_probs` of the translation, for `attnlib.decode`; the source is read once, and each token, too."""
        return Predictor(self, source, source_mask)


class Predictor:
    """A translation in progress: the log-probabilities of its next token, and the attention weights so far."""

    @torch.no_grad()
    def __init__(self, model: Seq2Seq, source: Int[Tensor, "b n"], source_mask: Bool[Tensor, "b n"]) -> None:
        self.decoder = model.decoder
        self.memory, self.state = model.read(source, source_mask)
        self.read, self.weights = 0, []

    @torch.no_grad()
    def __call__(self, prefix: Int[Tensor, "b m"]) -> Float[Tensor, "b vocab"]:
        new = prefix[:, self.read :]
        logits, self.state, P = self.decoder(new, self.state, self.memory)
        self.read = prefix.shape[1]
        self.weights.append(P)
        return logits[:, -1].log_softmax(-1)

    @torch.no_grad()
    def reorder(self, order: Int[Tensor, "k"]) -> None:
        """Translation i goes on from what translation order[i] was, for a beam search."""
        self.memory = Memory(*(part[order] for part in self.memory))
        self.state = self.state[order]
        self.weights = [P[order] for P in self.weights if P is not None]
