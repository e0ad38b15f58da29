"""What the shards of an app bring, as one: rows in the reference's order, and one snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lockstep.columns.column import Index
from lockstep.columns.order import Order, merged
from lockstep.events.outputs import OutputColumns
from lockstep.execute.columnar.folding import Exported, identities, numbered
from lockstep.operators import state

_TIMERS = ("app_timers", "wall_timers")


def joined_rows(shards: Sequence[Sequence[Exported]]) -> tuple[OutputColumns, ...]:
    """The rows of all shards, with the identities that they have together."""
    parts = [each for exported in shards for each in exported if len(each.columns)]
    if not parts:
        return ()
    lengths = np.concatenate([part.lengths for part in parts])
    positions = np.concatenate([_chunk_positions(part) for part in parts])
    arranged = _arranged([part.order for part in parts])
    ordinals, _ = identities(positions, lengths, arranged)
    ends = np.cumsum([len(part.columns) for part in parts])
    split = np.split(ordinals, ends[:-1])
    found = [replace(part.columns, ordinals=own) for part, own in zip(parts, split, strict=True)]
    if any(each.places is not None for each in found):
        _number_chunks(parts, found, positions, arranged)
    return tuple(found)


def _number_chunks(
    parts: Sequence[Exported], found: list[OutputColumns], positions: Any, arranged: Index
) -> None:
    """The chunks of channels, too, have numbers that they have together."""
    counts = [len(part.lengths) for part in parts]
    is_channel = np.repeat([each.places is not None for each in found], counts)
    split = np.split(numbered(positions, is_channel, arranged), np.cumsum(counts)[:-1])
    for i, (part, numbers) in enumerate(zip(parts, split, strict=True)):
        places = found[i].places
        if places is not None:
            together = places._replace(chunks=np.repeat(numbers, part.lengths))
            found[i] = replace(found[i], places=together)


def _chunk_positions(part: Exported) -> Any:
    starts = np.cumsum(part.lengths) - part.lengths
    return part.columns.positions[starts]


def _arranged(orders: Sequence[Order]) -> Index:
    """The permutation that brings the chunks of several parts, one behind the other, in order."""
    moments = np.concatenate([order.moments for order in orders])
    arranged = np.argsort(moments, kind="stable")
    owner = np.repeat(np.arange(len(orders)), [len(order) for order in orders])[arranged]
    sorted_moments = moments[arranged]
    ties = (sorted_moments[1:] == sorted_moments[:-1]) & (owner[1:] != owner[:-1])
    # Within a part chunks stand in order, so only a moment that two parts have needs a closer look.
    return merged(orders) if ties.any() else arranged


def joined_snapshots(snapshots: Sequence[state.Bytes]) -> bytes:
    """One snapshot of an app from those of its shards, the first shard's first: as one executor of
    the whole app would have made it, but for the order of instances. Raises SnapshotError."""
    if len(snapshots) == 1:
        return bytes(snapshots[0])
    position, body = state.unseal(snapshots[0], keep_packed=True)
    engine = body["engine"]
    operators = dict(engine["operators"])
    for snapshot in snapshots[1:]:
        _, other = state.unseal(snapshot, keep_packed=True)
        for path, own in other["engine"]["operators"]:
            if not path.startswith("partition/"):
                continue
            if path.endswith("/instances") and path.count("/") == 2:
                operators[path] = [*operators[path], *own]
            else:
                operators.setdefault(path, own)
        for queue in _TIMERS:
            engine[queue] += [
                timer for timer in other["engine"][queue] if timer[2].startswith("partition/")
            ]
    engine["operators"] = list(operators.items())
    _number(engine)
    return state.seal(position, body)


def _number(engine: dict[str, Any]) -> None:
    """Timers of several shards have the same numbers: they get new ones in their common order."""
    timers = [timer for queue in _TIMERS for timer in engine[queue]]
    timers.sort(key=lambda timer: (timer[0], timer[1]))
    for number, timer in enumerate(timers):
        timer[1] = number + 1
    engine["sequence"] = len(timers)
