"""What widgets make of rows: filters, spans, series, and the document of a dashboard."""

from __future__ import annotations

import pytest

from lockstep_services.console import widgets
from lockstep_services.console.widgets import Board, Rows, Widget

ROWS = Rows(
    ["room", "celsius", "on"],
    [["attic", 30.0, True], ["hall", 20.0, False], ["attic", 31.0, True], ["hall", None, True]],
    [1_000, 2_000, 63_000, 64_000],
)
LINE = Widget(kind="line", app="Hot", source="R", value="celsius", by="room")


def test_filters_and_spans_choose_rows() -> None:
    """A comparison by the value's type; a span counts back from the newest row."""

    def left(where: str, span_s: int = 300) -> int:
        widget = Widget(kind="table", app="Hot", where=where)
        return len(widgets.chosen(widget, ROWS, span_s).rows)

    assert (left(""), left("", 60)) == (4, 2)
    assert (left("room == attic"), left("room != 'attic'"), left("celsius >= 30")) == (2, 2, 2)
    assert (left("on = true"), left("celsius < warm")) == (3, 0)
    with pytest.raises(ValueError, match="a comparison"):
        widgets.checked_filter("room")


def test_a_filter_has_all_digits() -> None:
    """Of a long that is no float."""
    rows = Rows(["big"], [[2**53], [2**53 + 1], [None]])
    for where, left in (("==", 1), ("!=", 1), (">=", 1), ("<=", 2)):
        widget = Widget(kind="table", app="A", where=f"big {where} {2**53 + 1}")
        assert len(widgets.chosen(widget, rows, 300).rows) == left
    widget = Widget(kind="table", app="A", where="big > 9e15")
    assert len(widgets.chosen(widget, rows, 300).rows) == 2


def test_a_name_is_what_tables_show() -> None:
    """No Python: nothing is a dash, and an object its JSON."""
    rows = Rows(["by", "n"], [[None, 1], [{"n": None}, 2], [True, 3]])
    widget = Widget(kind="bar", app="A", value="n", by="by")
    assert dict(widgets.latest(widget, rows)) == {"–": 1, '{"n": null}': 2, "true": 3}


def test_each_kind_shows_the_newest() -> None:
    """A line has a series for each name; bars and numbers the last value."""
    assert widgets.series(LINE, ROWS) == [
        ("attic", [[1_000, 30.0], [63_000, 31.0]]),
        ("hall", [[2_000, 20.0], [64_000, None]]),
    ]
    assert widgets.latest(LINE, ROWS) == [("attic", 31.0), ("hall", None)]
    assert widgets.number(LINE, ROWS) is None
    assert widgets.number(Widget(kind="number", app="Hot"), ROWS) == 4
    place = Rows(["n", "lat", "lon"], [["a", 52.5, 13.4], ["a", 52.6, 13.5], ["b", None, 1.0]])
    plane = Widget(kind="map", app="Hot", by="n", latitude="lat", longitude="lon")
    assert widgets.points(plane, place) == [("a", 13.5, 52.6)]


CODE = {":x": "window.pwned = 1"}
OBJECTS = Rows(["room", "it"], [["attic", CODE], ["hall", [CODE]], [CODE, 1.5]], [1, 2, 3])


def test_objects_of_rows_reach_no_chart() -> None:
    """NiceGUI would run what stands behind a colon, in the browser of whoever looks."""
    widget = Widget(kind="pie", app="Hot", value="it", by="room")
    by = '{":x": "window.pwned = 1"}'
    assert widgets.latest(widget, OBJECTS) == [("attic", None), ("hall", None), (by, 1.5)]
    assert widgets.series(widget, OBJECTS) == [
        ("attic", [[1, None]]), ("hall", [[2, None]]), (by, [[3, 1.5]]),
    ]  # fmt: skip
    assert widgets.level(widget, OBJECTS) == (1.5, 0.0, 100.0)
    first = Rows(OBJECTS.names, OBJECTS.rows[:1])
    assert widgets.level(widget, first) == (None, 0.0, 100.0)


def test_a_dashboard_reads_back_and_others_are_refused() -> None:
    """Another format or widget is said, not guessed at."""
    board = Board(title="Rooms", widgets=[LINE])
    assert widgets.read_board(widgets.write_board(board)) == board
    for raw, why in (
        (b'{"format": 2}', "format 2"),
        (b'{"widgets": [{"kind": "clock", "app": "A"}]}', "no widget 'clock'"),
        (b'{"widgets": 1}', "no dashboard"),
    ):
        with pytest.raises(ValueError, match=why):
            widgets.read_board(raw)


def test_how_often_a_board_is_shown_anew_is_kept_with_it() -> None:
    """A document without it means every second, as before; another interval is refused."""
    paused = Board(title="Rooms", refresh_s=0)
    assert widgets.read_board(widgets.write_board(paused)).refresh_s == 0
    assert widgets.read_board(b'{"title": "Rooms"}').refresh_s == 1
    with pytest.raises(ValueError, match="not 7"):
        widgets.read_board(b'{"refresh_s": 7}')


def test_a_time_that_is_no_date_takes_no_others_place() -> None:
    """One event with microseconds neither hides the rows of today nor stretches a line."""
    today = 1_764_453_600_000
    rows = Rows(["celsius"], [[1.0], [2.0], [3.0]], [today, today * 1_000, today + 1])
    widget = Widget(kind="line", app="Hot", source="R", value="celsius")
    found = widgets.chosen(widget, rows, 60)
    assert found.times == rows.times
    assert widgets.series(widget, found) == [("celsius", [[today, 1.0], [today + 1, 3.0]])]
    odd = Rows(["celsius"], [[2.0]], [today * 1_000])
    assert widgets.chosen(widget, odd, 60).rows == [[2.0]]
    assert widgets.series(widget, odd) == []
