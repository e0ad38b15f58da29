"""What units for patterns share: which states an event may fill by itself, and the rows of
matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lockstep.columns.arithmetic import joined
from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Longs, Mask, from_values
from lockstep.columns.frame import Rows
from lockstep.columns.held import HeldRows
from lockstep.columns.output import Output
from lockstep.columns.played import Played
from lockstep.selection.columns import SelectorOperator
from lockstep.siddhiql.checked import CheckedState
from lockstep.streams.columns import Condition


@dataclass(frozen=True, slots=True)
class State:
    """A state: its stream, and the conditions on the event alone."""

    checked: CheckedState
    stream: str
    own: Sequence[Condition]


def eligible(states: Sequence[State], inputs: Mapping[str, Chunks], played: Played) -> Longs:
    """By event a bit for each slot whose own conditions it fulfils."""
    found = np.zeros(len(played), np.int64)
    for state in states:
        if state.stream not in inputs:
            continue
        events, rows = played.of(inputs[state.stream])
        mask = np.ones(len(rows), np.bool_)
        frame = inputs[state.stream].rows()
        for condition in state.own:
            mask &= condition(frame)[rows]
        found[events] |= mask.astype(np.int64) << state.checked.slot
    return found


def bound_column(
    state: State,
    held: HeldRows,
    attribute: int,
    refs: Longs,
    inputs: Mapping[str, Chunks],
    played: Played,
) -> Column:
    """An attribute of what matches have bound: of events of this slice (refs >= 0), of held ones
    (-2 - place), or of none (-1)."""
    if not len(refs):
        return from_values(state.checked.stream.schema.types[attribute], [])
    here = refs >= 0
    all_here = bool(here.all())
    if all_here or here.any():
        column = inputs[state.stream].columns[attribute]
        own = column.take(played.row[np.maximum(refs, 0)] if not all_here else played.row[refs])
        if all_here:
            return own
    kept = held.column(attribute, np.where(here, 0, -refs - 2))
    return joined(own, kept, here) if here.any() else kept


def selected(
    selector: SelectorOperator,
    frame: Rows,
    played: Played,
    completing: Longs,
    starts_new: Mask,
    keys: Longs | None,
) -> Output:
    """The rows of matches; those up to the next that `starts_new` are one chunk. `keys` tells the
    partition instance of each event, inside a partition."""
    firsts = np.flatnonzero(starts_new)
    starts = np.append(firsts, len(completing)).astype(np.int64)
    of_chunk = played.chunk_of[completing[firsts]]
    order = played.order.take(of_chunk).below(np.arange(len(firsts), dtype=np.int64))
    realm = None if keys is None else keys[completing]
    of_group = None if realm is None else realm[firsts]
    shell = Chunks((), frame.times(), starts, order, played.now[of_chunk], of_group)
    return selector.run_each(frame, shell, realm)
