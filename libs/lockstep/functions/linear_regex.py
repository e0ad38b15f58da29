"""Regular expressions that cannot run away.

Python's engine goes back and tries again, and some patterns take years on thirty characters. So it
gets a text only if the most steps that the pattern could take on it are few; that estimate hangs on
the pattern and the length of the text alone. Else RE2 runs the pattern, which reads a text once.
What RE2 has not (look-around, back references, possessive quantifiers) goes over a limit there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import re2

from lockstep.functions.regex_trees import Cost, Unsupported, costs, may_be_empty, parsed, written
from lockstep.operators.limits import LimitError

FEW_STEPS: Final = 100_000
"""A millisecond of Python's engine. It is the quicker one as long as nothing goes wrong."""

STEPS_MAX: Final = 20_000_000
"""Of a pattern that RE2 has not."""


class Pattern:
    """A pattern in the syntax of `re`, with what it means there. Errors: re.error; LimitError from
    whatever looks at a text."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._slow = re.compile(pattern, flags)
        self.groups = self._slow.groups
        self.groupindex = self._slow.groupindex
        self._tree = parsed(pattern, flags)
        self._costs: dict[tuple[int, bool], float] = {}
        self._ends_at_line = False
        self._linear = self._compiled(exact=True)
        self._linear_yes_or_no = self._linear or self._compiled(exact=False)

    def _compiled(self, *, exact: bool) -> Any:
        """RE2's form; `exact`: what groups have, and where a match ends, is the same, too."""
        if exact and may_be_empty(self._tree):
            return None
        options = re2.Options()
        options.log_errors = False
        try:
            text, self._ends_at_line = written(self._tree, self._slow.flags)
            return re2.compile(text, options)
        except (Unsupported, re2.error):
            return None

    # --- whether ---------------------------------------------------------------------------------

    def finds(self, text: str, start: int = 0) -> bool:
        """Whether it is somewhere in the text."""
        engine = self._for(text, self._linear_yes_or_no, searches=True)
        return engine.search(text, start) is not None

    def begins(self, text: str) -> bool:
        """Whether the text begins with it."""
        engine = self._for(text, self._linear_yes_or_no, searches=False)
        return engine.match(text) is not None

    def fits(self, text: str) -> bool:
        """Whether it is the whole text."""
        engine = self._for(text, self._linear_yes_or_no, searches=False)
        return engine.fullmatch(text) is not None

    # --- where -----------------------------------------------------------------------------------

    def search(self, text: str) -> Any:
        """See re.Pattern."""
        return self._for(text, self._linear, searches=True).search(text)

    def searches(self, texts: Sequence[str]) -> list[Any]:
        """What `search` finds in each text."""
        longest = max(map(len, texts), default=0)
        if self._most_steps(longest, searches=True) <= FEW_STEPS:
            return list(map(self._slow.search, texts))
        return list(map(self.search, texts))

    def match(self, text: str) -> Any:
        """See re.Pattern."""
        return self._for(text, self._linear, searches=False).match(text)

    def fullmatch(self, text: str) -> Any:
        """See re.Pattern."""
        return self._for(text, self._linear, searches=False).fullmatch(text)

    def finditer(self, text: str) -> Iterator[Any]:
        """The matches from left to right, as Java finds them: behind an empty one the next begins
        one character further on."""
        engine = self._for(text, self._linear, searches=True)
        if engine is not self._slow:
            last = None
            for match in engine.finditer(text):
                if match.span() != last:  # RE2 gives an empty one twice
                    yield match
                last = match.span()
            return
        at = 0
        while at <= len(text) and (found := self._slow.search(text, at)) is not None:
            yield found
            at = found.end() + (found.end() == found.start())

    # --- which engine ----------------------------------------------------------------------------

    def _for(self, text: str, linear: Any, *, searches: bool) -> Any:
        """The engine for a text. LimitError."""
        steps = self._most_steps(len(text), searches=searches)
        if steps <= FEW_STEPS:
            return self._slow
        if linear is not None and self._takes(text):
            return linear
        if steps <= STEPS_MAX:
            return self._slow
        raise LimitError(
            f"the regular expression {self._slow.pattern!r} could take more than {STEPS_MAX} steps "
            f"on a text of {len(text)} characters: write it without look-around, back references, "
            "possessive quantifiers and repetitions of what may be empty"
        )

    def _takes(self, text: str) -> bool:
        """Whether RE2 can read the text, and means the same by the pattern's end."""
        if self._ends_at_line and text.endswith("\n"):
            return False
        try:
            return text.isascii() or bool(text.encode())
        except UnicodeEncodeError:
            return False

    def _most_steps(self, length: int, *, searches: bool) -> float:
        """For a length rounded up to a power of two."""
        rounded = 1 << max(length - 1, 1).bit_length()
        key = rounded, searches
        if key not in self._costs:
            cost: Cost = costs(self._tree, rounded)
            starts = rounded + 1 if searches and not cost.is_anchored else 1
            self._costs[key] = starts * cost.steps
        return self._costs[key]
