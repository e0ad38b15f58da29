"""What people and programs are told of an app's groups."""

from __future__ import annotations

from lockstep.plan.fleet import explain_fleet, fleet_as_json
from tests.unit.plan.fleet.apps import fleet

APP = (
    "@info(name='f') from S[v > 0] select k as c, j, v insert into Good;"
    "@info(name='p') partition with (c of Good) begin"
    " from Good select c, j, sum(v) as t insert into T; end;"
    "@info(name='q') from Good select j, count() as n group by j insert into N;"
    "@info(name='all') from T select count() as n insert into M;"
)


def test_each_group_says_what_it_has() -> None:
    """Nodes, keys, channels, what it gives out, and why it is whole."""
    assert explain_fleet(fleet(APP)).splitlines() == [
        "in 3 partitions: 3 groups",
        "  group by_k, 3 partitions: f, p",
        "    reads S from the input, by k, where v > 0",
        "    other groups read T",
        "  group by_j, 3 partitions: f, q",
        "    reads S from the input, by j (null is a key, too), all of a key together",
        "    gives out N",
        "  group main, 1 partition: all",
        "    reads T from group by_k, all of it",
        "    gives out M",
        "    whole, because",
        "      all: it adds up over all keys: there is no 'group by'",
    ]


def test_turns_are_told() -> None:
    """Of @dist."""
    text = "@dist(parallel='2') @info(name='f') from S select k insert into O;"
    assert "each event in one partition, by turns" in explain_fleet(fleet(text, None))


def test_a_stream_that_a_group_reads_and_writes_is_told() -> None:
    """All that begins a loop is sent straight to it."""
    loop = (
        "@info(name='p') partition with (k of R) begin"
        " from R[v > 0] select k, v - 1 as v insert into R; end;"
    )
    assert "    reads R from the input, by k" in explain_fleet(fleet(loop)).splitlines()
    read = "@info(name='q') from R select k, sum(v) as t group by k insert into O;"
    plain = "@info(name='f') from R[v > 0] select k, v - 1 as v insert into R;"
    told = [one.strip() for one in explain_fleet(fleet(plain + read)).splitlines()]
    assert [one for one in told if one.startswith("reads")] == [
        "reads R from the input, all of it",
        "reads R from group main, by k (null is a key, too), all of a key together",
    ]


def test_programs_get_the_same() -> None:
    """With the text of every group."""
    groups = {group["name"]: group for group in fleet_as_json(fleet(APP))["groups"]}
    assert groups["by_k"]["channels"] == ["T"]
    assert groups["by_k"]["feeds"][0]["where"] == "v > 0"
    assert groups["main"]["text"].startswith("@app:name('A')")
