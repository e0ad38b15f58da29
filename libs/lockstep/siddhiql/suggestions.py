"""Hints for names that do not exist: the nearest that do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_MOST_LISTED = 8


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?`, or a short list of what there is."""
    names = list(dict.fromkeys(known))
    folded = {candidate.lower(): candidate for candidate in names}
    near = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    if near:
        return f"did you mean {folded[near[0]]!r}?"
    return _listed(names) if names else "nothing of this kind is defined here"


def pack_hint(pack: str, name: str, known: Iterable[str]) -> str:
    """The hint for `pack:name`, which is not among the `known` names (`pack:name` or `name`).

    The same name in another pack; in a pack that is there, or nearly, what it has that is near;
    else which packs there are, and that others can be added.
    """
    names = list(dict.fromkeys(known))
    alike = [each for each in names if each.partition(":")[2] == name]
    if alike:
        return f"did you mean {alike[0]!r}?"
    packs = sorted({each.partition(":")[0] for each in names if ":" in each})
    near = difflib.get_close_matches(pack.lower(), packs, n=1, cutoff=0.7)
    if not near:
        there = f"there is {', '.join(packs)}" if packs else "there is none of this kind"
        return f"no pack {pack!r} is installed, {there}; others are added in Python, as extensions"
    own = {each.partition(":")[2]: each for each in names if each.startswith(f"{near[0]}:")}
    found = difflib.get_close_matches(name, own, n=1, cutoff=0.6)
    return f"did you mean {own[found[0]]!r}?" if found else _listed(list(own.values()))


def _listed(names: Sequence[str]) -> str:
    others = " and others" if len(names) > _MOST_LISTED else ""
    return f"there is {', '.join(names[:_MOST_LISTED])}{others}"
