"""The partial matches of a pattern: slices are played by its kernel, and single tokens are read and
made for snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lockstep.columns.column import Longs, Suspected, Unfit
from lockstep.columns.moves import Moves
from lockstep.operators.limits import limits
from lockstep.patterns.columns import firing_kernel as firings
from lockstep.patterns.columns import kernel as patterns
from lockstep.patterns.columns import token_kernel as machine
from lockstep.patterns.columns.memory import PatternMemory, Program
from lockstep.windows.batches import grown_lines
from lockstep.windows.timers import Timers

_ROOM_MIN = 256


@dataclass(frozen=True, eq=False)
class Matches:
    """Per match: the picked events, the completing one (-1 - firing for what a timer brings), a
    number that those share which leave together, and its time. Per firing: moment, due time,
    clock, key, and place among those due at once."""

    refs: Any
    completing: Longs
    groups: Longs
    times: Longs
    fired: Any


class Slice:
    """What is played, and what comes of it, in one array (`x`).

    events       key, time, stream, a bit per slot whose own condition is fulfilled, clock, moment
    own, other   by comparison value and nullness of the event, and of what is compared with it
    """

    def __init__(self, count: int, comparisons: int, picks: int, gone: int) -> None:
        self._width, self._gone = machine.MATCH_WIDTH + picks, gone
        self._kept = machine.EVENTS + (machine.EVENT_WIDTH + 4 * comparisons) * count
        self.x = np.zeros(0, np.int64)
        self._count, self._comparisons = count, comparisons
        self._lay_out(count + _ROOM_MIN, count + _ROOM_MIN, _ROOM_MIN)
        self.x[machine.EVENTS : self._kept] = 0
        begin = machine.EVENTS
        width = machine.EVENT_WIDTH * count
        self.events = self.x[begin : begin + width].reshape(machine.EVENT_WIDTH, count)
        begin += width
        shape = (comparisons, count, 2)
        self.own = self.x[begin : begin + 2 * comparisons * count].reshape(shape)
        begin += 2 * comparisons * count
        self.other = self.x[begin : begin + 2 * comparisons * count].reshape(shape)

    def _lay_out(self, room: int, log: int, asked: int) -> None:
        """A new array with room for so many matches, new cells, and requests at once."""
        count, comparisons = self._count, self._comparisons
        size = self._kept + self._width * room + 2 * self._gone + log + 3 * asked
        x = np.empty(size, np.int64)
        x[: min(self._kept, len(self.x))] = self.x[: self._kept]
        x[machine.COUNT_OF], x[machine.ROOM], x[machine.LOG_ROOM] = count, room, log
        x[machine.ASKED_ROOM] = asked
        x[machine.OWN_AT] = machine.EVENTS + machine.EVENT_WIDTH * count
        x[machine.OTHER_AT] = x[machine.OWN_AT] + 2 * comparisons * count
        x[machine.FOUND_AT] = self._kept
        x[machine.GONE_AT] = self._kept + self._width * room
        x[machine.LOG_AT] = x[machine.GONE_AT] + 2 * self._gone
        x[machine.ASKED_AT] = x[machine.LOG_AT] + log
        self.x = x

    @property
    def found(self) -> Any:
        """Completing events, groups, times, and picks of the matches."""
        room = int(self.x[machine.ROOM])
        return self.x[self._kept : self._kept + self._width * room].reshape(self._width, room)

    def gone(self, count: int) -> Any:
        """(streams, places) of held events that nobody holds any more."""
        begin = int(self.x[machine.GONE_AT])
        return self.x[begin : begin + 2 * count].reshape(count, 2).T

    def log(self, count: int) -> Longs:
        """New cells."""
        begin = int(self.x[machine.LOG_AT])
        found: Longs = self.x[begin : begin + count]
        return found

    def reserve(self, matches: int, cells: int, asked: int, counts: tuple[int, int, int]) -> None:
        """Room for so many matches, new cells, and requests at once; `counts` are those found, gone
        and logged."""
        room, log = int(self.x[machine.ROOM]), int(self.x[machine.LOG_ROOM])
        requests = int(self.x[machine.ASKED_ROOM])
        if matches <= room and cells <= log and asked <= requests:
            return
        found, gone, logged = self.found, self.gone(counts[1]), self.log(counts[2])
        room = room if matches <= room else max(matches, 2 * room)
        log = log if cells <= log else max(cells, 2 * log)
        self._lay_out(room, log, requests if asked <= requests else max(asked, 2 * requests))
        self.found[:, : counts[0]] = found[:, : counts[0]]
        self.gone(counts[1])[:] = gone
        self.log(counts[2])[:] = logged


class PatternMachine:
    """Tokens and cells of all keys; see kernels.patterns."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.memory = PatternMemory(program)
        self.stream_of = np.array(program.stream_of, np.int64)
        self.nodes = program.shape.node_table(is_siddhi_5_1=program.is_siddhi_5_1)
        self.spans = program.shape.span_table()
        self.within_ms = program.shape.within_ms
        self.is_timed = program.shape.is_timed
        self.timers = Timers()
        self._fired_room = 1
        self._slice = self.slice_of(0)

    # --- playing ---------------------------------------------------------------------------------

    def slice_of(self, count: int) -> Slice:
        """Room for so many events to be played."""
        held = int(np.count_nonzero(self.memory.places))
        return Slice(count, len(self.program.compared), len(self.program.picks), held)

    def play(self, events: Slice, moves: Moves) -> Matches:
        """Plays a slice; what it bound (`bound_here`) has to be held, what is `gone` given back.
        Unfit, where a timer asks for one that should have fired before it."""
        self._slice = events
        memory, m = self.memory, machine
        memory.m[m.FOUND : m.NOW] = 0
        clock = np.array([moves.moments, moves.clock], np.int64)
        state = np.array([0, moves.before, moves.leaps, 0], np.int64)
        fired = np.zeros((self._fired_room, firings.FIRED_WIDTH), np.int64)
        while True:
            heap = self.timers.heap
            queue = np.empty((4, len(heap)), np.int64)
            timers = (heap, self.timers.counts, queue, fired)
            if patterns.play(memory.m, events.x, clock, state, *timers):
                break
            found, gone, logged = memory.m[m.FOUND : m.LOGGED + 1].tolist()
            tokens, cells, matches, asked = memory.m[m.NEED_TOKENS : m.NOW].tolist()
            memory.reserve(tokens=tokens, cells=cells)
            events.reserve(found + matches, logged + cells, asked, (found, gone, logged))
            self.timers.reserve(asked)
            # As many keys may fire as there are timers.
            if len(fired) - int(memory.m[m.FIRED]) < len(heap):
                fired = grown_lines(fired, 2 * len(fired) + len(heap))
        if memory.m[m.ASKED_LATE]:
            raise Unfit("a pattern waits for a time that was over when it asked")
        self._fired_room = max(len(fired) // 2, 1) if self.is_timed else 1
        found, fires = int(memory.m[m.FOUND]), int(memory.m[m.FIRED])
        completing, groups, times, *_ = rows = events.found[:, :found]
        return Matches(rows[m.MATCH_WIDTH :], completing, groups, times, fired[:fires])

    def bound_here(self) -> Longs:
        """The cells that hold events of the slice just played. Suspected, if there are too many of
        one count."""
        log = np.unique(self._slice.log(int(self.memory.m[machine.LOGGED])))
        cells = self.memory.cells[log]
        if len(cells) and int(cells[:, machine.LENGTH].max()) > limits().group_rows:
            raise Suspected("a count of a pattern collects many events")
        found: Longs = log[(cells[:, machine.OWNERS] > 0) & (cells[:, machine.EVENT] >= 0)]
        return found

    def gone(self) -> Any:
        """(streams, places) of held events that nobody holds any more, since `play` or `tidy`."""
        return self._slice.gone(int(self.memory.m[machine.GONE]))

    # --- snapshots -------------------------------------------------------------------------------

    def start(self, now_ms: int) -> None:
        """The app starts: what waits from the beginning waits from now."""
        self.memory.m[machine.NOW] = now_ms
        self.tidy(1, opens=True)

    def tidy(self, keys: int, *, opens: bool) -> None:
        """No token is there that is over, and every key has begun if this `opens` them; `gone`
        tells what that frees."""
        room = 2 * keys + firings.SPARE
        self.memory.reserve(keys=keys, tokens=room)
        self.memory.m[machine.FOUND : machine.NOW] = 0
        self._slice = self.slice_of(0)
        self._slice.reserve(0, 0, 4 * room, (0, 0, 0))
        self.timers.reserve(4 * room)
        timers = (self.timers.heap, self.timers.counts)
        patterns.tidy(self.memory.m, self._slice.x, keys, opens, *timers)

    def waiting(self, key: int, node: int) -> list[int]:
        """The tokens that wait at a node, oldest first."""
        found: list[int] = patterns.waiting(self.memory.m, key, node, machine.PENDING).tolist()
        return found

    def bound(self, token: int, slot: int) -> list[int]:
        """The places of the held events that a token has bound in a slot, in order."""
        places = []
        cells = self.memory.cells
        cell = int(self.memory.tokens[token, machine.FIXED + slot])
        while cell != -1:
            places.append(-2 - int(cells[cell, machine.EVENT]))
            cell = int(cells[cell, machine.BEFORE])
        return places[::-1]

    def new_token(self) -> int:
        """A token with all fields unset, in no list."""
        self.memory.reserve(tokens=1)
        m, tokens = self.memory.m, self.memory.tokens
        token = int(m[machine.FREE_TOKEN])
        m[machine.FREE_TOKEN] = tokens[token, machine.LAST]
        m[machine.FREE_TOKENS] -= 1
        tokens[token] = -1
        tokens[token, machine.LINKS] = 0
        tokens[token, machine.ALIVE] = 1
        return token

    def bind(self, token: int, slot: int, place: int) -> None:
        """A held event comes behind what the token has bound in a slot."""
        self.memory.reserve(cells=1)
        m, cells, tokens = self.memory.m, self.memory.cells, self.memory.tokens
        cell = int(m[machine.FREE_CELL])
        m[machine.FREE_CELL] = cells[cell, machine.BEFORE]
        m[machine.FREE_CELLS] -= 1
        before = int(tokens[token, machine.FIXED + slot])
        head, length = (cell, 0) if before == -1 else cells[before, machine.HEAD :][:2].tolist()
        cells[cell] = (-2 - place, before, head, length + 1, 1)
        tokens[token, machine.FIXED + slot] = cell
        self.memory.places[self.stream_of[slot], place] += 1

    def append(self, key: int, token: int, node: int) -> None:
        """The token waits at a node, behind the others."""
        machine.append(self.memory.m, key, token, node, machine.PENDING)
