"""Widgets: what each shows of the rows at hand. Pure; a dashboard is a JSON document of them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from lockstep.events.typed import from_json
from lockstep_services.console import figures

KINDS: Final = {
    "line": "Line", "bar": "Bars", "pie": "Pie", "number": "Number", "gauge": "Gauge",
    "table": "Table", "map": "Map",
}  # fmt: skip
SPANS: Final = {60: "1 minute", 300: "5 minutes", 900: "15 minutes", 3_600: "1 hour"}
REFRESHES: Final = {1: "1 second", 5: "5 seconds", 30: "30 seconds", 60: "1 minute", 0: "paused"}
WIDTHS: Final = {3: "a quarter", 4: "a third", 6: "half", 8: "two thirds", 12: "whole"}
NUMBERS: Final = ("int", "long", "float", "double")
MAX_SERIES: Final = 6
MAX_POINTS: Final = 300
MAX_BARS: Final = 24
TABLE_ROWS: Final = 50
_FILTER: Final = re.compile(r"\s*(\w+)\s*(==|!=|<=|>=|=|<|>)\s*(.+?)\s*\Z")
_TESTS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq, "=": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Widget(msgspec.Struct, kw_only=True):
    """`source` is a stream, a table or an on-demand query, by `of`. `value` and `by` are
    attributes; a map has `latitude` and `longitude`. `where` is a comparison, or empty."""

    kind: str
    app: str
    of: str = "stream"
    source: str = ""
    title: str = ""
    value: str = ""
    by: str = ""
    latitude: str = ""
    longitude: str = ""
    where: str = ""
    low: float = 0.0
    high: float = 100.0
    width: int = 6


class Board(msgspec.Struct, kw_only=True):
    """A dashboard. `refresh_s`: how often it shows what is new; 0: it stands still."""

    format: int = 1
    title: str = ""
    span_s: int = 300
    refresh_s: int = 1
    widgets: list[Widget] = []


class Rows(msgspec.Struct):
    """Rows with their attributes' names; `times` of streams alone, in the rows' order. `missing`:
    why a table's rows may not be all."""

    names: Sequence[str]
    rows: Sequence[Sequence[Any]]
    times: Sequence[int] = ()
    rate: float = 0.0
    total: int = 0
    missing: str = ""


def read_board(raw: bytes) -> Board:
    """A dashboard's document; ValueError says what does not fit."""
    try:
        board = from_json(raw, Board)
    except msgspec.DecodeError as error:
        raise ValueError(f"this is no dashboard: {error}") from error
    if board.format != 1:
        raise ValueError(f"a dashboard of format {board.format}; this console knows format 1")
    if board.refresh_s not in REFRESHES:
        raise ValueError(f"a dashboard is shown anew every 1, 5, 30 or 60 s, not {board.refresh_s}")
    unknown = [one.kind for one in board.widgets if one.kind not in KINDS]
    if unknown:
        raise ValueError(f"there is no widget {unknown[0]!r}")
    return board


def write_board(board: Board) -> bytes:
    """Its document."""
    return msgspec.json.encode(board)


def checked_filter(where: str) -> None:
    """ValueError for what is no comparison."""
    if where and _FILTER.match(where) is None:
        raise ValueError("a filter is a comparison, for example room == attic")


def chosen(widget: Widget, rows: Rows, span_s: int) -> Rows:
    """Those that the filter and the time span leave."""
    found = _FILTER.match(widget.where) if widget.where else None
    names = list(rows.names)
    keep = range(len(rows.rows))
    if found is not None and found[1] in names:
        at, test, wanted = names.index(found[1]), _TESTS[found[2]], found[3].strip("'\"")
        keep = [n for n in keep if _passes(rows.rows[n][at], test, wanted)]  # type: ignore[assignment]
    if rows.times:
        last_ms = max((one for one in rows.times if one <= figures.LAST_MS), default=0)
        since_ms = last_ms - span_s * 1_000
        keep = [n for n in keep if rows.times[n] >= since_ms]  # type: ignore[assignment]
    return Rows(
        rows.names, [rows.rows[n] for n in keep],
        [rows.times[n] for n in keep] if rows.times else (), rows.rate, rows.total,
    )  # fmt: skip


