"""HL7 version 2 in its own form (ER7): separators, and what is escaped within them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

USUAL: Final = "^~\\&"
HEADERS: Final = ("MSH", "FHS", "BHS")
"""Segments that say the separators: their first field is the separator itself."""


@dataclass(frozen=True, slots=True)
class Escape:
    """What stands between two escape characters and is no character: `.br`, `H`, `Z…`."""

    code: str


@dataclass(frozen=True, slots=True)
class Separators:
    """Of a message: between fields, and the encoding characters as they stand in MSH-2."""

    field: str
    encoding: str

    @staticmethod
    def of(header: str) -> Separators:
        """Those that a header segment says; ValueError when it is none."""
        if header[:3] not in HEADERS or len(header) < 5:
            raise ValueError("the message does not begin with MSH")
        return Separators.checked(header[3], header[4:].split(header[3], 1)[0])

    @staticmethod
    def checked(field: str, encoding: str) -> Separators:
        """ValueError when they cannot be told from each other."""
        usual = encoding + USUAL[len(encoding) :]
        every = field + usual
        if len(field) != 1 or len(usual) > 5 or len(set(every)) != len(every):
            raise ValueError(
                f"{field + encoding!r} are no separators: MSH-1 is '|', MSH-2 '{USUAL}'"
            )
        if any(mark.isalnum() or mark.isspace() for mark in every):
            raise ValueError(f"{field + encoding!r} are no separators: letters and blanks are none")
        return Separators(field, encoding)

    @property
    def component(self) -> str:
        return self._mark(0)

    @property
    def repetition(self) -> str:
        return self._mark(1)

    @property
    def escape(self) -> str:
        return self._mark(2)

    @property
    def subcomponent(self) -> str:
        return self._mark(3)

    def _mark(self, at: int) -> str:
        return (self.encoding + USUAL[len(self.encoding) :])[at]

    def _codes(self) -> dict[str, str]:
        marks = (self.field, self.component, self.subcomponent, self.repetition, self.escape)
        return dict(zip("FSTRE", marks, strict=True)) | {"P": self.encoding[4:5] or "#"}

    def read(self, text: str) -> list[str | Escape]:
        """A value: its text, and the codes in it that are no characters."""
        codes, mark = self._codes(), re.escape(self.escape)
        found: list[str | Escape] = []
        for number, part in enumerate(re.split(f"{mark}([^{mark}]*){mark}", text)):
            piece: str | Escape = part
            if number % 2:
                piece = codes.get(part) or _bytes(part) or Escape(part)
            if isinstance(piece, str) and found and isinstance(found[-1], str):
                found[-1] += piece
            elif piece:
                found.append(piece)
        return found

    def written(self, pieces: Sequence[str | Escape]) -> str:
        """The value of such pieces."""
        marks = {mark: code for code, mark in self._codes().items() if code != "P"}
        return "".join(
            f"{self.escape}{piece.code}{self.escape}"
            if isinstance(piece, Escape)
            else "".join(
                f"{self.escape}{marks[each]}{self.escape}" if each in marks else each
                for each in piece
            )
            for piece in pieces
        )


def _bytes(code: str) -> str | None:
    """The text of hexadecimal digits; None for other codes, and for bytes that are none."""
    if re.fullmatch(r"X([0-9A-Fa-f]{2})+", code) is None:
        return None
    try:
        return bytes.fromhex(code[1:]).decode()
    except UnicodeDecodeError:
        return None


def segments(text: str) -> Iterator[str]:
    """The segments of a message that are not empty."""
    return (line for line in text.replace("\n", "\r").split("\r") if line.strip())


def fields(segment: str, separators: Separators) -> list[str]:
    """Its fields in order, from the first on."""
    name, *found = segment.split(separators.field)
    return [separators.field, *found] if name in HEADERS else found
