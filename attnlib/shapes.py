"""Shape annotations such as `Float[Array, "*b n d_k"]`, readable by people and checked by `make test`.

They come from jaxtyping where it is installed. Where it is not (Colab), the names below stand in for it and mean
nothing at run time, so that attnlib needs NumPy alone.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

Array = np.ndarray

if TYPE_CHECKING:
    from jaxtyping import Bool as Bool
    from jaxtyping import Float as Float
    from jaxtyping import Int as Int
else:
    try:
        from jaxtyping import Bool, Float, Int
    except ImportError:

        class _Unchecked:
            def __class_getitem__(cls, item: Any) -> Any:
                return item[0]

        Bool = Float = Int = _Unchecked
