"""Multi-head latent attention: of each token a cache keeps one short vector, from which all heads make keys and values.

The book derives it in eq-latent, eq-latent-scores and eq-absorbed (Chapter 4). The twin, where autograd does the
backward, is `attnlib.nn.latent`. A part of each query and key is rotated, and the rotated key is shared by all heads.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib.reference.attention import (
    AttentionCache,
    scaled_dot_product_attention,
    scaled_dot_product_attention_backward,
)
from attnlib.reference.heads import mask_for_heads, merge_heads, split_heads
from attnlib.reference.norm import NormCache, rms_norm, rms_norm_backward
from attnlib.reference.ops import LinearCache, linear_backward, masked_softmax
from attnlib.reference.positional import index, rotary, rotary_backward
from attnlib.shapes import Array, Bool, Float, Number, checked, same_size


class LatentParameters(NamedTuple):
    W_Q: Float[Array, "d_model h*d_k"]  # to the plain part of the queries
    W_QR: Float[Array, "d_model h*d_rotated"]  # to the part that is rotated
    W_C: Float[Array, "d_model d_latent"]  # down to the latent
    W_R: Float[Array, "d_model d_rotated"]  # to the key that is rotated, one for all heads
    gain: Float[Array, "d_latent"]  # of the norm of the latent
    W_K: Float[Array, "d_latent h*d_k"]  # from the latent up to the keys of each head
    W_V: Float[Array, "d_latent h*d_v"]  # and to its values
    W_O: Float[Array, "h*d_v d_out"]


class LatentsCache(NamedTuple):
    X: Float[Array, "*b n d_model"]
    parameters: LatentParameters
    Y: Float[Array, "*b n d_latent"]  # the latents before their gain
    size: Float[Array, "*b n 1"]
    base: Number[float, "0<.."]


class LatentCache(NamedTuple):
    latents: LatentsCache
    C: Float[Array, "*b n d_latent"]
    R: Float[Array, "*b n d_rotated"]
    Q_C: Float[Array, "*b h n d_k"]
    Q_R: Float[Array, "*b h n d_rotated"]
    K_C: Float[Array, "*b h n d_k"]
    V: Float[Array, "*b h n d_v"]
    P: Float[Array, "*b h n n"]
    Z: Float[Array, "*b h n d_v"]


def _rotated(X: Array, base: float) -> Array:
    """Each vector rotated by its position."""
    return rotary(X, index(X.shape[-2]).astype(X.dtype), base)


def _rotated_back(dX: Array, base: float) -> Array:
    return rotary_backward(dX, index(dX.shape[-2]).astype(dX.dtype), base)


def _beside(plain: Array, rotated: Array) -> Array:
    """Both parts of queries or keys; one rotated key stands beside the plain one of every head."""
    shape = (*plain.shape[:-1], rotated.shape[-1])
    return np.concatenate([plain, np.broadcast_to(rotated, shape)], axis=-1)


@checked
def latents(
    X: Float[Array, "*b n d_model"], parameters: LatentParameters, base: Number[float, "0<.."] = 10_000.0
) -> tuple[Float[Array, "*b n d_latent"], Float[Array, "*b n d_rotated"], LatentsCache]:
    """What a cache keeps of each token: its latent C, and one rotated key R that all heads share (eq-latent).

    >>> one = np.ones((1, 1))
    >>> parameters = LatentParameters(one, np.ones((1, 2)), one, np.ones((1, 2)), np.ones(1), one, one, one)
    >>> C, R, _ = latents(np.array([[3.0]]), parameters)
    >>> C.round(3), R  # the norm gives the latent length one; position 0 is not rotated
    (array([[1.]]), array([[3., 3.]]))
    """
    C, (Y, size, _) = rms_norm(X @ parameters.W_C, parameters.gain)  # eq-latent  (*b, n, d_latent)
    R = _rotated(X @ parameters.W_R, base)  #                          eq-latent  (*b, n, d_rotated)
    return C, R, LatentsCache(X, parameters, Y, size, base)


@checked
def latents_backward(
    dC: Float[Array, "*b n d_latent"], dR: Float[Array, "*b n d_rotated"], cache: LatentsCache
) -> tuple[
    Float[Array, "*b n d_model"], Float[Array, "d_model d_latent"], Float[Array, "..."], Float[Array, "..."]
]:
    """dX, and the gradients of W_C, W_R and the gain: back through the norm and through the rotation."""
    X, parameters, Y, size, base = cache
    d_down, d_gain = rms_norm_backward(dC, NormCache(Y, size, parameters.gain))
    dX_C, dW_C, _ = linear_backward(d_down, LinearCache(X, parameters.W_C))
    dX_R, dW_R, _ = linear_backward(_rotated_back(dR, base), LinearCache(X, parameters.W_R))
    return dX_C + dX_R, dW_C, dW_R, d_gain


@checked
@same_size(h="n_heads")
def latent_attention(
    X: Float[Array, "*b n d_model"],
    parameters: LatentParameters,
    n_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #n #n"] | Bool[Array, "*#b #{n_heads} #n #n"] | None = None,
    base: Number[float, "0<.."] = 10_000.0,
) -> tuple[Float[Array, "*b n d_out"], LatentCache]:
    """Attention of X to itself with keys and values that are made from the latents: the expanded form.

    Each head's key is its own part, made from the latent, beside the rotated one of all heads (eq-latent-scores).

    >>> one = np.ones((1, 1))
    >>> parameters = LatentParameters(one, np.zeros((1, 2)), one, np.ones((1, 2)), np.ones(1), 0 * one, 5 * one, one)
    >>> latent_attention(np.array([[2.0], [-2.0]]), parameters, n_heads=1)[0].round(3) + 0.0
    array([[0.],
           [0.]])
    """
    C, R, kept = latents(X, parameters, base)
    Q_C = split_heads(X @ parameters.W_Q, n_heads)
    Q_R = _rotated(split_heads(X @ parameters.W_QR, n_heads), base)
    K_C, V = split_heads(C @ parameters.W_K, n_heads), split_heads(C @ parameters.W_V, n_heads)
    Q, K = _beside(Q_C, Q_R), _beside(K_C, R[..., None, :, :])
    Z, (*_, P) = scaled_dot_product_attention(Q, K, V, mask_for_heads(mask, X.ndim))  # eq-latent-scores
    return merge_heads(Z) @ parameters.W_O, LatentCache(kept, C, R, Q_C, Q_R, K_C, V, P, Z)


@checked
def latent_attention_backward(
    dY: Float[Array, "*b n d_out"], cache: LatentCache
) -> tuple[Float[Array, "*b n d_model"], LatentParameters]:
    """dX and the gradients of the parameters; the shared rotated key gets the sum over all heads."""
    kept, C, R, Q_C, Q_R, K_C, V, P, Z = cache
    X, parameters, base = kept.X, kept.parameters, kept.base
    h, d_k = Z.shape[-3], Q_C.shape[-1]
    d_joined, dW_O, _ = linear_backward(dY, LinearCache(merge_heads(Z), parameters.W_O))
    attention = AttentionCache(_beside(Q_C, Q_R), _beside(K_C, R[..., None, :, :]), V, P)
    dQ, dK, dV = scaled_dot_product_attention_backward(split_heads(d_joined, h), attention)
    dX_Q, dW_Q, _ = linear_backward(merge_heads(dQ[..., :d_k]), LinearCache(X, parameters.W_Q))
    dQ_R = merge_heads(_rotated_back(dQ[..., d_k:], base))
    dX_R, dW_QR, _ = linear_backward(dQ_R, LinearCache(X, parameters.W_QR))
    dC_K, dW_K, _ = linear_backward(merge_heads(dK[..., :d_k]), LinearCache(C, parameters.W_K))
    dC_V, dW_V, _ = linear_backward(merge_heads(dV), LinearCache(C, parameters.W_V))
    dX, dW_C, dW_R, d_gain = latents_backward(dC_K + dC_V, dK[..., d_k:].sum(axis=-3), kept)
    return dX + dX_Q + dX_R, LatentParameters(dW_Q, dW_QR, dW_C, dW_R, d_gain, dW_K, dW_V, dW_O)


@checked
@same_size(h="n_heads")
def latent_attention_absorbed(
    X: Float[Array, "*b n d_model"],
    parameters: LatentParameters,
    n_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #n #n"] | Bool[Array, "*#b #{n_heads} #n #n"] | None = None,
    base: Number[float, "0<.."] = 10_000.0,
) -> Float[Array, "*b n d_out"]:
    """The same output, and no key or value is made: queries go down to the latents instead (eq-absorbed).

    Each head's W_K is multiplied with its query, and each head's W_V with the average of the latents. A step of
    generation then reads the latents alone.
    """
    C, R, _ = latents(X, parameters, base)
    Q_C = split_heads(X @ parameters.W_Q, n_heads)
    Q_R = _rotated(split_heads(X @ parameters.W_QR, n_heads), base)
    W_K, W_V = (split_heads(W, n_heads) for W in (parameters.W_K, parameters.W_V))  #  (h, d_latent, d)
    Q_L = Q_C @ W_K.swapaxes(-1, -2)  #                                     eq-absorbed (*b, h, n, d_latent)
    S = Q_L @ C[..., None, :, :].swapaxes(-1, -2) + Q_R @ R[..., None, :, :].swapaxes(-1, -2)
    P = masked_softmax(S / math.sqrt(Q_C.shape[-1] + Q_R.shape[-1]), mask_for_heads(mask, X.ndim))
    Z = P @ C[..., None, :, :] @ W_V  #                                     eq-absorbed (*b, h, n, d_v)
    return merge_heads(Z) @ parameters.W_O
