"""The course's own model in PyTorch, step by step in float64: each number that the page unfolds, and its gradient."""

import math

import torch
from torch import Tensor

from attnlib.models.course import course_model

EPS = 1e-5


class Inside:
    """All arrays of one text by the kinds of `attnlib.js.kinds`; after `backward` they have gradients too."""

    def __init__(self, tokens: list[int], broken: str = "") -> None:
        self.model = course_model(bits=8).double()
        self.tokens, self.kept, self.broken = tokens, {}, broken
        n, d = len(tokens), self.model.config.d_model
        self.heads, self.width = self.model.config.n_heads, d // self.model.config.n_heads
        self.mask = torch.ones(n, n, dtype=torch.bool).tril(n if broken == "mask" else 0)
        late = int(broken == "late")
        X = self.keep(
            "stream", 0, array=self.model.embed.weight[tokens] + self.model.places.weight[late : n + late]
        )
        for l, block in enumerate(self.model.blocks):
            Y = self.attention(l, block.attention, self.norm(l, 1, X, block.norm_1))
            X = self.keep("X_1", l, array=self.added(X, Y))
            Y = self.network(l, block.feed_forward, self.norm(l, 2, X, block.norm_2))
            X = self.keep("stream", l + 1, array=self.added(X, Y))
        last = len(self.model.blocks)
        for l in range(last + 1):  # the last norm, also of the stream before each block: the logit lens
            Z = self.norm(l, 0, self.kept["stream", l], self.model.norm)
            S = self.keep("z", l, array=Z @ self.model.embed.weight.T)
            self.keep("p", l, array=S.softmax(-1))

    def keep(self, *name, array: Tensor) -> Tensor:
        array.retain_grad()
        self.kept[name] = array
        return array

    def added(self, X: Tensor, Y: Tensor) -> Tensor:
        return 1 * Y if self.broken == "residual" else X + Y

    def norm(self, l: int, n: int, X: Tensor, norm) -> Tensor:
        if self.broken == "last" and n == 0:
            return 1 * X
        mean = self.keep("mean", l, n, array=X.mean(-1, keepdim=True))
        variance = self.keep("variance", l, n, array=((X - mean) ** 2).mean(-1, keepdim=True))
        gain = torch.ones_like(norm.weight) if self.broken == "gain" else norm.weight
        eps = 0.1 if self.broken == "eps" else EPS
        return self.keep("Z", l, n, array=gain * (X - mean) / (variance + eps).sqrt() + norm.bias)

    def attention(self, l: int, layer, Z: Tensor) -> Tensor:
        def heads(A):
            return A.unflatten(-1, (self.heads, self.width)).transpose(0, 1)

        maps = dict(zip("QKV", (layer.W_Q, layer.W_K, layer.W_V), strict=True))
        order = {"qk": "KQV", "kv": "QVK"}.get(self.broken, "QKV")
        Q, K, V = (self.keep(name, l, array=heads(maps[W](Z))) for name, W in zip("QKV", order, strict=True))
        scale = 1 if self.broken == "root" else math.sqrt(self.width)
        S = self.keep("S", l, array=Q @ K.transpose(-1, -2) / scale)
        P = self.keep("P", l, array=S.masked_fill(~self.mask, -math.inf).softmax(-1))
        O = self.keep("O", l, array=P @ V)
        return self.keep("attended", l, array=layer.W_O(O.transpose(0, 1).flatten(1)))

    def network(self, l: int, layer, Z: Tensor) -> Tensor:
        A = self.keep("A", l, array=layer.W_1(Z))
        H = self.keep("H", l, array=torch.nn.functional.gelu(A, approximate="tanh"))
        return self.keep("network", l, array=layer.W_2(H))

    def backward(self, t: int, token: int) -> None:
        """The gradients of the surprise, in bits, of a token after position t."""
        last = len(self.model.blocks)
        (-self.kept["p", last][t, token].log() / math.log(2)).backward()

    def find(self, kind: str, *at) -> tuple[Tensor, tuple]:
        """The array in which a number stands, and its place there."""
        match kind:
            case "embedding":
                return self.kept["stream", 0], at
            case "X":
                half, l, *place = at
                return self.kept["X_1" if half else "stream", l], tuple(place)
            case "mean" | "variance":
                l, n, t = at
                return self.kept[kind, l, n], (t, 0)
            case "Z":
                l, n, *place = at
                return self.kept[kind, l, n], tuple(place)
            case "Q" | "K" | "V" | "S" | "P" | "O" | "z" | "p" | "attended" | "A" | "H" | "network":
                l, *place = at
                return self.kept[kind, l], tuple(place)
            case "W" | "b":
                l, name, *place = at
                if name in ("E", "places"):
                    return (self.model.embed if name == "E" else self.model.places).weight, tuple(place)
                block = self.model.blocks[l]
                layer = getattr(block.attention, name, None) or getattr(block.feed_forward, name)
                return layer.weight if kind == "W" else layer.bias, tuple(place)
            case _:
                l, n, *place = at
                norm = getattr(self.model.blocks[l], f"norm_{n}") if n else self.model.norm
                return norm.weight if kind == "gain" else norm.bias, tuple(place)

    def value(self, kind: str, *at) -> float:
        array, place = self.find(kind, *at)
        return array[place].item()

    def gradient(self, kind: str, *at) -> float:
        array, place = self.find(kind, *at)
        return 0.0 if array.grad is None else array.grad[place].item()
