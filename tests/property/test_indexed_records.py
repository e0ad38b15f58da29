"""A record that says whose its events are is cut as one that does not; and what others bring
nothing to is folded as if it had been merged with nothing."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lockstep.events import EventsRecord, InputEvent
from lockstep.events.bundles import Bundle
from lockstep.events.codec import EncodedEntry, EventsHeader, encode_record
from lockstep.fleet.asking import asking_of
from lockstep.fleet.channels import Merged, Merger
from lockstep.fleet.cutting import Cut
from lockstep.fleet.indexing import KeyIndex
from lockstep.fleet.units import Unit, units_of
from lockstep.plan.fleet import Together
from tests.unit.fleet.fleets import fleet

KEYS = st.sampled_from([None, "", "0", "1", "5", "long" * 20])
EVENTS = st.tuples(KEYS, st.integers(0, 9))
RECORDS = st.lists(st.lists(EVENTS, min_size=1, max_size=5), min_size=1, max_size=8)


def entry(units: tuple[Unit, ...], record: EventsRecord, *, indexed: bool) -> EncodedEntry:
    """As a door would write it."""
    index = KeyIndex([units[0].plan]).of if indexed else None
    payload = encode_record(record, units[0].plan.app.schemas, index=index)
    return EncodedEntry(7, payload)


def said(merged: Merged) -> list[Any]:
    """What is folded, and where each delivery stands."""
    (one,) = merged.entries
    made, (cut,) = one.columns(), merged._cuts
    moments = (cut.moments if isinstance(cut, Cut) else cut).tolist()
    if isinstance(made, Bundle):
        deliveries = [(each.stream, each.events, each.clock_ms) for each in made.deliveries()]
        return [made.clock_ms, deliveries, moments]
    return [one.record(), moments]


@given(
    RECORDS,
    st.integers(1, 5),
    st.sampled_from(Together),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, "0"]),
)
def test_cut_by_the_index_as_by_the_keys(
    chunks: list[list[tuple[str | None, int]]],
    partitions: int,
    together: Together,
    is_playback: bool,
    has_timestamps: bool,
    where: str | None,
) -> None:
    """In every partition; a cut app's records have one, others have none."""
    head = "@app:playback\n" if is_playback else ""
    units = units_of(fleet(partitions, head=head, together=together, where=where))
    made = EventsRecord(
        "S",
        9,
        tuple(tuple(InputEvent(at, (k, at)) for k, at in chunk) for chunk in chunks),
        has_timestamps=has_timestamps,
    )
    plain, indexed = (entry(units, made, indexed=each) for each in (False, True))
    header = indexed.header
    assert isinstance(header, EventsHeader)
    assert bool(header.keyings) == (partitions > 1)
    assert indexed.record() == plain.record()
    for unit in units[:partitions]:
        merger = Merger(unit, asking_of(units))
        assert said(merger.merged([indexed], ())) == said(merger.merged([plain], ()))


@given(RECORDS, st.integers(2, 5), st.sampled_from(Together))
def test_moves_of_the_clock_by_themselves(
    chunks: list[list[tuple[str | None, int]]], partitions: int, together: Together
) -> None:
    """As merging with the rows of nobody has them."""
    units = units_of(fleet(partitions, head="@app:playback\n", together=together))
    made = EventsRecord(
        "S",
        9,
        tuple(tuple(InputEvent(at, (k, at)) for k, at in chunk) for chunk in chunks),
        has_timestamps=True,
    )
    one = entry(units, made, indexed=True)
    for unit in units[:partitions]:
        merger = Merger(unit, asking_of(units))
        cut = merger._cutter.cut_entry(one)
        if cut.whole is not None:
            continue
        assert cut.moves is not None
        quick, slow = Merged(True), Merged(True)
        quick.add(7, *merger._moved(cut, cut.moves))
        slow.add(7, *merger._together(cut, []))
        assert said(quick) == said(slow)
