"""Paths tell apart whatever people call their queries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lockstep.plan.paths import (
    in_partition,
    name_of,
    owner_of,
    partition_path,
    query_path,
    step_of,
)

names = st.text(st.sampled_from("a/%2F5"))


@given(names)
def test_a_name_is_one_step_and_comes_back(name: str) -> None:
    """Also one with slashes, or with what stands for them."""
    assert "/" not in step_of(name)
    assert name_of(step_of(name)) == name


def test_what_is_inside_belongs_to_the_whole() -> None:
    """Operators of a partition's instances belong to the partition."""
    assert owner_of("partition/p/key/query/inner/handler_0/window") == "partition/p"
    assert owner_of("query/q/handler_0/window") == "query/q"


@given(names)
def test_whatever_they_are_called(name: str) -> None:
    """Also queries and partitions with slashes in their names."""
    query, partition = query_path(name), partition_path(name)
    assert owner_of(f"{query}/handler_0/window") == query
    assert owner_of(f"{partition}/key/{query}/handler_0/window") == partition
    assert owner_of(partition) == partition


def test_a_query_of_a_partition_gets_another_name() -> None:
    """Whatever is in the old or the new one; what is no query stays."""
    names = {"a/b": "c%d", "x": "y"}
    assert in_partition("/k/query/a%2Fb/handler_0", names) == "/k/query/c%25d/handler_0"
    assert in_partition("/k/query/x", names) == "/k/query/y"
    assert in_partition("/k/query/z/window", names) == "/k/query/z/window"
    assert in_partition("/k/model/x", names) == "/k/model/x"
    assert in_partition("", names) == ""
