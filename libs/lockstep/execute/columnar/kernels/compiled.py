"""How kernels are compiled, and how arrays are made ready for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np


def kernel(function: Callable[..., Any]) -> Any:
    """Compiles a loop; the compiled form is kept on disk beside the source, or per user."""
    return numba.njit(cache=True, nogil=True)(function)


def part(function: Callable[..., Any]) -> Any:
    """Compiles what only kernels call: nothing is made ready for calls from Python, which takes
    most of the time for small functions."""
    wrappers: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(cache=True, nogil=True, **wrappers)(function)


def plain(values: Any, dtype: Any) -> Any:
    """The values as a writeable, contiguous array of that type; copied only when they are not."""
    found = np.ascontiguousarray(values, dtype)
    return found if found.flags.writeable else found.copy()
