"""Java's date patterns (`yyyy-MM-dd HH:mm:ss.SSS`): epoch milliseconds to text and back.

Numbers out of range roll over (month 13 is January of the next year), text behind what the pattern
asks for is ignored, two-digit years lie in 1950 to 2049. Without a zone in the text it is UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import lru_cache
from itertools import count

from lockstep.functions.java_calendar import DayFields, week_date
from lockstep.functions.java_zones import zone_in_text
from lockstep.functions.linear_regex import Pattern
from lockstep.operators.errors import EventError

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")
_NUMERIC = frozenset("yYMLwWDdFuHkKhmsS")
_LETTERS = _NUMERIC | frozenset("GEazZX")
_PIVOT = 50


def local_time(timestamp_ms: int, at: tzinfo = UTC) -> datetime:
    """The date and time of a timestamp; raises EventError beyond the years 1 to 9999."""
    try:
        return (_EPOCH + timedelta(milliseconds=timestamp_ms)).astimezone(at)
    except OverflowError as error:
        raise EventError(f"{timestamp_ms} ms is beyond the calendar") from error


def epoch_ms(moment: datetime) -> int:
    """The timestamp of a date and time with a zone."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _fields(moment: datetime) -> dict[str, int]:
    hour = moment.hour
    week_year, week = week_date(moment)
    return {
        "y": moment.year,
        "Y": week_year,
        "M": moment.month,
        "L": moment.month,
        "w": week,
        "W": (moment.day + (moment.replace(day=1).weekday() + 1) % 7 - 1) // 7 + 1,
        "D": moment.timetuple().tm_yday,
        "d": moment.day,
        "F": (moment.day - 1) // 7 + 1,
        "u": moment.isoweekday(),
        "H": hour,
        "k": hour or 24,
        "K": hour % 12,
        "h": hour % 12 or 12,
        "m": moment.minute,
        "s": moment.second,
        "S": moment.microsecond // 1000,
    }


def _offset_text(moment: datetime, letter: str, width: int) -> str:
    offset = moment.utcoffset() or timedelta(0)
    minutes = int(offset.total_seconds()) // 60
    if letter == "X" and minutes == 0:
        return "Z"
    hours, rest = divmod(abs(minutes), 60)
    sign = "-" if minutes < 0 else "+"
    if letter == "X" and width == 1:
        return f"{sign}{hours:02d}"
    return f"{sign}{hours:02d}{':' if letter == 'X' and width > 2 else ''}{rest:02d}"


def _word(moment: datetime, letter: str, width: int) -> str | None:
    """The fields that are words, or None for a number."""
    match letter:
        case "G":
            return "AD"
        case "E":
            return DAYS[moment.weekday()][: None if width > 3 else 3]
        case "a":
            return "AM" if moment.hour < 12 else "PM"
        case "z":
            return moment.tzname() or "UTC"
        case "Z" | "X":
            return _offset_text(moment, letter, width)
        case "M" | "L" if width > 2:
            return MONTHS[moment.month - 1][: None if width > 3 else 3]
    return None


