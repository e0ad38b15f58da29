"""Regular expressions that cannot run away.

Python's engine goes back and tries again, and some patterns take years on thirty characters. So it
gets a text only if the most steps that the pattern could take on it are few; that estimate hangs on
the pattern and the length of the text alone. Else RE2 runs the pattern, which reads a text once.
What RE2 has not (look-around, back references, possessive quantifiers) goes over a limit there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import re2

from lockstep.functions.regex_trees import (
    Cost,
    Tree,
    Unsupported,
    Written,
    costs,
    may_be_empty,
    parsed,
    written,
    written_at_line_end,
)
from lockstep.operators.limits import LimitError

FEW_STEPS: Final = 100_000
"""A millisecond of Python's engine. It is the quicker one as long as nothing goes wrong."""

STEPS_MAX: Final = 20_000_000
"""Of a pattern that RE2 has not."""


_LINE_ENDS: Final = ("\n", "\r", "\x85", "\u2028", "\u2029")


class _Engines(NamedTuple):
    """Who reads a text."""

    slow: re.Pattern[str]
    linear: Any
    """RE2 where what groups have, and where a match ends, is the same."""
    whether: Any
    """RE2 where that alone matters."""


class Pattern:
    """A pattern in the syntax of `re`, with what it means there. Errors: re.error; LimitError from
    whatever looks at a text.

    `at_line_end`: what reads texts that end in a line end, where `$` says more than in others. It
    has the same groups.
    """

    def __init__(self, pattern: str, flags: int, at_line_end: str | None = None) -> None:
        slow = re.compile(pattern, flags)
        self.groups = slow.groups
        self.groupindex = slow.groupindex
        self._pattern = pattern
        self._tree = parsed(pattern, flags)
        self._costs: dict[tuple[int, bool], float] = {}
        linear, _ = _linear(written, self._tree, slow.flags)
        # What groups have in repetitions of what may be empty differs between engines.
        self._is_same = not may_be_empty(self._tree)
        self._engines = _Engines(slow, linear if self._is_same else None, linear)
        self._at_line_end: list[_Engines] = []
        """Behind one line end, and behind `\\r\\n`; empty where it is all the same."""
        if "$" in pattern or (at_line_end is not None and at_line_end != pattern):
            self._at_line_end = self._engines_at_line_end(at_line_end or pattern, flags)

    def _engines_at_line_end(self, pattern: str, flags: int) -> list[_Engines]:
        slow, tree = re.compile(pattern, flags), parsed(pattern, flags)
        engines = []
        for is_pair in (False, True):
            write = partial(written_at_line_end, is_pair=is_pair)
            linear, form = _linear(write, tree, slow.flags)
            whole = self._engines.whether
            if linear is not None and form.markers:
                linear = whole and _AtLineEnd(linear, form.markers, self.groupindex, whole)
            engines.append(_Engines(slow, linear if self._is_same else None, linear))
        return engines

    # --- whether ---------------------------------------------------------------------------------

    def finds(self, text: str, start: int = 0) -> bool:
        """Whether it is somewhere in the text."""
        engine = self._for(text, is_whether=True, searches=True)
        return engine.search(text, start) is not None

    def begins(self, text: str) -> bool:
        """Whether the text begins with it."""
        engine = self._for(text, is_whether=True, searches=False)
        return engine.match(text) is not None

    def fits(self, text: str) -> bool:
        """Whether it is the whole text."""
        engine = self._for(text, is_whether=True, searches=False)
        return engine.fullmatch(text) is not None

    # --- where -----------------------------------------------------------------------------------

    def search(self, text: str) -> Any:
        """See re.Pattern."""
        return self._for(text, searches=True).search(text)

    def searches(self, texts: Sequence[str]) -> list[Any]:
        """What `search` finds in each text."""
        longest = max(map(len, texts), default=0)
        if self._most_steps(longest, searches=True) <= FEW_STEPS and not (
            self._at_line_end and any(text.endswith(_LINE_ENDS) for text in texts)
        ):
            return list(map(self._engines.slow.search, texts))
        return list(map(self.search, texts))

    def match(self, text: str) -> Any:
        """See re.Pattern."""
        return self._for(text, searches=False).match(text)

    def fullmatch(self, text: str) -> Any:
        """See re.Pattern."""
        return self._for(text, searches=False).fullmatch(text)

    def finditer(self, text: str) -> Iterator[Any]:
        """The matches from left to right, as Java finds them: behind an empty one the next begins
        one character further on."""
        engine = self._for(text, searches=True)
        if not isinstance(engine, re.Pattern):
            last = None
            for match in engine.finditer(text):
                if match.span() != last:  # RE2 gives an empty one twice
                    yield match
                last = match.span()
            return
        at = 0
        while at <= len(text) and (found := engine.search(text, at)) is not None:
            yield found
            at = found.end() + (found.end() == found.start())

    # --- which engine ----------------------------------------------------------------------------

    def _for(self, text: str, *, searches: bool, is_whether: bool = False) -> Any:
        """The engine for a text. LimitError."""
        engines = self._engines
        if self._at_line_end and text.endswith(_LINE_ENDS):
            engines = self._at_line_end[text.endswith("\r\n")]
        steps = self._most_steps(len(text), searches=searches)
        if steps <= FEW_STEPS:
            return engines.slow
        linear = engines.whether if is_whether else engines.linear
        if linear is not None and _is_readable(text):
            return linear
        if steps <= STEPS_MAX:
            return engines.slow
        raise LimitError(
            f"the regular expression {self._pattern!r} could take more than {STEPS_MAX} steps "
            f"on a text of {len(text)} characters: write it without look-around, back references, "
            "possessive quantifiers and repetitions of what may be empty"
        )

    def _most_steps(self, length: int, *, searches: bool) -> float:
        """For a length rounded up to a power of two."""
        rounded = 1 << max(length - 1, 1).bit_length()
        key = rounded, searches
        if key not in self._costs:
            cost: Cost = costs(self._tree, rounded)
            starts = rounded + 1 if searches and not cost.is_anchored else 1
            self._costs[key] = starts * cost.steps
        return self._costs[key]


