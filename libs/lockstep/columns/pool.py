"""Strings that state keeps, each once, as codes that are good from slice to slice."""

from __future__ import annotations

from collections.abc import Iterable, Sized

import numpy as np
import numpy.typing as npt

from lockstep.columns.column import Array, Strings
from lockstep.columns.texts import Words

Codes = npt.NDArray[np.int32]


class StringPool:
    """Codes 0, 1, … for strings. Nothing is forgotten until `collect` is told what is still
    used."""

    COLLECT_MIN = 16_384
    """Strings that come on top of those once found in use before they are looked through again."""

    def __init__(self) -> None:
        # Code 0 is always good, so that what stands under a null can be looked up.
        self._codes: dict[str, int] = {"": 0}
        self.words = Words([""])
        self._used = 0
        self._served: list[Sized] = []

    def serve(self, rows: Sized) -> None:
        """Rows whose strings are kept here: all that an app holds in columns has one pool."""
        self._served.append(rows)

    @property
    def rows(self) -> int:
        """How many rows there are now whose strings are kept here, strings or not."""
        return sum(map(len, self._served))

    def code_of(self, text: str) -> int:
        """The string's code."""
        found = self._codes.get(text)
        if found is None:
            found = self._codes[text] = len(self.words.texts)
            self.words.texts.append(text)
        return found

    def adopt(self, column: Strings) -> Strings:
        """The column in this pool's codes."""
        words = column.words
        if words is self.words:
            return column
        codes = column.values
        texts = words.texts
        used = np.bincount(codes, minlength=len(texts)) > 0
        table = np.zeros(len(texts), np.int32)
        for code in np.flatnonzero(used).tolist():
            table[code] = self.code_of(texts[code])
        return Strings(codes=table[codes], words=self.words, nulls=column.nulls)

    @property
    def is_due(self) -> bool:
        """Whether it is worth looking for strings that nobody uses any more."""
        return len(self.words) > 2 * self._used + self.COLLECT_MIN

    def collect(self, used: Iterable[Array]) -> Codes:
        """Forgets all but the codes in use; gives the new code of each old one."""
        live = np.zeros(len(self.words), np.bool_)
        live[0] = True
        for codes in used:
            live[codes] = True
        kept = np.flatnonzero(live)
        moved = np.zeros(len(live), np.int32)
        moved[kept] = np.arange(len(kept), dtype=np.int32)
        texts = self.words.texts
        # Columns of the present slice keep the old words.
        self.words = Words([texts[i] for i in kept.tolist()])
        self._codes = {text: i for i, text in enumerate(self.words.texts)}
        self._used = len(kept)
        return moved
