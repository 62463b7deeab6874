"""What the page *Inside a GPT* says of each kind of number that unfolds: its equation, and its line of NumPy.

How a number of each kind is found, and from which others it was computed, is in `model/unfold.js`, by the same names.
"""

from typing import NamedTuple


class Kind(NamedTuple):
    """One kind of number."""

    name: str
    equation: str
    number: str  # of the equation in the book; of a page, where the page shows it without a number
    page: str  # in the book's folder
    label: str
    file: str  # in the package
    line: str
    says: str


def _kind(name: str, equation: str, source: str, file: str, line: str, says: str) -> Kind:
    number, page, label, *_ = f"{source}  ".split(" ")
    return Kind(name, equation, number, page, label, file, line, says)


def _learned(name: str) -> Kind:
    return Kind(name, "", "", "", "", "", "", "A learned parameter, stored as it is.")


def _projection(letter: str, read: str, name: str, says: str) -> Kind:
    line = f"{letter}, _ = linear({read}, parameters.W_{letter}, parameters.b_{letter})"
    return _kind(name, "y_i = Σ_j z_j W_ij + b_i", PROJECTIONS, "reference/projections.py", line, says)


ATTENTION = "01-foundations/2-the-attention-function"
BLOCK = "04-transformer/2-the-block"
UNEMBED = "4.2 04-transformer/1-from-text-to-vectors eq-unembedding"
NORM = f"4.5 {BLOCK} eq-layer-norm"
NETWORK = f"4.4 {BLOCK} eq-feed-forward"
PROJECTIONS = "2.1 02-self-attention/1-a-sequence-attends-to-itself eq-projections"