# --- RE2 -----------------------------------------------------------------------------------------


def _is_readable(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _linear(write: Callable[[Tree, int], Written], tree: Tree, flags: int) -> tuple[Any, Written]:
    """RE2 with a pattern, or None where it has not what the pattern wants."""
    options = re2.Options()
    options.log_errors = False
    try:
        form = write(tree, flags)
        return re2.compile(form.text, options), form
    except (Unsupported, re2.error):
        return None, Written("", ())


class _Cut:
    """A match without the line end that was read behind `end`. See re.Match."""

    def __init__(self, found: Any, text: str, end: int, numbers: Mapping[Any, int]) -> None:
        self._found = found
        self._text = text
        self._end = end
        self._numbers = numbers

    def span(self, group: int | str = 0) -> tuple[int, int]:
        start, end = self._found.span(self._numbers[group])
        return min(start, self._end), min(end, self._end)

    def start(self, group: int | str = 0) -> int:
        return self.span(group)[0]

    def end(self, group: int | str = 0) -> int:
        return self.span(group)[1]

    def __getitem__(self, group: int | str) -> str | None:
        start, end = self.span(group)
        return None if start < 0 else self._text[start:end]


class _AtLineEnd:
    """RE2 with a pattern that reads the last line end where it ends in `$`; `whole`: with one that
    does not, for the whole of a text."""

    def __init__(
        self, engine: Any, markers: Sequence[int], index: Mapping[str, int], whole: Any
    ) -> None:
        self._engine = engine
        self._markers = markers
        own = [each for each in range(engine.groups + 1) if each not in markers]
        self._numbers: dict[Any, int] = dict(enumerate(own))
        self._numbers.update((name, own[number]) for name, number in index.items())
        self.fullmatch = whole.fullmatch

    def search(self, text: str, start: int = 0) -> _Cut | None:
        return self._cut(self._engine.search(text, start), text)

    def match(self, text: str) -> _Cut | None:
        return self._cut(self._engine.match(text), text)

    def finditer(self, text: str) -> Iterator[_Cut]:
        for found in self._engine.finditer(text):
            match = _Cut(found, text, self._end(found), self._numbers)
            yield match
            if match.end() != found.end():
                break
        else:
            return
        # The line end was read but does not belong to the match: it is still to be looked at.
        at = match.end() + (match.start() == match.end())
        while at <= len(text) and (again := self.search(text, at)) is not None:
            yield again
            at = again.end() + (again.start() == again.end())

    def _cut(self, found: Any, text: str) -> _Cut | None:
        return None if found is None else _Cut(found, text, self._end(found), self._numbers)

    def _end(self, found: Any) -> int:
        ends: list[int] = [found.start(each) for each in self._markers]
        return max(ends) if max(ends) >= 0 else int(found.end())
