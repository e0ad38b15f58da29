"""Lines of CSV: cut, and put together (extensions 13.4)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Final

from lockstep.mapping.options import invalid
from lockstep.siddhiql import ast

UNFIT: Final = '"\r\n'
"""What no delimiter may have in it: quotes go around values, and lines end."""

NUMBER: Final = re.compile("[0-9]{1,6}")
"""Of a column."""


def delimiter_in(text: str) -> str:
    """The delimiter that a text of the option means."""
    return text.replace("\\t", "\t")


def is_fit(delimiter: str) -> bool:
    """Whether values can stand between it."""
    return not any(character in delimiter for character in UNFIT)


def delimiter_of(annotation: ast.Annotation) -> str:
    """The option `delimiter`: one character or several."""
    delimiter = delimiter_in(annotation.get("delimiter") or ",")
    if not is_fit(delimiter):
        raise invalid(annotation, f"the delimiter {delimiter!r} has a quote or a line end in it")
    return delimiter


def cut(text: str, delimiter: str) -> list[list[str]]:
    """The values of each line that is not empty; csv.Error."""
    if len(delimiter) == 1:
        return _cut(text, delimiter)
    mark = _mark(text)
    lines = _cut(text.replace(delimiter, mark), mark)
    # Within quotes it is a part of a value.
    return [[value.replace(mark, delimiter) for value in line] for line in lines]


def line_of(values: Sequence[str], delimiter: str) -> str:
    """A line with its end; values are in quotes where they must be."""
    if len(delimiter) > 1:
        alone = len(values) == 1
        return delimiter.join(_quoted(value, delimiter, alone) for value in values) + "\n"
    out = io.StringIO()
    # Quotes go around what has a character of the line's end in it, and readers end lines at both.
    csv.writer(out, delimiter=delimiter, lineterminator="\r\n").writerow(values)
    return out.getvalue().removesuffix("\r\n") + "\n"


def _cut(text: str, delimiter: str) -> list[list[str]]:
    return [line for line in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if line]


def _mark(text: str) -> str:
    """A character that the text has not."""
    return next(mark for mark in map(chr, range(0xE000, 0x110000)) if mark not in text)


def _quoted(value: str, delimiter: str, alone: bool) -> str:
    # With the end of a value, the delimiter could begin before it should.
    meets = (value + delimiter).find(delimiter) < len(value)
    if meets or not is_fit(value) or (alone and not value):
        return '"' + value.replace('"', '""') + '"'
    return value
