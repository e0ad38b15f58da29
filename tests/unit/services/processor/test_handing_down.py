"""What the units of a layout take over from those of the layout before, which had another text."""

from __future__ import annotations

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.fleet.renaming import losses_of_layout
from tests.unit.services.processor.layouts import PLANS, Layout

STREAM = "define stream S (k string, v long);\n"
SMALL = "from S[v < 100]#window.time(1 hour) select k, sum(v) as n group by k insert into Small;\n"
LARGE = "from S[v >= 100]#window.time(1 hour) select k, sum(v) as n group by k insert into Large;\n"
RAW = "from S select k, v as n insert into Raw;\n"
ALL = "from S#window.length(10) select k, sum(v) as n insert into Every;\n"
EACH = (
    "partition with (k of S) begin from S[v < 100]#window.length(9) select k, sum(v) as n"
    " insert into Each; end;\n"
)
TWICE = (
    "partition with (k of S) begin from S[v >= 100]#window.length(9) select k, sum(v) as n"
    " insert into #L; from #L#window.length(9) select k, sum(n) as n insert into Twice; end;\n"
)
NAMED = "@info(name='query_2')\n" + SMALL.replace("Small", "Named")


def _sent(position: int, *events: tuple[str, int]) -> list[LogEntry]:
    return [
        LogEntry(at, EventsRecord("S", at * 100, ((InputEvent(at * 100, one),),)))
        for at, one in enumerate(events, position)
    ]


FIRST = _sent(1, ("a", 1), ("a", 2), ("b", 5), ("a", 200), ("b", 300))
THEN = _sent(6, ("a", 10), ("b", 1000))
GOES_ON = {
    "Small": [("a", 13)], "Named": [("a", 13)], "Large": [("b", 1300)], "Each": [("a", 13)],
    "Raw": [("a", 10), ("b", 1000)], "Every": [("a", 518), ("b", 1518)], "Twice": [("b", 1600)],
}  # fmt: skip


def _went_on(
    before: str, cut: int | None, after: str, cut_then: int
) -> tuple[dict[str, list[object]], tuple[str, ...]]:
    """The rows behind the change, by stream, and what began empty."""
    former, layout = Layout(STREAM + before, cut), Layout(STREAM + after, cut_then)
    former.fold(FIRST)
    lost = layout.begin_behind(former)
    found: dict[str, list[object]] = {}
    for row in layout.fold(THEN):
        found.setdefault(row.stream, []).append(row.data)
    return found, lost


@pytest.mark.parametrize("cut", [2, 3])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SMALL + LARGE, SMALL + LARGE),
        (SMALL + LARGE, LARGE + SMALL),
        (SMALL + LARGE, RAW + SMALL + LARGE),
        (RAW + SMALL + LARGE, LARGE + SMALL),
        (EACH + TWICE, TWICE + EACH),
        (EACH + TWICE, RAW + EACH + TWICE),
        (SMALL + TWICE + ALL, ALL + TWICE + SMALL),
        (NAMED + SMALL, SMALL + NAMED),
        (SMALL + NAMED, RAW + NAMED + SMALL),
    ],
    ids=["same", "swapped", "in front", "removed", "partitions", "in front of partitions",
         "of several groups", "a name like a place", "a place like a name"],
)  # fmt: skip
def test_what_has_no_name_goes_on_wherever_it_stands(before: str, after: str, cut: int) -> None:
    """Not with the state of what stood there before."""
    rows, lost = _went_on(before, 2, after, cut)
    assert rows == {name: GOES_ON[name] for name in rows}
    assert not lost


def test_what_has_no_name_makes_way() -> None:
    """What stands in its place now begins empty, though it is written nearly alike."""
    other = SMALL.replace("Small", "Other")
    rows, lost = _went_on(SMALL + LARGE, 2, other + LARGE, 2)
    assert rows == {"Other": [("a", 10)], "Large": [("b", 1300)]}
    assert len(lost) == 1
    rows, lost = _went_on(SMALL + LARGE, 2, LARGE, 2)
    assert rows == {"Large": [("b", 1300)]}
    assert lost == ("query 'query_1' (not in this text)",)
    _, lost = _went_on(EACH + TWICE, 2, EACH.replace("length(9)", "length(8)") + TWICE, 3)
    assert lost == ("partition 'partition_1' (changed: its queries)",)


@pytest.mark.parametrize(
    "after", [ALL, ALL + SMALL, SMALL + ALL], ids=["same", "more", "more in front"]
)
def test_an_app_that_could_not_be_cut_goes_on_in_its_next_layout(after: str) -> None:
    """Its only group has the text as it was written, without names."""
    rows, lost = _went_on(ALL, 2, after, 2)
    assert rows["Every"] == GOES_ON["Every"]
    assert not lost


