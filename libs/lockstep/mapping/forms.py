"""Texts that are one event behind the other, each in the same form to the letter.

One expression reads all of them. It ends with a group for everything else, so that nothing of a
text is passed over: if that group has anything, the text is not in the form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lockstep.mapping.columnar import OddError


class FixedForm:
    """Reads the values of texts in one form."""

    def __init__(self, event: str) -> None:
        """`event`: an expression with a group for each value. What follows a repetition in it must
        not begin with a character of the repetition, so that a text is read once."""
        self._events = re.compile(f"{event}|(.+)", re.DOTALL)

    def values(self, text: str) -> Sequence[Sequence[str]]:
        """Of each group its values, event by event; OddError for a text in another form."""
        *values, rest = list(zip(*self._events.findall(text), strict=True)) or [()]
        if not values or any(rest):
            raise OddError("the text is in another form")
        return values
