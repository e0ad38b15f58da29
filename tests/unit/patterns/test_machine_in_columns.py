"""The memory of a pattern's kernel: tables of the pattern, tokens and cells that are used again."""

from __future__ import annotations

import numpy as np

from lockstep.columns.arithmetic import ordered
from lockstep.columns.bound import Bound
from lockstep.columns.column import Column
from lockstep.columns.moves import Moves
from lockstep.columns.pool import StringPool
from lockstep.events import AttributeType
from lockstep.patterns.columns import token_kernel as machine
from lockstep.patterns.columns.comparing import Compared
from lockstep.patterns.columns.kernel import waiting
from lockstep.patterns.columns.machine import PatternMachine, Slice
from lockstep.patterns.columns.memory import PatternMemory, Program
from lockstep.patterns.columns.shape import Shape
from lockstep.patterns.conditions import Comparison
from lockstep.plan import QueryNode, plan_of
from lockstep.siddhiql.checked import CheckedPattern

NONE = np.zeros(0, np.int64)
STANDING = Moves(NONE, NONE, leaps=False, before=0)
STREAMS = "define stream S (s string, i int); define stream R (s string, i int); "


def shape(pattern: str) -> Shape:
    """That of a pattern whose last state is e9."""
    (node,) = plan_of(f"{STREAMS}from {pattern} select 1 as n insert into O;").nodes
    assert isinstance(node, QueryNode)
    assert isinstance(node.query.input, CheckedPattern)
    return Shape(node.query.input)


def program(pattern: str, *streams: int) -> Program:
    """Of a pattern that compares nothing and reads its first event."""
    return Program(shape(pattern), streams, [], [(0, 0, 1)], is_siddhi_5_1=False)


def fed(tokens: PatternMachine, *events: tuple[int, int]) -> list[tuple[int, int]]:
    """(completing event, event bound first) of the matches of events (time, stream); all fulfil
    the conditions of all states."""
    slice_ = tokens.slice_of(len(events))
    for i, (time, stream) in enumerate(events):
        slice_.events[:4, i] = 0, time, stream, (1 << len(tokens.stream_of)) - 1
    found = tokens.play(slice_, STANDING)
    return list(zip(found.completing.tolist(), found.refs[0].tolist(), strict=True))


def test_nodes_of_a_pattern() -> None:
    """What each state is and how many events it takes."""
    table = shape("every e1=S<2:> -> e2=R and e3=S -> e4=R").node_table(is_siddhi_5_1=False)
    assert table[:, machine.KIND].tolist() == [machine.COUNT, machine.LOGICAL, machine.STREAM]
    assert table[:, machine.SLOT].tolist() == [0, 1, 3]
    assert table[0, [machine.MINIMUM, machine.MAXIMUM]].tolist() == [2, -1]
    assert table[:, machine.OPENS].tolist() == [0, -1, -1]
    assert table[:, machine.CLOSES].tolist() == [0, -1, -1]
    assert table[:, machine.IS_AND].tolist() == [0, 1, 0]


def test_states_of_a_stream() -> None:
    """The later ones first; of a logical state the left side first."""
    made = shape("e1=S -> e2=S and e3=R -> e4=S")
    leaves, starts = made.leaves(["S", "R"], [0, 0, 1, 0])
    assert leaves.tolist() == [[2, 0], [1, 0], [0, 0], [1, 1]]
    assert starts.tolist() == [0, 3, 4]


def test_waits_of_nodes() -> None:
    """For how long what must not come, and whether one waits before anything has come."""
    made = shape("e1=S -> not R for 1 sec and not S for 2 sec")
    table = made.node_table(is_siddhi_5_1=False)
    assert table[:, machine.WAIT : machine.WAIT + 2].tolist() == [[-1, -1], [1000, 2000]]
    assert made.is_timed
    assert not made.waits_from_start
    assert shape("not R for 1 sec -> e1=S").waits_from_start
    assert shape("e1=S<0:2> -> not R for 1 sec").waits_from_start


def test_matches_of_one_slice() -> None:
    """Every S waits for the next R; a match ends it."""
    tokens = PatternMachine(program("every e1=S -> e2=R", 0, 1))
    assert fed(tokens, (10, 0), (20, 0), (30, 1), (40, 1), (50, 0)) == [(2, 0), (2, 1)]


