"""Where a query's state stands in the reference's form."""

from __future__ import annotations

from lockstep.columns.realms import Defaults, Realms

DEFAULTS = Defaults({"query/q/selector": "outside"}, {"p": {"query/q/selector": "inside"}})


def test_outside_partitions_there_is_one_place() -> None:
    """Whatever keys there are."""
    alone = Realms(DEFAULTS)
    assert not alone.is_partition
    assert list(alone.paths("q")) == [(0, "query/q")]
    assert alone.fresh("q", "selector") == "outside"
    assert alone.fresh_instances() == {}


def test_each_key_has_its_place() -> None:
    """Also one that looks like a path, and one that is a number."""
    realms = Realms(DEFAULTS, "p")
    assert list(realms.paths("q")) == []
    for key in ("a/b", 7):
        realms.keys.id_of(key)
    assert list(realms.paths("q")) == [
        (0, "partition/p/a%2Fb/query/q"),
        (1, "partition/p/7/query/q"),
    ]
    assert realms.instances_path == "partition/p/instances"
    assert realms.fresh("q", "selector") == "inside"
    assert realms.fresh_instances() == {
        "partition/p/a%2Fb/query/q/selector": "inside",
        "partition/p/7/query/q/selector": "inside",
    }
