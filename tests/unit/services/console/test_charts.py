"""Charts: what ECharts is told of the names below bars."""

from __future__ import annotations

import pytest
from nicegui import Client

from lockstep_services.console.charts import MAX_LABELS, Times, bar_names, colours, plain
from tests.unit.services.console.on_a_page import view_of

LOOK = colours(is_dark=False)


@pytest.mark.parametrize("count", [1, 6, 7, 20, MAX_LABELS])
def test_all_bars_have_their_names(count: int) -> None:
    """ECharts would leave out those that touch each other."""
    names = [f"credential_stuffing {number}" for number in range(count)]
    axis = bar_names(LOOK, names)
    assert axis["data"] == names
    assert axis["axisLabel"]["interval"] == 0
    assert axis["axisLabel"]["hideOverlap"] is False


def test_names_that_do_not_fit_are_aslant_and_end_with_an_ellipsis() -> None:
    """Few long names need it as much as many short ones."""
    level = bar_names(LOOK, ["code", "mail", "payroll", "wiki"])["axisLabel"]
    assert "rotate" not in level
    for names in (["credential_stuffing", "impossible_travel"], [f"u{n}" for n in range(20)]):
        aslant = bar_names(LOOK, names)["axisLabel"]
        assert aslant["rotate"] > 0
        assert (aslant["overflow"], aslant["ellipsis"]) == ("truncate", "…")
        assert aslant["width"] > 0


def test_of_very_many_names_some_are_left_out() -> None:
    """They could not be read."""
    label = bar_names(LOOK, [str(number) for number in range(MAX_LABELS + 1)])["axisLabel"]
    assert "interval" not in label
    assert label["hideOverlap"] is True


async def test_lines_have_the_times_of_the_table_beside_them(client: Client) -> None:
    """UTC, wherever the browser is."""
    with client:
        line = Times(view_of(None))
    line.show([("mean", [[0, 1.0]])])
    assert line._chart.options["useUTC"] is True


def test_no_object_of_a_row_reaches_the_options_of_a_chart() -> None:
    """NiceGUI would run what stands behind a key that begins with a colon."""
    code = {":x": "window.pwned = 1"}
    assert plain(([("a", code), (code, 1)], "b", 1.5, None, [[code, True]])) == [
        [["a", None], [None, 1]], "b", 1.5, None, [[None, True]],
    ]  # fmt: skip
