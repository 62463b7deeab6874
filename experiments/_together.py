"""Several trainings of one model at once, which differ in seed and learning rate: one process, one set of kernels.

Small models leave a GPU idle: each of their kernels takes less time than its launch. Here the parameters of all models
are the rows of one matrix, and `torch.func.vmap` runs the model's own code for all of them, so that a step of ten
models launches no more kernels than a step of one. Each row has its own data, its own learning rate and its own norm
at which gradients are clipped; what one row does, even if it diverges, changes no other.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

BETAS, EPS, CLIP, WARMUP = (0.9, 0.95), 1e-8, 1.0, 0.1
Loss = Callable[[Tensor, Tensor], Tensor]  # of the scores (b, k, vocab) and the targets (b, k) of one model


class Together:
    """Models of one config, one for each seed, and AdamW for all of them.

    build    makes a model; it is called once for each seed, after `torch.manual_seed`
    rates    the learning rate of each model at its highest
    decay    weight decay of matrices; biases, norms and filters have none
    """

    def __init__(
        self,
        build: Callable[[], nn.Module],
        seeds: Sequence[int],
        rates: Sequence[float],
        *,
        decay: float = 0.0,
        device: str = "cpu",
    ) -> None:
        models = [built(build, seed) for seed in seeds]
        self.model: Any = models[0].to(device)
        named = dict(self.model.named_parameters())
        self.shapes = {name: W.shape for name, W in named.items()}
        self.sizes = [W.numel() for W in named.values()]
        rows = [torch.cat([W.detach().flatten() for W in one.parameters()]) for one in models]
        self.numbers = torch.stack([row.to(device) for row in rows]).requires_grad_()  # (models, numbers)
        like = self.numbers.detach()
        wide = [like.new_full((W.numel(),), float(W.ndim > 1)) for W in named.values()]
        self.decayed = decay * torch.cat(wide)
        self.rates = like.new_tensor(rates)[:, None]
        self.mean, self.square, self.step = torch.zeros_like(like), torch.zeros_like(like), 0

    def parameters(self) -> dict[str, Tensor]:
        """The parameters of all models by name, each with an axis for the models in front."""
        parts = self.numbers.split(self.sizes, dim=1)
        return {
            name: part.unflatten(1, shape)
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def scores(self, inputs: Tensor) -> Tensor:
        """What each model returns for its own inputs, which have an axis for the models in front."""
        return vmap(lambda given, one: functional_call(self.model, given, (one,)))(self.parameters(), inputs)

    def train(self, inputs: Tensor, targets: Tensor, loss: Loss, share: float) -> Tensor:
        """One step; the loss of each model before it. `share` of the training is done."""
        losses = vmap(loss)(self.scores(inputs), targets)
        (gradient,) = torch.autograd.grad(losses.sum(), self.numbers)
        with torch.no_grad():
            self._update(gradient, self.rates * schedule(share))
        return losses.detach()

    def _update(self, gradient: Tensor, rates: Tensor) -> None:
        """AdamW, with the gradient of each model clipped by its own norm."""
        self.step += 1
        norm = gradient.norm(dim=1, keepdim=True)
        gradient *= (CLIP / (norm + 1e-6)).clamp(max=1.0)
        (a, b), t = BETAS, self.step
        self.mean.lerp_(gradient, 1 - a)
        self.square.mul_(b).addcmul_(gradient, gradient, value=1 - b)
        size = (self.square / (1 - b**t)).sqrt_().add_(EPS)
        self.numbers -= rates * (self.decayed * self.numbers + self.mean / (1 - a**t) / size)


def built(build: Callable[[], nn.Module], seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return build()


def schedule(share: float) -> float:
    """The share of the highest rate: up on a line, then down on a cosine to a hundredth.

    >>> schedule(0.0), round(schedule(0.1), 2), round(schedule(1.0), 2)
    (0.0, 1.0, 0.01)
    """
    if share < WARMUP:
        return share / WARMUP
    return 0.01 + 0.99 * (1 + math.cos(math.pi * (share - WARMUP) / (1 - WARMUP))) / 2
