"""Partitions in columns: chunks are cut where the key changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lockstep.columns.column import from_values
from lockstep.columns.order import places_of
from lockstep.columns.realms import Defaults, Realms
from lockstep.columns.rule import routed
from lockstep.columns.shards import Shard
from lockstep.columns.units import States
from lockstep.partitions.columns import Condition, Ranges, Router
from lockstep.streams.rule import RUNNING
from tests.unit.columns.flows import STRING, chunks, moves
from tests.unit.side_by_side import Step, played, reasons

S = "define stream S (s string, d double); define stream R (s string, d double); "
STEPS: list[Step] = [
    (100, "S", [["a", 1.0], ["a", 1e10], [None, 1.0], ["b", 1.0]]),
    (200, "R", [["b", 1.0], ["c", None]]),
    (300, "S", [["c", -0.0], ["a", 0.0], [None, None]]),
]


def router() -> Router:
    """Over the texts of a stream, at place 4."""
    realms = Realms(Defaults({}, {"p": {"query/q/selector": "fresh"}}), "p")
    return Router("p", 4, "S", lambda frame: frame.column(0, 0), realms)


def test_parts_of_chunks() -> None:
    """One per run of a key, below the partition's place; chunks are not joined; null is dropped."""
    stream = chunks([0, 0, 0], [0, 0], [0])
    texts = from_values(STRING, ["a", "a", "b", "b", None, None])
    unit = router()
    made = unit.run({"S": replace(stream, columns=(texts,))}, moves(stream)).chunks
    assert made.columns[0].to_pylist() == ["a", "a", "b", "b"]
    assert made.starts.tolist() == [0, 2, 3, 4]
    assert made.keys is not None
    assert made.keys.tolist() == [0, 1, 1]
    assert places_of(made.order) == [(4, 0), (4, 1), (4, 2)]
    assert made.now.tolist() == [100, 100, 200]
    assert unit.writes == routed("p", "S") == "p/S"


def test_ranges() -> None:
    """An event goes to each range that it is in, one after the other, or to none; instances are
    numbered as they appear."""
    stream = chunks([0, 0, 0], [0])
    texts = from_values(STRING, ["b", None, "a", "c"])
    realms = Realms(Defaults({}, {"p": {}}), "p")

    def among(*words: str) -> Condition:
        return lambda frame: np.isin(np.array(frame.column(0, 0).to_pylist(), object), words)

    ranges = Ranges([among("a"), among("a", "b"), among("c", "b")], ["one", "two", "three"])
    unit = Router("p", 4, "S", ranges, realms)
    made = unit.run({"S": replace(stream, columns=(texts,))}, moves(stream)).chunks
    assert made.columns[0].to_pylist() == ["b", "b", "a", "a", "c"]
    assert made.starts.tolist() == [0, 1, 2, 3, 4, 5]
    assert realms.keys.keys == ["two", "three", "one"]
    assert made.keys is not None
    assert made.keys.tolist() == [0, 1, 2, 0, 1]
    assert made.now.tolist() == [100, 100, 100, 100, 200]


def test_all_keys_null() -> None:
    """Nothing goes on, and no instance is made."""
    unit, stream = router(), chunks([0], [0])
    made = unit.run(
        {"S": replace(stream, columns=(from_values(STRING, [None, None]),))}, moves(stream)
    ).chunks
    assert (len(made), made.count) == (0, 0)
    states = States({})
    unit.store(states)
    assert states.operators == {"partition/p/instances": []}


def test_a_shard_has_its_own_keys_only() -> None:
    """The others' parts keep their places, so that those of all shards compare."""
    stream = chunks([0, 0, 0, 0])
    texts = from_values(STRING, ["a", "d", "b", "d"])
    whole, owned = router(), []
    states = States({})
    for index in range(2):
        unit = router()
        unit.shard = Shard(index, 2)
        made = unit.run({"S": replace(stream, columns=(texts,))}, moves(stream)).chunks
        owned.append((made.columns[0].to_pylist(), [place[1] for place in places_of(made.order)]))
    assert owned == [(["d", "d"], [1, 3]), (["a", "b"], [0, 2])]
    whole.run({"S": replace(stream, columns=(texts,))}, moves(stream))
    whole.store(states)
    assert states.operators["partition/p/instances"] == [("a", 0), ("d", 0), ("b", 0)]
    assert states.operators["partition/p/d/query/q/selector"] == "fresh"
    again = router()
    again.shard = Shard(1, 2)
    again.load(states)
    assert again._realms.keys.keys == ["a", "b"]


@pytest.mark.parametrize("key", ["s of S, s of R", "d of S, d of R"])
def test_instances_count_for_themselves(key: str) -> None:
    """Streams that share a key share its instance; numbers are keys as Java writes them."""
    text = (
        f"{S}partition with ({key}) begin from S select s, d, count() as n insert into #I;"
        " from #I select s, d, n, sum(d) as t insert into O;"
        " from R select s, d, sum(d) as n, 0.0 as t insert into O2; end;"
    )
    counts = [
        (row[0], row[2]) for chunk in played(text, *STEPS, rule=RUNNING.name) for row in chunk
    ]
    assert (
        counts
        == {
            "s of S, s of R": [("a", 2), ("b", 1), ("c", 1), ("a", 3)],
            "d of S, d of R": [("a", 1), ("a", 1), ("b", 3), ("c", 1), ("a", 1)],
        }[key]
    )


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (
            "@purge(enable='true', interval='1 sec', idle.period='1 sec') partition with (s of S)",
            "purged",
        ),
        ("partition with (str:upper(s) of S)", "a partition key that calls functions"),
    ],
)
def test_what_has_no_columnar_form_says_why(head: str, reason: str) -> None:
    """Its queries stay on the reference."""
    text = f"{S}{head} begin from S select s insert into O; end; from S select s insert into P;"
    assert reason in reasons(text)[0]
