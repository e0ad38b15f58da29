"""Texts as codes into a dictionary: by a kernel where many are equal, as names and symbols are, by
Python where they are few, else by Arrow."""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

MANY: Final = 4096
"""Texts for which it is worth while to have the kernel ready."""

FEW: Final = 32
"""Python takes half of the time that Arrow takes for so many texts, and a tenth for one."""

_VALUES: Final = 1024
"""As many different ones as stay near at hand."""


class Words:
    """A dictionary of strings, as a list and as an Arrow array; each is made when first asked
    for."""

    __slots__ = ("_arrow", "_texts")

    def __init__(self, texts: list[str] | None = None, arrow: pa.Array | None = None) -> None:
        self._texts = texts
        self._arrow = arrow

    @property
    def texts(self) -> list[str]:
        """As a list."""
        if self._texts is None:
            assert self._arrow is not None
            self._texts = self._arrow.to_pylist()
        return self._texts

    @property
    def arrow(self) -> pa.Array:
        """As an Arrow array."""
        if self._arrow is None or len(self._arrow) != len(self):
            self._arrow = pa.array(self.texts, pa.string())
        return self._arrow

    def __len__(self) -> int:
        if self._texts is not None:
            return len(self._texts)
        return len(self._arrow)  # type: ignore[arg-type]


def numbered(texts: pa.Array) -> tuple[npt.NDArray[np.int32], Words]:
    """(the code of each text, the text of each code), codes in order of first appearance; a null
    has any code, so there is always a text."""
    if len(texts) <= FEW:
        return _of_few(texts)
    found = _of_few_values(texts) if len(texts) >= MANY else None
    if found is not None:
        return found
    encoded = texts.dictionary_encode()
    indices = encoded.indices
    if indices.null_count:
        indices = indices.fill_null(0)
    words = Words(arrow=encoded.dictionary) if len(encoded.dictionary) else Words([""])
    return indices.to_numpy(zero_copy_only=False), words


def _of_few(texts: pa.Array) -> tuple[npt.NDArray[np.int32], Words]:
    codes: dict[str, int] = {}
    found = [
        0 if text is None else codes.setdefault(text, len(codes)) for text in texts.to_pylist()
    ]
    return np.array(found, np.int32), Words(list(codes) or [""])


def _of_few_values(texts: pa.Array) -> tuple[npt.NDArray[np.int32], Words] | None:
    """The same; None where a text is null or long, and where many differ."""
    if texts.null_count or texts.type != pa.string():
        return None
    _, offsets, letters = texts.buffers()
    if not letters:
        return None
    # Whoever reads no texts by columns needs no kernels.
    from lockstep.columns import text_kernel as kernel

    behind = letters.size - kernel.LONGEST + 1
    if behind <= 0:
        return None
    ends = _lent(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    # Eight bytes from each byte on, as one number.
    own = _lent(letters, np.uint8)
    words: Any = np.ndarray((behind,), np.uint64, own, strides=(1,))
    tail = own[behind:]
    table = np.full((kernel.SLOTS, 3), -1, np.int64)
    firsts, codes = np.empty(_VALUES, np.int64), np.empty(len(texts), np.int32)
    count = kernel.encode(ends, words, tail, table, firsts, codes)
    return None if count < 0 else (codes, Words(arrow=texts.take(pa.array(firsts[:count]))))


def _lent(buffer: pa.Buffer, kind: Any) -> npt.NDArray[Any]:
    """The buffer for a kernel that only reads it. What Arrow, or the system, lets nobody change is
    of another type for Numba, which would compile the kernel once more."""
    memory = (ctypes.c_uint8 * buffer.size).from_address(buffer.address)
    return np.frombuffer(memory, kind)