def test_thousands_of_tokens_and_matches_in_one_slice() -> None:
    """Room is made in the midst, and nothing is lost or found twice."""
    tokens = PatternMachine(program("every e1=S -> e2=R", 0, 1))
    events = [(n, 0) for n in range(3000)] + [(3000, 1)]
    assert fed(tokens, *events) == [(3000, n) for n in range(3000)]
    free = int(tokens.memory.m[machine.FREE_TOKENS])
    assert fed(tokens, *[(4000 + n, 0) for n in range(500)], (5000, 1))[-1] == (500, 499)
    assert int(tokens.memory.m[machine.FREE_TOKENS]) == free


def test_within_is_told_from_the_first_event() -> None:
    """Up to the time itself a match is in time."""
    tokens = PatternMachine(program("every e1=S -> e2=R within 100 millisec", 0, 1))
    assert fed(tokens, (0, 0), (50, 0), (100, 1)) == [(2, 0), (2, 1)]
    assert fed(tokens, (200, 0), (250, 0), (301, 1)) == [(2, 1)]


def test_memory_grows_in_place() -> None:
    """What a key, a token or a held event has stays its own; the fresh ones are as at first."""
    memory = PatternMemory(program("every e1=S -> e2=R", 0, 1))
    memory.reserve(keys=3, places=4, tokens=10, cells=10)
    memory.keys[2, machine.NEWEST] = 77
    memory.tokens[5, machine.WHERE] = 88
    memory.places[1, 3] = 99
    fresh = memory.keys[1].tolist()
    free = int(memory.m[machine.FREE_TOKENS])
    memory.reserve(keys=50, places=100, tokens=free + 1, cells=5000)
    assert memory.keys[2, machine.NEWEST] == 77
    assert memory.tokens[5, machine.WHERE] == 88
    assert memory.places[1, 3] == 99
    assert memory.places.sum() == 99
    assert memory.keys[49].tolist() == memory.keys[1].tolist() == fresh
    assert int(memory.m[machine.FREE_TOKENS]) > free
    assert int(memory.m[machine.FREE_CELLS]) >= 5000


def test_a_slice_keeps_its_events_when_it_needs_room() -> None:
    """And the matches that it has found so far."""
    slice_ = Slice(3, 1, 2, 1)
    slice_.events[:] = np.arange(18).reshape(6, 3)
    slice_.own[0, :, 0] = 5
    slice_.found[:, 0] = 7
    slice_.gone(1)[:] = 8
    slice_.log(1)[:] = 9
    slice_.reserve(10_000, 10_000, 10_000, (1, 1, 1))
    assert slice_.x[machine.EVENTS : machine.EVENTS + 18].tolist() == list(range(18))
    assert slice_.found[:, 0].tolist() == [7] * 5
    assert slice_.gone(1).tolist() == [[8], [8]]
    assert slice_.log(1).tolist() == [9]
    assert slice_.found.shape[1] >= 10_000
    assert slice_.x[machine.ASKED_ROOM] >= 10_000


def test_tokens_from_a_snapshot() -> None:
    """They wait where they waited, in order, with what they had bound."""
    tokens = PatternMachine(program("every e1=S<2:> -> e2=R", 0, 1))
    tokens.memory.reserve(keys=2, places=10)
    first, second = tokens.new_token(), tokens.new_token()
    for place in (4, 7):
        tokens.bind(second, 0, place)
    tokens.append(1, second, 0)
    tokens.append(1, first, 0)
    assert tokens.waiting(1, 0) == [second, first]
    assert waiting(tokens.memory.m, 0, 0, machine.PENDING).tolist() == []
    assert (tokens.bound(second, 0), tokens.bound(first, 0)) == ([4, 7], [])
    assert tokens.memory.places[0].tolist() == [0, 0, 0, 0, 1, 0, 0, 1, 0, 0]


def test_floating_numbers_as_whole_ones() -> None:
    """In the same order; both zeros are one."""
    values = np.array([-np.inf, -1.5, -1e-300, -0.0, 0.0, 1e-300, 1.5, np.inf])
    found = ordered(values)
    assert found[3] == found[4]
    assert (np.diff(np.delete(found, 3)) > 0).all()


def test_what_is_nan_compares_like_null() -> None:
    """All else by whole numbers in its order."""
    column = Column(AttributeType.DOUBLE, np.array([2.0, np.nan, -1.0]))
    comparison = Comparison(
        1, Bound(0), machine.PENDING, lambda _: column, lambda _: column, AttributeType.DOUBLE
    )
    tokens = PatternMachine(program("every e1=S -> e2=R", 0, 1))
    values, nulls = Compared([], tokens, [], [], StringPool())._comparable(column, comparison)
    assert values[2] < values[0]
    assert nulls.tolist() == [False, True, False]
