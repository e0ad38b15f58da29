"""Paths tell apart whatever people call their queries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lockstep.plan.paths import name_of, owner_of, partition_path, query_path, step_of

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