def _passes(value: Any, test: Callable[[Any, Any], bool], wanted: str) -> bool:
    if isinstance(value, bool):
        return test(str(value).lower(), wanted.lower())
    if isinstance(value, int | float):
        try:
            return test(value, _read(wanted))
        except ValueError:
            return False
    return value is not None and test(str(value), wanted)


def _read(text: str) -> int | float:
    """A number, with all its digits; ValueError."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def _at(rows: Rows, name: str) -> int | None:
    return list(rows.names).index(name) if name in rows.names else None


def _number(value: Any) -> int | float | None:
    """A number as charts take it; None for all else. NiceGUI makes code of each key of a chart's
    data that begins with a colon, and a row may hold an object with any keys."""
    return value if isinstance(value, int | float) else None


def series(widget: Widget, rows: Rows) -> list[tuple[str, list[list[Any]]]]:
    """Of a line: points of time and value, a series for each value of `by`; the latest ones."""
    value, by = _at(rows, widget.value), _at(rows, widget.by)
    found: dict[str, list[list[Any]]] = {}
    if value is None:
        return []
    for number, row in enumerate(rows.rows):
        name = widget.value if by is None else figures.value(row[by])
        when = rows.times[number] if rows.times else number
        if when > figures.LAST_MS:
            continue  # no date: it would leave no room for the others
        found.setdefault(name, []).append([when, _number(row[value])])
    latest = sorted(found, key=lambda name: found[name][-1][0], reverse=True)[:MAX_SERIES]
    return [(name, found[name][-MAX_POINTS:]) for name in found if name in latest]


def latest(widget: Widget, rows: Rows) -> list[tuple[str, int | float | None]]:
    """The last value for each value of `by`, sorted by name; of bars and pies."""
    value, by = _at(rows, widget.value), _at(rows, widget.by)
    if value is None:
        return []
    found: dict[str, int | float | None] = {}
    for row in rows.rows:
        found[widget.value if by is None else figures.value(row[by])] = _number(row[value])
    return sorted(found.items())[:MAX_BARS]


def number(widget: Widget, rows: Rows) -> Any:
    """The last value; without an attribute how many rows there were."""
    value = _at(rows, widget.value)
    if value is None:
        return rows.total or len(rows.rows)
    return rows.rows[-1][value] if rows.rows else None


def level(widget: Widget, rows: Rows) -> tuple[int | float | None, float, float]:
    """Of a gauge: the last value, if it is a number, and the ends of the scale."""
    return _number(number(widget, rows)), widget.low, widget.high


def points(widget: Widget, rows: Rows) -> list[tuple[str, float, float]]:
    """Of a map: name, longitude and latitude, the last for each value of `by`."""
    latitude, longitude = _at(rows, widget.latitude), _at(rows, widget.longitude)
    by = _at(rows, widget.by)
    if latitude is None or longitude is None:
        return []
    found = {}
    for count, row in enumerate(rows.rows):
        name = str(count) if by is None else figures.value(row[by])
        if isinstance(row[latitude], int | float) and isinstance(row[longitude], int | float):
            found[name] = (name, float(row[longitude]), float(row[latitude]))
    return list(found.values())[-MAX_POINTS:]


def suggested(app: str, overview: Mapping[str, Any]) -> list[Widget]:
    """Widgets for an app nobody made any for: by the types of its streams' attributes."""
    found = []
    for one in overview["streams"]:
        kinds = {
            each["name"]: each["type"].rpartition(".")[2].lower() for each in one["attributes"]
        }
        numbers = [
            name for name, kind in kinds.items() if kind in ("int", "long", "float", "double")
        ]
        texts = [name for name, kind in kinds.items() if kind == "string"]
        source = {"app": app, "source": one["name"]}
        if numbers:
            found.append(
                Widget(kind="line", value=numbers[0], by=(texts or [""])[0],
                       title=f"{one['name']}: {numbers[0]}", **source)
            )  # fmt: skip
        found.append(Widget(kind="table", title=one["name"], **source))
    found += [
        Widget(kind="table", app=app, of="table", source=one["name"], title=one["name"])
        for one in overview["tables"]
    ]
    return found[:8]
