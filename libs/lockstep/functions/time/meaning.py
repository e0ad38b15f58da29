"""`time:`: dates by Java's patterns, in UTC; null gives null, text that is no date is refused.

"Now" is the log's wall clock, so every replica and every replay says the same.
"""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from datetime import datetime, timedelta

from lockstep.events import AttributeType
from lockstep.functions.java_calendar import week_of_year
from lockstep.functions.java_dates import DAYS, date_format, epoch_ms, local_time
from lockstep.functions.java_zones import zone
from lockstep.functions.nulls import Factory, Function, passing_null, with_literal
from lockstep.operators.contract import Context
from lockstep.operators.errors import EventError
from lockstep.siddhiql.catalogue import Argument

_DEFAULT = "yyyy-MM-dd HH:mm:ss.SSS"
_SECONDS = "yyyy-MM-dd HH:mm:ss"
_DATE = "yyyy-MM-dd"
_SUNDAY_FIRST = frozenset(
    {"US", "CA", "JP", "IN", "CN", "KR", "TW", "BR", "MX", "IL", "ZA", "TH", "PH", "SG", "HK", "CO"}
)
_FOUR_DAYS = frozenset(
    {
        *("AT", "BE", "BG", "CH", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GB", "GR", "HU", "IE"),
        *("IS", "IT", "LT", "LU", "NL", "NO", "PL", "PT", "RU", "SE", "SK"),
    }
)
_MONTHS_IN = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_SPANS = {
    "WEEK": timedelta(weeks=1),
    "DAY": timedelta(days=1),
    "HOUR": timedelta(hours=1),
    "MINUTE": timedelta(minutes=1),
    "SECOND": timedelta(seconds=1),
}


def shifted(timestamp_ms: int, count: int, unit: str) -> int:
    """The timestamp `count` units later; days beyond the end of a month become its last one."""
    moment = local_time(timestamp_ms)
    try:
        if unit in _SPANS:
            return epoch_ms(moment + count * _SPANS[unit])
        months = moment.year * 12 + moment.month - 1 + count * _MONTHS_IN[unit]
        year, month = divmod(months, 12)
        day = min(moment.day, calendar.monthrange(year, month + 1)[1])
        return epoch_ms(moment.replace(year=year, month=month + 1, day=day))
    except (ValueError, OverflowError) as error:
        raise EventError(f"{count} {unit} leads beyond the calendar") from error


def _shift(direction: int) -> Factory:
    def of_text(text: str, count: int, unit: str, pattern: str = _DEFAULT) -> str:
        form = date_format(pattern)
        return form.format(shifted(form.parse(text), direction * count, unit.upper()))

    def of_ms(timestamp_ms: int, count: int, unit: str) -> str:
        return str(shifted(timestamp_ms, direction * count, unit.upper()))

    def factory(arguments: Sequence[Argument], context: Context) -> Function:
        function = of_ms if arguments[0].type is AttributeType.LONG else of_text
        return passing_null(function)(arguments, context)

    return factory


def _date(text: str, pattern: str = _DEFAULT) -> str:
    return date_format(_DATE).format(date_format(pattern).parse(text))


def _days_between(first_ms: int, second_ms: int) -> int:
    return local_time(first_ms).toordinal() - local_time(second_ms).toordinal()


def _days_between_texts(first: str, second: str, *patterns: str) -> int:
    one, *other = patterns or (_DEFAULT,)
    own = date_format(one).parse(first)
    return _days_between(own, date_format(other[0] if other else one).parse(second))


def _date_diff(arguments: Sequence[Argument], context: Context) -> Function:
    by_ms = arguments[0].type is AttributeType.LONG
    return passing_null(_days_between if by_ms else _days_between_texts)(arguments, context)


def _date_format(arguments: Sequence[Argument], context: Context) -> Function:
    def of_text(text: str, target: str, pattern: str = _DEFAULT) -> str:
        return date_format(target).format(date_format(pattern).parse(text))

    def of_ms(timestamp_ms: int, target: str) -> str:
        return date_format(target).format(timestamp_ms)

    function = of_ms if arguments[0].type is AttributeType.LONG else of_text
    return passing_null(function)(arguments, context)


def _day_of_week(text: str, pattern: str = _DATE) -> str:
    return DAYS[local_time(date_format(pattern).parse(text)).weekday()]


def _part(moment: datetime, unit: str, locale: str) -> int:
    match unit:
        case "YEAR":
            return moment.year
        case "QUARTER":
            return (moment.month - 1) // 3 + 1
        case "MONTH":
            return moment.month
        case "WEEK":
            region = locale.replace("-", "_").partition("_")[2].upper() or "US"
            first = 6 if region in _SUNDAY_FIRST else 0
            return week_of_year(moment, first, 4 if region in _FOUR_DAYS else 1)
        case "DAY":
            return moment.day
        case "HOUR":
            return moment.hour
        case "MINUTE":
            return moment.minute
        case "SECOND":
            return moment.second
    return 0  # a unit that does not exist is no error here


def _extract(arguments: Sequence[Argument], context: Context) -> Function:
    def of_text(unit: str, text: str, pattern: str = _DEFAULT, locale: str = "en_US") -> int:
        return _part(local_time(date_format(pattern).parse(text)), unit.upper(), locale)

    def of_ms(timestamp_ms: int, unit: str, locale: str = "en_US") -> int:
        return _part(local_time(timestamp_ms), unit.upper(), locale)

    function = of_ms if arguments[0].type is AttributeType.LONG else of_text
    return passing_null(function)(arguments, context)


def _timestamp(arguments: Sequence[Argument], context: Context) -> Function:
    if not arguments:
        return context.wall_ms

    def of_text(text: str, pattern: str = _DEFAULT) -> int:
        return date_format(pattern).parse(text)

    return passing_null(of_text)(arguments, context)


def _timezone_convert(text: str, pattern: str, target: str, source: str = "UTC") -> str:
    form = date_format(pattern)
    return form.format(form.parse(text, zone(source)), zone(target))


def _now(pattern: str) -> Factory:
    """The wall clock as text; a literal argument is a zone."""

    def factory(arguments: Sequence[Argument], context: Context) -> Function:
        at = zone(str(arguments[0].value) if arguments else "UTC")
        form = date_format(pattern)
        return lambda *_zone: form.format(context.wall_ms(), at)

    return factory


def _utc_timestamp(arguments: Sequence[Argument], context: Context) -> Function:
    def now(pattern: str | None = None) -> str:
        return date_format(pattern or _SECONDS).format(context.wall_ms())

    return now


def _with_formats(factory: Factory, *positions: int, of_texts: bool = False) -> Factory:
    """The same with literal date formats read at once; `of_texts`: there are some only behind a
    first argument that is a text."""
    reading = factory
    for position in positions:
        reading = with_literal(position, date_format, reading)

    def checked(arguments: Sequence[Argument], context: Context) -> Function:
        plain = of_texts and arguments[0].type is not AttributeType.STRING
        return (factory if plain else reading)(arguments, context)

    return checked


FUNCTIONS: dict[tuple[str, str], Factory] = {
    ("time", "currentDate"): _now(_DATE),
    ("time", "currentTime"): _now("HH:mm:ss"),
    ("time", "currentTimestamp"): _now(_SECONDS),
    ("time", "utcTimestamp"): _with_formats(_utc_timestamp, 0),
    ("time", "date"): _with_formats(passing_null(_date), 1),
    ("time", "dateAdd"): _with_formats(_shift(1), 3, of_texts=True),
    ("time", "dateSub"): _with_formats(_shift(-1), 3, of_texts=True),
    ("time", "dateDiff"): _with_formats(_date_diff, 2, 3, of_texts=True),
    ("time", "dateFormat"): _with_formats(_date_format, 1, 2),
    ("time", "dayOfWeek"): _with_formats(passing_null(_day_of_week), 1),
    ("time", "extract"): _with_formats(_extract, 2, of_texts=True),
    ("time", "timestampInMilliseconds"): _with_formats(_timestamp, 1),
    ("time", "timezoneConvert"): with_literal(
        2, zone, with_literal(3, zone, _with_formats(passing_null(_timezone_convert), 1))
    ),
}
