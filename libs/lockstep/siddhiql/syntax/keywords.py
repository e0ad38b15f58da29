"""The words of the language (grammar 2): which spelling makes which terminal of the grammar."""

from __future__ import annotations

_WORDS: tuple[str, ...] = tuple(
    """
app stream define table from partition window select group by order asc desc limit offset having
insert delete update set return events into output expired current snapshot for raw of as or and in
on is not within with begin end null every last all first join inner outer right left full
unidirectional false true string int long float double bool object function trigger at aggregation
aggregate per
""".split()  # noqa: SIM905  (a list of ninety strings would hide what this says)
)

_UNITS = {
    "YEARS": ("year", "years"),
    "MONTHS": ("month", "months"),
    "WEEKS": ("week", "weeks"),
    "DAYS": ("day", "days"),
    "HOURS": ("hour", "hours"),
    "MINUTES": ("min", "minute", "minutes"),
    "SECONDS": ("sec", "second", "seconds"),
    "MILLISECONDS": ("millisec", "millisecond", "milliseconds"),
}

UNIT_MS = {
    "YEARS": 31_536_000_000,
    "MONTHS": 2_592_000_000,
    "WEEKS": 604_800_000,
    "DAYS": 86_400_000,
    "HOURS": 3_600_000,
    "MINUTES": 60_000,
    "SECONDS": 1_000,
    "MILLISECONDS": 1,
}
"""Milliseconds by unit terminal, longest first (grammar 3.5)."""

KEYWORDS: dict[str, str] = {word: word.upper() for word in _WORDS} | {
    spelling: unit for unit, spellings in _UNITS.items() for spelling in spellings
}
"""Terminal by keyword in lower case."""

KEYWORD_TERMINALS = frozenset(KEYWORDS.values())

RESERVED = frozenset({"not", "true", "false", "from", "every"})
"""Words that must be back-quoted somewhere to be taken as names."""
