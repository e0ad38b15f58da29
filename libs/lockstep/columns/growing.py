"""An array that grows in place, for state of millions of rows.

Growing by copying needs the old array and the new one at once, and fills as many fresh pages as the
state has: seconds in which nothing is folded. Here the operating system moves the pages that there
are to where there is room for more, which costs next to nothing and needs no further memory.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from lockstep.columns.column import Array

PAGES_FROM_BYTES = 1 << 20
"""Smaller arrays are NumPy's own: a copy of them is nothing, and they need no pages of their own.
"""


class GrowingArray:
    """Values of one type; `fill` stands where nothing was written yet.

    `values` is another array after `reserve`. Whoever still looks at the old one keeps it as it
    was, and the values are copied after all.
    """

    __slots__ = ("_fill", "_pages", "values")

    def __init__(self, dtype: Any, length: int = 0, fill: int = 0) -> None:
        self._fill = fill
        self._pages: mmap.mmap | None = None
        self.values: Array = np.full(length, fill, dtype)

    def reserve(self, length: int) -> None:
        """Room for so many values, at least."""
        old = len(self.values)
        if length <= old:
            return
        dtype = self.values.dtype
        if length * dtype.itemsize < PAGES_FROM_BYTES:
            grown = np.full(length, self._fill, dtype)
            grown[:old] = self.values
            self.values = grown
            return
        self._grow(length, dtype)
        if self._fill:
            self.values[old:] = self._fill

    def _grow(self, length: int, dtype: Any) -> None:
        size = length * dtype.itemsize
        if self._pages is not None:
            self.values = self.values[:0].copy()
            try:
                self._pages.resize(size)
            except BufferError:
                self.values = np.frombuffer(self._pages, dtype)
            else:
                self.values = np.frombuffer(self._pages, dtype, length)
                return
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        grown = np.frombuffer(pages, dtype, length)
        grown[: len(self.values)] = self.values
        self.values, self._pages = grown, pages
