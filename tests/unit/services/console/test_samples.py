"""The dashboards of the samples: each widget shows what its app has."""

from __future__ import annotations

import pytest

from lockstep.siddhiql import check
from lockstep.testing import VirtualApp
from lockstep_services.console import samples
from lockstep_services.console.widgets import WIDTHS, Widget, checked_filter

APPS = {check(samples.app_text(name)).name: samples.app_text(name) for name in samples.apps()}
WIDGETS = [
    pytest.param(widget, id=f"{name}-{number}")
    for name, board in samples.boards().items()
    for number, widget in enumerate(board.widgets)
]


@pytest.fixture(scope="module")
def running() -> dict[str, VirtualApp]:
    """The apps that have dashboards, without events."""
    named = {widget.app for board in samples.boards().values() for widget in board.widgets}
    return {name: VirtualApp(APPS[name]) for name in named}


def attributes(widget: Widget, app: VirtualApp) -> set[str]:
    """The names of what the widget's source gives."""
    if widget.of == "query":
        app.on_demand(widget.source)
        return {word.strip(",;") for word in widget.source.split()}
    return set(check(APPS[widget.app]).schemas[widget.source].names)


@pytest.mark.parametrize("widget", WIDGETS)
def test_a_widget_shows_what_there_is(widget: Widget, running: dict[str, VirtualApp]) -> None:
    """Its source is there, a query is answered, and all attributes that it names exist."""
    names = attributes(widget, running[widget.app])
    used = {widget.value, widget.by, widget.latitude, widget.longitude} - {""}
    assert used <= names
    checked_filter(widget.where)
    assert widget.width in WIDTHS
    assert widget.title
    if widget.kind == "table" and widget.of == "stream":
        assert len(names) + len(["Time"]) <= widget.width, "columns would be cut off at the right"


def test_each_is_called_after_its_app() -> None:
    """So `lockstep samples --out` finds it, and the page says whose it is."""
    assert len(samples.boards()) == 5
    assert all(name.split(".")[0] in samples.apps() for name in samples.boards())
    assert len({board.title for board in samples.boards().values()}) == 5
