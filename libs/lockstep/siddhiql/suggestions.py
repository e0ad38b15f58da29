"""Hints for names that do not exist: the nearest that do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MOST_LISTED = 8


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?`, or a short list of what there is."""
    names = list(dict.fromkeys(known))
    folded = {candidate.lower(): candidate for candidate in names}
    near = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    if near:
        return f"did you mean {folded[near[0]]!r}?"
    if not names:
        return "nothing of this kind is defined here"
    if len(names) <= _MOST_LISTED:
        return f"there is {', '.join(names)}"
    return f"there is {', '.join(names[:_MOST_LISTED])} and others"