def test_a_unit_of_which_all_is_new_begins_at_the_clock_that_there_is() -> None:
    """Its triggers at the start stay silent, as the app does not start."""
    start = "define trigger Start at 'start';\n"
    more = start + SMALL + "from Start select triggered_time as n insert into Started;\n"
    rows, lost = _went_on(SMALL, 2, more, 2)
    assert rows == {"Small": [("a", 13)]}
    assert not lost


def test_one_that_cannot_be_cut_any_more_goes_on() -> None:
    """All of it is one unit then, which reads the text as it was written."""
    rows, _ = _went_on(EACH + ALL, 2, RAW + ALL, 1)
    assert rows["Every"] == GOES_ON["Every"]


def test_an_app_of_one_unit_becomes_a_fleet_with_another_text() -> None:
    """Partitions go on wherever they stand; a query that is cut by key from now on begins empty.
    It is told of by the name that it had."""
    rows, lost = _went_on(EACH + TWICE + ALL, None, ALL + TWICE + RAW + EACH, 3)
    assert rows == {name: GOES_ON[name] for name in ("Each", "Twice", "Raw", "Every")}
    assert not lost
    rows, lost = _went_on(SMALL, None, RAW + SMALL, 3)
    assert rows["Small"] == [("a", 10)]
    assert lost == ("query 'query_1' (its state is kept otherwise)",)


@pytest.mark.parametrize("is_first", [False, True])
def test_what_had_one_name_in_one_unit_is_told_apart(is_first: bool) -> None:
    """A query and a partition; in a fleet one of them needs another name."""
    each, small = "@info(name='one') " + EACH, "@info(name='one') " + SMALL
    before = each + small if is_first else small + each
    rows, lost = _went_on(before, None, each + RAW, 2)
    assert rows["Each"] == GOES_ON["Each"]
    assert lost == ("query 'one' (not in this text)",)
    rows, lost = _went_on(before, None, small + RAW, 2)
    assert rows["Small"] == [("a", 10)]
    assert "partition 'one' (not in this text)" in lost


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        (SMALL + EACH, RAW + EACH + SMALL, ()),
        (SMALL + EACH, EACH, ("query 'query_1' (not in this text)",)),
        (SMALL, SMALL.replace("1 hour", "2 hours"),
         ("query 'query_1' (changed: its windows, functions or pattern)",)),
    ],
    ids=["moved", "removed", "changed"],
)  # fmt: skip
def test_what_would_begin_empty_in_the_next_layout(
    before: str, after: str, lost: tuple[str, ...]
) -> None:
    """Is said beforehand, without any state."""
    former, layout = Layout(STREAM + before, 2), Layout(STREAM + after, 3)
    texts = [group.text for group in former.fleet.groups]
    assert losses_of_layout(former.plan, texts, layout.fleet, PLANS.of) == lost


def test_what_would_begin_empty_when_an_app_is_cut() -> None:
    """Its queries that are partitions of their own from then on."""
    former, layout = Layout(STREAM + RAW + SMALL + EACH, None), Layout(STREAM + SMALL + EACH, 3)
    found = losses_of_layout(former.plan, [former.plan.text], layout.fleet, PLANS.of)
    assert found == (
        "query 'query_1' (not in this text)",
        "query 'query_2' (its state is kept otherwise)",
    )


BOTH = "from S select k, v, count() as n group by k, v insert into Both;\n"
BY_VALUE = "partition with (v of S) begin from S select v, count() as n insert into Values; end;\n"
NAMED_BOTH = "@info(name='both') " + BOTH


@pytest.mark.parametrize(
    ("before", "cut", "after", "lost"),
    [
        (EACH + BOTH, 2, RAW + BOTH + BY_VALUE,
         ("partition 'partition_1' (changed: its keys, its queries)",
          "query 'query_2' (its state is kept otherwise)")),
        (EACH + NAMED_BOTH, 2, RAW + NAMED_BOTH + BY_VALUE,
         ("partition 'partition_1' (changed: its keys, its queries)",
          "query 'both' (its state is kept otherwise)")),
        (SMALL + EACH, 2, RAW + EACH + SMALL, ()),
        (SMALL + RAW, None, RAW + ALL + SMALL,
         ("query 'query_1' (its state is kept otherwise)",)),
    ],
    ids=["another key", "a name", "the same key", "cut now"],
)  # fmt: skip
def test_what_is_cut_otherwise_is_told_as_it_was_called(
    before: str, cut: int | None, after: str, lost: tuple[str, ...]
) -> None:
    """Not by its next place, nor as the partition that it is cut in; beforehand and then."""
    former, layout = Layout(STREAM + before, cut), Layout(STREAM + after, 3)
    former.fold(FIRST)
    texts = [group.text for group in former.fleet.groups]
    assert losses_of_layout(former.plan, texts, layout.fleet, PLANS.of) == lost
    assert {*layout.begin_behind(former)} == {*lost}
