"""Random apps with channels, and logs of bundles: what plain logs say, and what none says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import numpy as np

from lockstep.events import EventsRecord, InputEvent, InputRecord, LogEntry
from lockstep.events.bundles import STAYS, Bundle
from lockstep.events.codec import (
    EncodedEntry,
    EventColumns,
    decode_columns,
    encode_bundle,
    encode_record,
)
from lockstep.events.outputs import RowsOfColumns
from lockstep.execute.contract import SliceResult
from lockstep.plan import AppPlan, plan_of
from lockstep.siddhiql import ast

Chunk = tuple[InputEvent, ...]
Told = tuple[EventsRecord, Chunk, int | None]
"""A delivery: of which record, with which events, and its clock, or None when none is told."""


# --- apps
# ------------------------------------------------------------------------------------------


def with_channels(text: str, random: Random) -> str:
    """The app with some of its streams as channels, those that it reads itself among them."""
    plan = plan_of(text)
    defined = {each.name: each for each in plan.checked.app.definitions}
    head: list[str] = []
    for name, schema in plan.checked.streams.items():
        if name[0] in "#!" or random.random() < 0.4:
            continue
        if name not in defined:
            attributes = ", ".join(f"{each.name} {each.type.value}" for each in schema.attributes)
            head.append(f"@channel define stream {name} ({attributes});\n")
        elif isinstance(defined[name], ast.StreamDefinition):
            text = text.replace(f"define stream {name} (", f"@channel define stream {name} (")
    before, playback, behind = text.rpartition("@app:playback\n")
    return before + playback + "".join(head) + behind


# --- logs
# ------------------------------------------------------------------------------------------


def plain(log: Sequence[LogEntry], plan: AppPlan) -> list[EncodedEntry]:
    """The log as it stands."""
    schemas = plan.checked.streams
    return [EncodedEntry(each.position, encode_record(each.record, schemas)) for each in log]


def equivalent(log: Sequence[LogEntry], plan: AppPlan, random: Random) -> list[EncodedEntry]:
    """The log with bundles in place of some of its records: the same deliveries with the same
    clocks, and the same number of them."""
    seen: set[str] = set()
    entries = plain(log, plan)
    for i, entry in enumerate(log):
        told = _told(entry.record, seen, plan)
        if random.random() < 0.2:
            continue
        clocks = random.random() < 0.7 or not told
        bundle = _bundle(told, entry.record.clock_ms, plan, random, clocks=clocks)
        entries[i] = EncodedEntry(entry.position, encode_bundle(bundle))
    return entries


def in_one(log: Sequence[LogEntry], plan: AppPlan, random: Random) -> list[EncodedEntry]:
    """Of a live app: several records each in one bundle, so that streams stand in turn."""
    entries, at = [], 0
    seen: set[str] = set()
    while at < len(log):
        some = log[at : at + random.choice((1, 2, 3, 6))]
        at += len(some)
        told = [each for entry in some for each in _told(entry.record, seen, plan)]
        last = some[-1]
        bundle = _bundle(told, last.record.clock_ms, plan, random, clocks=True)
        entries.append(EncodedEntry(last.position, encode_bundle(bundle)))
    return entries


def arbitrary(log: Sequence[LogEntry], plan: AppPlan, random: Random) -> list[EncodedEntry]:
    """Bundles that no log says: clocks that move at any delivery, late or not at all."""
    entries = plain(log, plan)
    seen: set[str] = set()
    chunks: list[Told] = []
    for i, entry in enumerate(log):
        if isinstance(entry.record, EventsRecord):
            chunks += _told(entry.record, seen, plan)
        if random.random() < 0.3:
            continue
        clock, moved = entry.record.clock_ms, []
        for record, chunk, _ in chunks:
            at = chunk[-1].timestamp_ms if plan.checked.is_playback and chunk else clock
            clock_ms = random.choice((STAYS, at, at - 100, at - 7, at + 20))
            moved.append((record, chunk if random.random() < 0.8 else (), clock_ms))
        clocks = random.random() < 0.8
        bundle = _bundle(moved, clock, plan, random, clocks=clocks)
        entries[i] = EncodedEntry(entry.position, encode_bundle(bundle))
        chunks = []
    return entries


def _told(record: InputRecord, seen: set[str], plan: AppPlan) -> list[Told]:
    """The deliveries of a record and how it moves the clocks; `seen` are the ids of events."""
    if not isinstance(record, EventsRecord):
        # A tick, which an empty delivery can stand for.
        return [] if plan.checked.is_playback else [(_SILENT, (), record.clock_ms)]
    told: list[Told] = []
    for chunk in record.chunks:
        new = []
        for each in chunk:
            key = f"{record.stream}\0{each.event_id}"
            if each.event_id is None or key not in seen:
                new.append(each)
                seen.add(key) if each.event_id is not None else None
        clock_ms = STAYS
        if not plan.checked.is_playback:
            clock_ms = STAYS if told else record.clock_ms
        elif new and record.has_timestamps:
            clock_ms = new[-1].timestamp_ms
        told.append((record, chunk, clock_ms))
    return told


_SILENT = EventsRecord("S", 0, ())


def _bundle(
    told: Sequence[Told], clock_ms: int, plan: AppPlan, random: Random, *, clocks: bool
) -> Bundle:
    """A part per stream and kind of record, and now and then two."""
    chunks: dict[tuple[str, bool, int], list[Chunk]] = {}
    keys = []
    for record, chunk, _ in told:
        key = record.stream, record.has_timestamps, random.choice((0, 0, 1))
        chunks.setdefault(key, []).append(chunk)
        keys.append(key)
    order = [list(chunks).index(key) for key in keys]
    parts = [_part(*key[:2], some, plan) for key, some in chunks.items()]
    times = np.array([STAYS if each is None else each for *_, each in told], np.int64)
    return Bundle(clock_ms, np.array(order, np.uint16), tuple(parts), times if clocks else None)


def _part(
    stream: str, has_timestamps: bool, chunks: Iterable[Chunk], plan: AppPlan
) -> EventColumns:
    record = EventsRecord(stream, 0, tuple(chunks), has_timestamps)
    part = decode_columns(encode_record(record, plan.checked.streams))
    assert isinstance(part, EventColumns)
    return part


# --- runs
# ------------------------------------------------------------------------------------------


def brought(result: SliceResult, plan: AppPlan) -> list[str]:
    """Rows with their identities, and where those of channels were brought."""
    rows = result.rows
    if not isinstance(rows, RowsOfColumns):
        assert not {row.stream for row in rows} & set(plan.channels)
        return list(map(repr, rows))
    found: list[tuple[Any, str]] = []
    for each in rows.columns:
        assert (each.places is not None) == (each.stream in plan.channels)
        places = [""] * len(each)
        if each.places is not None:
            places = [f" {place}" for place in np.array(each.places).T.tolist()]
        found += [
            (row.id, f"{row!r}{place}") for row, place in zip(each.rows(), places, strict=True)
        ]
    return [text for _, text in sorted(found)]


def without_places(rows: Iterable[str]) -> list[str]:
    """Of rows as `brought` gives them, what a stream's reader sees: neither identity nor place."""
    return [row.partition("stream=")[2].rpartition(")")[0] for row in rows]
