"""Kernels that put the deliveries of many records into their order."""

from __future__ import annotations

from typing import Any, NamedTuple

from lockstep.columns.compiled import lent


class Merged(NamedTuple):
    """Deliveries at `places`, the clock in front of each, and `at`: which of them are events."""

    places: Any
    clocks: Any
    at: Any


class Settled(NamedTuple):
    """Of each delivery that stays: its moment, its source, its number there, and the clock in front
    of it."""

    moments: Any
    sources: Any
    numbers: Any
    clocks: Any


class Walked(NamedTuple):
    """Of deliveries: their moments and the clock there; of moves: their moments, and what to."""

    moments: Any
    now: Any
    move_moments: Any
    move_clocks: Any


@lent
def merge(
    own: Any, moving: Any, clocks: Any, follows: bool, now: Any, stays: Any, merged: Any
) -> int:
    """Events at the places `own` and moves of the clock at `moving`, each in order, as one; a move
    and an event at one place are one delivery. `clocks`: by place. `follows`: each delivery moves
    the clock on to what it is there, from `now` on. How many there are."""
    i, j, n = 0, 0, 0
    events, moves = len(own), len(moving)
    while i < events or j < moves:
        is_event = i < events and (j == moves or own[i] <= moving[j])
        place = own[i] if is_event else moving[j]
        merged.places[n] = place
        merged.clocks[n] = stays
        is_move = j < moves and moving[j] == place
        if clocks[place] > now if follows else is_move:
            merged.clocks[n] = now = clocks[place]
        if is_move:
            j += 1
        if is_event:
            merged.at[i] = n
            i += 1
        n += 1
    return n


@lent
def settle(
    order: Any, moments: Any, sources: Any, begins: Any, is_own: Any, clocks: Any, follows: bool,
    now: Any, stays: Any, settled: Any,
) -> int:  # fmt: skip
    """Deliveries in their `order`, where a move of the clock, which is of source 0, goes with the
    own event that it stands in front of. `begins`: where each source begins among the `moments`;
    `is_own`: of which sources that is so; `clocks`: by place; `follows`, `now`: as above. How many
    stay."""
    n, total = 0, len(order)
    given = stays
    for k in range(total):
        at = order[k]
        moment, source = moments[at], sources[at]
        clock = clocks[moment >> 1]
        if follows:
            given = clock if clock > now else stays
            now = max(now, clock)
        elif source == 0:
            given = clock
            if k + 1 < total:
                behind = order[k + 1]
                if is_own[sources[behind]] and moments[behind] == moment + 1:
                    continue
        settled.moments[n] = moment
        settled.sources[n] = source
        settled.numbers[n] = at - begins[source]
        settled.clocks[n] = given
        given = stays
        n += 1
    return n


@lent
def walk(counts: Any, firsts: Any, clocks: Any, now: Any, stays: Any, walked: Any) -> int:
    """The deliveries of records of which each has so many (`counts`) and a first moment, as the
    clock moves on in front of them. How many moves there are."""
    moves, n = 0, 0
    for record in range(len(counts)):
        moment = firsts[record] + 2
        for _ in range(counts[record]):
            if clocks[n] != stays:
                now = max(now, clocks[n])
                walked.move_moments[moves], walked.move_clocks[moves] = moment, now
                moves += 1
            walked.moments[n], walked.now[n] = moment, now
            moment += 2
            n += 1
    return moves