KINDS = {
    "bits": _kind(
        "surprise in bits",
        "bits = −ln p_w / ln 2",
        "5.3 05-training/1-what-is-minimised eq-token-loss",
        "reference/losses.py",
        "loss = -np.take_along_axis(L, targets[..., None], axis=-1)[..., 0]",
        "The less probable a token was, the larger its surprise. NumPy's line has it in nats; 1 bit is ln 2 nats.",
    ),
    "draw": _kind(
        "probability with these settings",
        "p_w = exp(z_w / T) / Σ_v exp(z_v / T)",
        "4.15 04-transformer/4-a-gpt-in-one-sitting eq-temperature-draw",
        "reference/ops.py",
        "return softmax((_wide(S) - _wide(largest)) / T).astype(S.dtype)",
        "The temperature T divides every logit. The sum has the tokens that top-k and nucleus keep.",
    ),
    "p": _kind(
        "probability",
        "p_w = exp(z_w) / Σ_v exp(z_v)",
        UNEMBED,
        "reference/ops.py",
        "return (E / E.sum(axis=axis, keepdims=True)).astype(S.dtype)",
        "The softmax turns the logits of all tokens into probabilities, which sum to 1.",
    ),
    "z": _kind(
        "logit",
        "z_w = Σ_i y_i E_wi",
        UNEMBED,
        "reference/embedding.py",
        "return X @ E.T, TiedCache(X, E)",
        "The score of a token: the last vector times the token's row of the embedding table E.",
    ),
    "Z": _kind(
        "output of a norm",
        "y_i = γ_i (x_i − μ) / √(σ² + ε) + β_i",
        NORM,
        "reference/norm.py",
        "return gain * Y + shift, NormCache(Y, size, gain)",
        "The norm brings every vector to the same size; then a learned gain γ and shift β act on each number.",
    ),
    "mean": _kind(
        "mean of a vector",
        "μ = Σ_i x_i / d",
        NORM,
        "reference/norm.py",
        "centred = X - X.mean(axis=-1, keepdims=True)",
        "The mean of the d numbers that the norm reads.",
    ),
    "variance": _kind(
        "variance of a vector",
        "σ² = Σ_i (x_i − μ)² / d",
        NORM,
        "reference/norm.py",
        "size = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + X.dtype.type(eps))",
        "The mean squared distance of the numbers from their mean μ.",
    ),
    "embedding": _kind(
        "number of an embedding",
        "x_i = E_wi + P_ti",
        "4.1 04-transformer/1-from-text-to-vectors eq-embedding",
        "reference/gpt.py",
        "pre_norm_block, X + parameters.places[:n], parameters.blocks, n_heads, causal_mask(n)",
        "The stream begins with the token's row of the table E, plus the position's row of a second table P.",
    ),
    "X": _kind(
        "number of the residual stream",
        "x_i = r_i + y_i",
        f"4.6 {BLOCK} eq-pre-norm",
        "reference/transformer.py",
        "return X + Y, ResidualCache(normed, inside)",
        "The stream so far, r, plus what attention or the network adds, y.",
    ),
    "attended": _kind(
        "output of attention",
        "y_i = Σ_c o_c W_ic + b_i",
        "3.2 03-multi-head/1-why-several-heads eq-multi-head",
        "reference/projections.py",
        "return linear(merge_heads(Z), parameters.W_O, parameters.b_O)[0]",
        "The outputs of all heads, side by side, times a learned matrix.",
    ),
    "O": _kind(
        "output of a head",
        "o_c = Σ_j p_j v_jc",
        f"1.10 {ATTENTION} eq-output",
        "reference/attention.py",
        "O = P @ V",
        "The average of the values of all positions up to this one, with the head's weights.",
    ),
    "P": _kind(
        "weight",
        "p_j = exp(s_j) / Σ_l exp(s_l)",
        f"1.9 {ATTENTION} eq-weights",
        "reference/ops.py",
        "return (E / np.maximum(E.sum(axis=-1, keepdims=True), 1)).astype(S.dtype)",
        "The softmax turns the scores of all positions up to this one into weights, which sum to 1.",
    ),
    "S": _kind(
        "score",
        "s_j = Σ_c q_c k_jc / √d_k",
        "1.39 01-foundations/5-scoring-functions eq-scaled-score",
        "reference/attention.py",
        "S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])",
        "The query of one position times the key of the other, divided by the root of their width d_k.",
    ),
    "Q": _projection(
        "Q", "X", "query", "A learned matrix times the normed vector gives what this position looks for."
    ),
    "K": _projection(
        "K", "source", "key", "A learned matrix times the normed vector gives what queries are compared with."
    ),
    "V": _projection(
        "V",
        "source",
        "value",
        "A learned matrix times the normed vector gives what the head carries to later positions.",
    ),
    "A": _kind(
        "hidden unit",
        "a_i = Σ_j z_j W_ij + b_i",
        NETWORK,
        "reference/transformer.py",
        "A = linear(X, W_1, b_1)[0]",
        "The first matrix of the feed-forward network times the normed vector.",
    ),
    "H": _kind(
        "activation",
        "h = a (1 + tanh(√(2/π) (a + 0.044715 a³))) / 2",
        "4.11 04-transformer/11-activations-and-gates",
        "reference/activations.py",
        "return A * (1 + np.tanh(ROOT_2_PI * (A + 0.044715 * A**3))) / 2",
        "The activation function GELU, as GPT-2 computes it: almost a where a is large, almost 0 far below 0.",
    ),
    "network": _kind(
        "output of the network",
        "y_i = Σ_j h_j W_ij + b_i",
        NETWORK,
        "reference/transformer.py",
        "return linear(H, W_2, b_2)[0], FeedForwardCache(X, A, H, parameters)",
        "The second matrix of the feed-forward network times all activations.",
    ),
    "W": _kind(
        "parameter",
        "w = n r",
        "",
        "js/eight_bits.py",
        "return rows.integers.astype(np.float32) * rows.scales[:, None]",
        "A learned number, stored as an 8-bit integer n times a scale r, one for each row.",
    ),
    "b": _learned("bias"),
    "gain": _learned("gain of a norm"),
    "shift": _learned("shift of a norm"),
}
