"""A derivative is not a drop

prove · ★★ · 15 min · 03-multi-head/5-heads-at-work

Let $L(g)$ be the loss with the gate $g$ on one head. Show that for small changes of the gate the derivative
$L'(1)$ predicts the change of the loss, and give an example with squared error in which $L'(1) = 0$
although removing the head hurts.

1. Write the first terms of $L$ around $g = 1$.
2. For squared error $L(g)$ is a polynomial in $g$ of which degree?
3. Where does a trained network's gate stand on that curve?

Gradient and ablation answer two questions: what would a little less do, and what would nothing do.
"""

PROOF = r"""1. $Y(g) = Y_0 + g H$, where $H$ is the head's part and $Y_0$ the others'. $L$ is differentiable, so
   $L(1 - \epsilon) = L(1) - \epsilon L'(1) + O(\epsilon^2)$, with $L'(1) = \langle \partial L / \partial Y, H \rangle$.
2. Let $L(g) = \tfrac{1}{2} \lVert Y_0 + g H - T \rVert^2$ for a target $T$. Then
   $L'(g) = \langle Y_0 + g H - T, H \rangle$, and $L$ is a parabola in $g$ with curvature $\lVert H \rVert^2$.
3. Choose $T = Y_0 + H$, a network that is exactly right. Then $L(1) = 0$ and $L'(1) = 0$, but
   $L(0) = \tfrac{1}{2} \lVert H \rVert^2 > 0$ unless the head does nothing. The derivative calls the head useless, and
   removing it costs as much as the head is large.
4. In general $L(0) - L(1) = -L'(1) + \tfrac{1}{2} \lVert H \rVert^2$ here: the gradient predicts the first term and
   leaves out the second. A network at a minimum has a small first term for every head. ∎

This is why importance by gradient takes absolute values over single examples before it averages: derivatives of single
examples need not vanish where their mean does."""
RUBRIC = (
    "I expanded the loss in the gate and named the derivative.",
    "I gave a concrete case in which the derivative is zero and the head matters.",
    "I computed the loss without the head in it.",
)
