"""The memory of a pattern's kernel: one array of whole numbers, with the tables of the pattern, its
keys, tokens and cells, and what is compared of held events; see kernels.pattern_tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lockstep.columns.column import Longs
from lockstep.patterns.columns import token_kernel as machine
from lockstep.patterns.columns.shape import Shape

_ROOM_MIN = 256
Place = tuple[int, int, int]
"""Slot, offset, and whether that counts from the last."""


@dataclass(frozen=True, slots=True)
class Program:
    """What a pattern is, for the kernel. `stream_of`: the stream of each slot, as a number;
    `compared`: state, then what is read, and operator of each comparison, by state; `picks`: what
    is read of a match."""

    shape: Shape
    stream_of: Sequence[int]
    compared: Sequence[tuple[int, Place, int]]
    picks: Sequence[Place]
    is_siddhi_5_1: bool

    def tables(self) -> list[tuple[int, Any]]:
        """The tables that never change, with the places in the head where each begins."""
        streams = range(max(self.stream_of) + 1)
        leaves, leaves_of = self.shape.leaves([str(each) for each in streams], self.stream_of)
        states = np.array([state for state, _, _ in self.compared], np.int64)
        slots = np.arange(len(self.stream_of) + 1)
        return [
            (machine.NODE_TABLE, self.shape.node_table(is_siddhi_5_1=self.is_siddhi_5_1)),
            (machine.SPANS, self.shape.span_table()),
            (machine.LEAVES, leaves),
            (machine.LEAVES_OF, leaves_of),
            (machine.STREAM_OF, np.array(self.stream_of, np.int64)),
            (machine.COMPARED, np.array([(*p, op) for _, p, op in self.compared], np.int64)),
            (machine.COMPARED_OF, np.searchsorted(states, slots)),
            (machine.PICKS, np.array(self.picks, np.int64)),
        ]


class PatternMemory:
    """Owns the array (`m`), and makes it larger when there is no more room."""

    def __init__(self, program: Program) -> None:
        shape = program.shape
        self.lists = 3 if shape.is_sequence else 2
        self._nodes, self._slots = len(shape.nodes), len(program.stream_of)
        self._streams = max(program.stream_of) + 1
        self._comparisons = len(program.compared)
        tables = program.tables()
        head = np.zeros(machine.MEMORY, np.int64)
        spans = shape.span_table()
        for field, value in (
            (machine.IS_SEQUENCE, shape.is_sequence),
            (machine.COPIES, (spans[:, 0] > 0).any()),
            (machine.WITHIN, shape.within_ms),
            (machine.LISTS_OF, self.lists),
            (machine.NODES, self._nodes),
            (machine.SLOTS, self._slots),
            (machine.PICKED, len(program.picks)),
            (machine.TOKEN_WIDTH, machine.FIXED + self._slots + self.lists * self._nodes),
            (machine.KEY_WIDTH, machine.LISTS + 3 * self.lists * self._nodes),
            (machine.FREE_TOKEN, -1),
            (machine.FREE_CELL, -1),
            (machine.IS_TIMED, shape.is_timed),
        ):
            head[field] = value
        at = len(head)
        for field, table in tables:
            head[field] = at
            at += table.size
        self._fixed = at
        self.m = np.concatenate([head, *(table.ravel() for _, table in tables)]).astype(np.int64)
        self._room = {"keys": 0, "tokens": 0, "cells": 0, "places": 0}
        self._grow(keys=1, places=1)
        self.held[:, 0, 1] = 1

    # --- tables ----------------------------------------------------------------------------------

    @property
    def tokens(self) -> Any:
        """A row per token."""
        return self._view(machine.TOKENS, self._room["tokens"], int(self.m[machine.TOKEN_WIDTH]))

    @property
    def cells(self) -> Any:
        """A row per cell."""
        return self._view(machine.CELLS, self._room["cells"], machine.CELL_WIDTH)

    @property
    def keys(self) -> Any:
        """A row per key."""
        return self._view(machine.KEYS, self._room["keys"], int(self.m[machine.KEY_WIDTH]))

    @property
    def places(self) -> Any:
        """How many cells hold each place, by stream."""
        return self._view(machine.PLACES, self._streams, self._room["places"])

    @property
    def held(self) -> Any:
        """By comparison and place + 1 (0: of no event), value and nullness."""
        return self._view(machine.HELD, self._comparisons, self._room["places"] + 1, 2)

    def _view(self, field: int, *shape: int) -> Any:
        begin = int(self.m[field])
        return self.m[begin : begin + int(np.prod(shape))].reshape(shape)

    # --- room ------------------------------------------------------------------------------------

    def reserve(self, *, keys: int = 0, places: int = 0, tokens: int = 0, cells: int = 0) -> None:
        """Room for so many keys and places in all, and for so many more tokens and cells."""
        room, wanted = self._room, {}
        if keys > room["keys"]:
            wanted["keys"] = max(keys, 2 * room["keys"])
        if places > room["places"]:
            wanted["places"] = places
        for name, free, count in (
            ("tokens", machine.FREE_TOKENS, tokens),
            ("cells", machine.FREE_CELLS, cells),
        ):
            missing = count - int(self.m[free])
            if missing > 0:
                wanted[name] = room[name] + max(missing, room[name], _ROOM_MIN)
        if wanted:
            self._grow(**wanted)

    def _grow(self, **wanted: int) -> None:
        """Moves everything to a larger array."""
        before = dict(self._room)
        old = (self.keys, self.tokens, self.cells, self.places, self.held) if before["keys"] else ()
        self._room = room = before | wanted
        at = self._fixed
        for field, size in (
            (machine.KEYS, room["keys"] * int(self.m[machine.KEY_WIDTH])),
            (machine.TOKENS, room["tokens"] * int(self.m[machine.TOKEN_WIDTH])),
            (machine.CELLS, room["cells"] * machine.CELL_WIDTH),
            (machine.PLACES, self._streams * room["places"]),
            (machine.HELD, self._comparisons * (room["places"] + 1) * 2),
        ):
            self.m[field] = at
            at += size
        self.m[machine.PLACE_ROOM] = room["places"]
        bigger = np.zeros(at, np.int64)
        bigger[: self._fixed] = self.m[: self._fixed]
        self.m = bigger
        for values, moved in zip(
            old, (self.keys, self.tokens, self.cells, self.places, self.held), strict=False
        ):
            moved[tuple(slice(length) for length in values.shape)] = values
        self.keys[before["keys"] :] = self._key_begins()
        self._free("tokens", machine.LAST, machine.FREE_TOKEN, before["tokens"])
        self._free("cells", machine.BEFORE, machine.FREE_CELL, before["cells"])

    def _free(self, name: str, link: int, first: int, begin: int) -> None:
        """Strings the new rows together, in front of those that were free."""
        new = np.arange(begin, self._room[name], dtype=np.int64)
        if not len(new):
            return
        column = getattr(self, name)[:, link]
        column[begin:-1] = new[1:]
        column[-1] = self.m[first]
        self.m[first] = begin
        self.m[first + 1] += len(new)

    def _key_begins(self) -> Longs:
        row = np.full(int(self.m[machine.KEY_WIDTH]), -1, np.int64)
        row[machine.LISTS + 2 :: 3] = 0
        row[machine.BEGUN] = row[machine.CREATED] = row[machine.LIVED] = row[machine.PASSED] = 0
        row[machine.DUE : machine.DUE + 2] = machine.NONE
        row[machine.OLDEST] = row[machine.LATE] = machine.FAR
        row[machine.NEWEST] = row[machine.YOUNGEST] = -machine.FAR
        return row
