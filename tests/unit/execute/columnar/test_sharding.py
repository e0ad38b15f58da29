"""Which apps are cut by key, which are not and why, and whose keys are whose."""

from __future__ import annotations

import numpy as np
import pytest

from lockstep.columns.keys import KeySpace
from lockstep.execute.columnar import ColumnarExecutor, Shard
from lockstep.execute.columnar.folding import Exported
from lockstep.execute.columnar.joined_shards import joined_rows
from lockstep.execute.columnar.sharding import NotSharded, roles_of
from lockstep.plan import build
from lockstep.siddhiql import check

STREAMS = "define stream S (s string, v int); define stream R (s string, v int);\n"
KEYED = "partition with (s of S) begin from S select s, sum(v) as t insert into O; end;"


def roles(text: str) -> object:
    """How the app is cut."""
    return roles_of(ColumnarExecutor(build(check(STREAMS + text))).lowering.units)


@pytest.mark.parametrize(
    "text",
    [
        KEYED,
        KEYED + "from O[t > 3L] select s insert into Behind;",
        KEYED + "from S#window.length(3) select sum(v) as t insert into Beside;",
        "from R[v > 0] select s, v insert into P;"
        " partition with (s of P) begin from P select s, sum(v) as t insert into O; end;",
    ],
)
def test_what_is_cut(text: str) -> None:
    """State by key, whatever stands before it, behind it without state, or beside it."""
    roles(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("from S select s insert into O;", "no value partition"),
        (KEYED + "from O select sum(t) as t insert into All;", "state over the keys"),
        (
            KEYED
            + "partition with (t of O) begin from O select s, count() as c insert into X; end;",
            "come out of a partition",
        ),
        (KEYED + "from S#window.time(1 sec) select v insert expired events into X;", "timers"),
    ],
)
def test_what_stays_whole(text: str, why: str) -> None:
    """With its reason."""
    with pytest.raises(NotSharded, match=why):
        roles(text)


def test_every_key_has_one_owner() -> None:
    """However many shards; and it is the same in every process."""
    keys = [f"key {i}" for i in range(1000)]
    for count in (1, 2, 5):
        owners = [sum(Shard(i, count).owns(key) for i in range(count)) for key in keys]
        assert set(owners) == {1}
    assert [key for key in ("a", "b", "c", "d") if Shard(0, 2).owns(key)] == ["d"]


def test_foreign_keys_stay_apart() -> None:
    """Runs of different foreign keys are different parts of a chunk; equal ones are one."""
    space, codes = KeySpace(), np.array([0, 1, 2, 3, 1, 4])
    own = Shard(0, 2).assign(space, codes, ["a", "b", "c", "d", "a"])
    assert space.keys == ["d"]
    assert own.tolist() == [-1, -2, -3, 0, -2, -1]


def test_no_rows_join_to_none() -> None:
    """A quiet slice."""
    nothing: list[list[Exported]] = [[], []]
    assert joined_rows(nothing) == ()
