"""Hard attention: sampling one key, and two ways to get a gradient past it, REINFORCE and straight-through.

The book derives it in eq-draw, eq-hard-attention, eq-expected-reward, eq-reinforce, eq-reinforce-loss,
eq-optimal-baseline and eq-straight-through (Chapter 1). The twin with the derivatives written out is
`attnlib.reference.hard`.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attnlib.nn.ops import log_softmax, softmax
from attnlib.shapes import Float, Int, checked


@checked
def one_hot(index: Int[Tensor, "*b"], P: Float[Tensor, "*#b n"]) -> Float[Tensor, "*b n"]:
    """A one at the drawn key and zeros elsewhere, as many keys and the same dtype as P (eq-hard-attention)."""
    return (index[..., None] == torch.arange(P.shape[-1], device=P.device)).to(P.dtype)


@checked
def sample_hard(P: Float[Tensor, "*b n"], rng: torch.Generator) -> Int[Tensor, "*b"]:
    """One key for each row of P, drawn with its weight as its probability (eq-draw).

    >>> P = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    >>> sample_hard(P, torch.Generator().manual_seed(0))
    tensor([1, 0])
    """
    ends = P.detach().double().cumsum(-1)
    u = torch.rand((*P.shape[:-1], 1), generator=rng, dtype=torch.float64, device=rng.device).to(P.device)
    return (ends <= u * ends[..., -1:]).sum(-1)  # eq-draw  (*b)


@checked
def hard_attention(
    P: Float[Tensor, "*b m n"], V: Float[Tensor, "*b n d_v"], index: Int[Tensor, "*b m"]
) -> Float[Tensor, "*b m d_v"]:
    """For each query the value of the key drawn from its row of P, and nothing of the others (eq-hard-attention).

    P gets no gradient.

    >>> P, V = torch.tensor([[0.25, 0.75]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> hard_attention(P, V, torch.tensor([1]))
    tensor([[3., 4.]])
    """
    return torch.take_along_dim(V, index[..., None], dim=-2)  # eq-hard-attention  (*b, m, d_v)


@checked
def expected_reward(S: Float[Tensor, "*b n"], R: Float[Tensor, "*b n"]) -> Float[Tensor, "*b"]:
    """The mean of the reward R[j] when key j is drawn from the softmax of S (eq-expected-reward).

    >>> expected_reward(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 3.0]))
    tensor(2.)
    """
    return (softmax(S) * R).sum(-1)  # eq-expected-reward  (*b)


def _gradient(f: Callable[[Tensor], Tensor], S: Tensor) -> Tensor:
    with torch.enable_grad():
        S = S.detach().requires_grad_()
        return torch.autograd.grad(f(S).sum(), S)[0]


@checked
def expected_reward_gradient(S: Float[Tensor, "*b n"], R: Float[Tensor, "*b n"]) -> Float[Tensor, "*b n"]:
    """The exact derivative with respect to the scores, which needs no sampling (eq-expected-reward-gradient)."""
    return _gradient(lambda S: expected_reward(S, R.detach()), S)  # eq-expected-reward-gradient  (*b, n)


@checked
def reinforce_loss(
    S: Float[Tensor, "*#b n"],
    index: Int[Tensor, "*b"],
    reward: Float[Tensor, "*b"] | int | float,
    baseline: Float[Tensor, "*#b"] | int | float = 0.0,
) -> Float[Tensor, "*b"]:
    """One loss for each draw; its derivative with respect to S is minus `reinforce_gradient` (eq-reinforce-loss).

    The sign is negative because an optimiser minimises and the reward is to be maximised. The value of this loss does
    not measure how good the draws are; the reward does. Neither reward nor baseline gets a gradient.

    >>> S = torch.zeros(2, requires_grad=True)
    >>> reinforce_loss(S, torch.tensor([0, 1]), reward=torch.tensor([1.0, 3.0])).sum().backward()
    >>> S.grad
    tensor([ 1., -1.])
    """
    advantage = torch.as_tensor(reward - baseline, dtype=S.dtype, device=S.device).detach()
    L = log_softmax(S).expand(*index.shape, S.shape[-1])
    return -advantage * L.take_along_dim(index[..., None], dim=-1).squeeze(-1)  # eq-reinforce-loss  (*b)


@checked
def reinforce_gradient(
    S: Float[Tensor, "*#b n"],
    index: Int[Tensor, "*b"],
    reward: Float[Tensor, "*b"] | int | float,
    baseline: Float[Tensor, "*#b"] | int | float = 0.0,
) -> Float[Tensor, "*b n"]:
    """One-draw estimates of that derivative, by autograd from `reinforce_loss` (eq-reinforce).

    >>> reinforce_gradient(torch.zeros(2), torch.tensor([0, 1]), reward=torch.tensor([1.0, 3.0]))
    tensor([[ 0.5000, -0.5000],
            [-1.5000,  1.5000]])
    """
    each = S.expand(*index.shape, S.shape[-1])
    return -_gradient(lambda S: reinforce_loss(S, index, reward, baseline), each)  # eq-reinforce  (*b, n)


@checked
def score_lengths(P: Float[Tensor, "*b n"]) -> Float[Tensor, "*b n"]:
    """The squared length of the score function, one-hot minus P, for each key that could be drawn (eq-score-length)."""
    each = torch.eye(P.shape[-1], dtype=P.dtype, device=P.device) - P[..., None, :]
    return (each**2).sum(-1)  # eq-score-length  (*b, n)


@checked
def reinforce_variance(
    S: Float[Tensor, "*#b n"], R: Float[Tensor, "*#b n"], baseline: Float[Tensor, "*#b"] | int | float = 0.0
) -> Float[Tensor, "*#b"]:
    """The variance of one draw's estimate, summed over the scores (eq-reinforce-variance)."""
    P = softmax(S)
    advantage = R - torch.as_tensor(baseline, dtype=S.dtype, device=S.device)[..., None]
    mean_square = (P * advantage**2 * score_lengths(P)).sum(-1)
    return mean_square - (expected_reward_gradient(S, R) ** 2).sum(-1)  # eq-reinforce-variance  (*b)


@checked
def optimal_baseline(S: Float[Tensor, "*b n"], R: Float[Tensor, "*b n"]) -> Float[Tensor, "*b"]:
    """The baseline of least variance: the mean reward, each key weighted by its squared score (eq-optimal-baseline).

    Where the draw is certain every baseline has variance zero, and the expected reward is returned.
    """
    P = softmax(S)
    W = P * score_lengths(P)
    W = torch.where(W.sum(-1, keepdim=True) > 0, W, P)
    return (W * R).sum(-1) / W.sum(-1)  # eq-optimal-baseline  (*b)


@checked
def straight_through_attention(
    S: Float[Tensor, "*b m n"], V: Float[Tensor, "*b n d_v"], index: Int[Tensor, "*b m"]
) -> Float[Tensor, "*b m d_v"]:
    """Hard attention in the forward; the backward is that of soft attention with weights P (eq-straight-through).

    P - P.detach() is zero, and has the derivative of P. Without the brackets the sum would have rounding errors.

    >>> S = torch.zeros(1, 2, requires_grad=True)
    >>> O = straight_through_attention(S, torch.tensor([[1.0], [3.0]]), torch.tensor([1]))
    >>> O.sum().backward()
    >>> O.item(), S.grad
    (3.0, tensor([[-0.5000,  0.5000]]))
    """
    P = softmax(S)
    hard_attention(P, V, index)  # for its checks of the arguments
    H = one_hot(index, P) + (P - P.detach())  # eq-straight-through  (*b, m, n)
    return H @ V
