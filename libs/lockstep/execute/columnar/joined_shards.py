"""What the shards of an app bring, as one: rows in the reference's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lockstep.columns.column import Index
from lockstep.columns.merging import merged
from lockstep.columns.order import Order
from lockstep.events.outputs import OutputColumns
from lockstep.execute.columnar.folding import Exported, identities, numbered


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