class DateFormat:
    """A pattern, ready for both directions. Raises EventError for letters that mean nothing.

    A text is read once from left to right, so no pattern takes long on any text. Where only what
    follows says where a field ends (`d1d`), a regular expression that cannot run away finds it.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._tokens = [_token(pattern, match) for match in _matches(pattern)]
        self._regex, self._letters = self._reader()

    def format(self, timestamp_ms: int, at: tzinfo = UTC) -> str:
        """The text of a timestamp."""
        moment = local_time(timestamp_ms, at)
        numbers = _fields(moment)
        parts = []
        for letter, width, literal in self._tokens:
            if not letter:
                parts.append(literal)
                continue
            word = _word(moment, letter, width)
            if word is None:
                number = numbers[letter]
                if letter in "yY" and width == 2:
                    number %= 100
                word = str(number).zfill(width)
            parts.append(word)
        return "".join(parts)

    def parse(self, text: str, at: tzinfo = UTC) -> int:
        """The timestamp that the beginning of the text gives; raises EventError if it does not."""
        match = self._regex.match(text)
        if match is None:
            raise EventError(f"{text!r} is no date of the form {self.pattern!r}")
        reading = _Reading(at)
        for letter, width, found in zip(*self._letters, match.groups(), strict=True):
            reading.take(letter, width, found)
        return reading.timestamp_ms()

    def _reader(self) -> tuple[re.Pattern[str] | Pattern, tuple[list[str], list[int]]]:
        pairs = list(zip(self._tokens, [*self._tokens[1:], None], strict=True))
        is_clear = all(_ends_clearly(token, following) for token, following in pairs if token[0])
        parts: list[str] = []
        letters: list[str] = []
        widths: list[int] = []
        for (letter, width, literal), following in pairs:
            if not letter:
                parts.append(re.escape(literal))
                continue
            letters.append(letter)
            widths.append(width)
            parts.append(_pattern_of(letter, width, _is_number(following), keeps=is_clear))
        regex = "".join(parts)
        if is_clear:
            return re.compile(regex, re.IGNORECASE), (letters, widths)
        return Pattern(regex, re.IGNORECASE | re.ASCII), (letters, widths)


_Token = tuple[str, int, str]


def _matches(pattern: str) -> list[re.Match[str]]:
    found = list(_TOKEN.finditer(pattern))
    if sum(len(match[0]) for match in found) != len(pattern):
        raise EventError(f"a quote is not closed in the date format {pattern!r}")
    return found


def _token(pattern: str, match: re.Match[str]) -> _Token:
    if match[1] is not None:
        return "", 0, match[1].replace("''", "'") or "'"
    if match[2] is None:
        return "", 0, match[0]
    if match[2] not in _LETTERS:
        what = f"{match[2]!r} means nothing in the date format {pattern!r}"
        raise EventError(what, hint="write it like 'yyyy-MM-dd HH:mm:ss.SSS', words in quotes")
    return match[2], len(match[0]), ""


def _is_number(token: _Token | None) -> bool:
    if token is None:
        return False
    letter, width, _ = token
    return letter in _NUMERIC and not (letter in "ML" and width > 2)


def _ends_clearly(token: _Token, following: _Token | None) -> bool:
    """Whether a field ends where it cannot go on, whatever follows. Then a reader never has to go
    back and try again with a shorter one."""
    begins = "" if following is None else following[2][:1]
    if _is_number(token):
        return not begins.isdecimal()
    if token[0] not in "zZX":
        return not begins.isalpha()
    return following is None or (bool(begins) and not (begins.isalnum() or begins in ":/_+-"))


def _pattern_of(letter: str, width: int, before_number: bool, *, keeps: bool) -> str:
    """`keeps`: what a field has taken it never gives back."""
    plus = "+" if keeps else ""
    if _is_number((letter, width, "")):
        digits = rf"\d{{{width}}}" if before_number else rf"\d+{plus}"
        return rf"\s*{plus}([+-]?{plus}{digits})"
    if letter in "ML":
        words = "|".join(f"{name}|{name[:3]}" for name in MONTHS)
    elif letter == "E":
        words = "|".join(f"{name}|{name[:3]}" for name in DAYS)
    elif letter == "a":
        words = "AM|PM"
    elif letter == "G":
        words = "AD|BC"
    else:
        words = r"(?:UTC|GMT)?[+-]\d{1,2}(?::?\d{2})?|[A-Za-z]+(?:/[A-Za-z_/]+)?"
    return f"((?>{words}))" if keeps else f"({words})"


class _Reading:
    """The fields of one text, put together the lenient way."""

    def __init__(self, at: tzinfo) -> None:
        self._zone = at
        self._date = DayFields()
        self._hours: dict[str, tuple[int, int]] = {}
        self._places = count()
        self._rest = timedelta(0)

    def take(self, letter: str, width: int, text: str) -> None:
        """One field."""
        if not text.lstrip("+-").isdigit() or letter in "zZX":
            self._take_word(letter, text)
            return
        number = int(text)
        take = _TAKERS.get(letter)
        if letter in "yY" and width <= 2 and len(text) <= 2:
            number += 2000 if number < _PIVOT else 1900
        if take is not None:
            take(self, number)

    def _take_word(self, letter: str, text: str) -> None:
        if letter in "ML":
            month = [name[:3].lower() for name in MONTHS].index(text[:3].lower()) + 1
            self._date.set("M", month)
        elif letter == "E":
            day = [name[:3].lower() for name in DAYS].index(text[:3].lower()) + 1
            self.set_weekday(day)
        elif letter == "a":
            self.set_hour("a", 12 if text.lower() == "pm" else 0)
        elif letter in "zZX":
            self._zone = zone_in_text(text, self._zone)

    def timestamp_ms(self) -> int:
        """What the fields give; raises EventError beyond the calendar."""
        day = datetime.combine(self._date.day(), time(), self._zone)
        try:
            return epoch_ms(_standard(day + timedelta(hours=self._hour()) + self._rest))
        except (ValueError, OverflowError) as error:
            raise EventError("the date is beyond the calendar") from error

    def set_day(self, letter: str, number: int) -> None:
        """y Y M d D w W F."""
        self._date.set(letter, number)

    def set_weekday(self, number: int) -> None:
        """u and E, from 1 for Monday."""
        self._date.set("E", number % 7 + 1 if 1 <= number <= 7 else number)

    def set_hour(self, kind: str, number: int) -> None:
        """H: of the day. K: of its half, which a says."""
        self._hours[kind] = (next(self._places), number)

    def _hour(self) -> int:
        """Of the day, by what was said last: its own, or that of a half with the half."""
        (of_day_at, of_day), (of_half_at, of_half), (half_at, half) = (
            self._hours.get(kind, (-1, 0)) for kind in "HKa"
        )
        is_whole = of_half_at >= 0 and half_at >= 0
        if of_day_at < 0 or (is_whole and max(of_half_at, half_at) > of_day_at):
            return of_half + half
        return of_day

    def add(self, rest: timedelta) -> None:
        """Minutes and below."""
        self._rest += rest


def _standard(moment: datetime) -> datetime:
    """Of an hour that comes twice the second one, as Java has it; one that is skipped stays."""
    second = moment.replace(fold=1)
    first_offset, second_offset = moment.utcoffset(), second.utcoffset()
    assert first_offset is not None
    assert second_offset is not None
    return second if second_offset < first_offset else moment


def _of_date(letter: str) -> Callable[[_Reading, int], None]:
    return lambda reading, number: reading.set_day(letter, number)


_TAKERS: dict[str, Callable[[_Reading, int], None]] = {
    **{letter: _of_date(letter) for letter in "yYMdDwWF"},
    "L": _of_date("M"),
    "u": _Reading.set_weekday,
    "H": lambda reading, number: reading.set_hour("H", number),
    "K": lambda reading, number: reading.set_hour("K", number),
    "k": lambda reading, number: reading.set_hour("H", 0 if number == 24 else number),
    "h": lambda reading, number: reading.set_hour("K", 0 if number == 12 else number),
    "m": lambda reading, number: reading.add(timedelta(minutes=number)),
    "s": lambda reading, number: reading.add(timedelta(seconds=number)),
    "S": lambda reading, number: reading.add(timedelta(milliseconds=number)),
}


@lru_cache(maxsize=512)
def date_format(pattern: str) -> DateFormat:
    """The format of a pattern."""
    return DateFormat(pattern)
