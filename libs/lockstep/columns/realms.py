"""The places of a query's state in the reference's form: one outside partitions, one per key
inside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lockstep.columns.keys import KeySpace
from lockstep.plan.paths import partition_path, query_path, step_of


@dataclass(frozen=True, slots=True)
class Defaults:
    """The states of a fresh reference engine by path, and of a fresh instance of each partition, by
    path behind the instance's."""

    operators: dict[str, Any]
    instances: dict[str, dict[str, Any]] = field(default_factory=dict)


class Realms:
    """The instances of a partition, or the single place outside of one."""

    def __init__(self, defaults: Defaults, partition: str | None = None) -> None:
        self._defaults = defaults
        self._partition = partition
        self._path = "" if partition is None else partition_path(partition)
        self.keys = KeySpace()

    @property
    def is_partition(self) -> bool:
        """Whether there is an instance per key."""
        return self._partition is not None

    @property
    def instances_path(self) -> str:
        """Where the reference keeps the partition's keys."""
        return f"{self._path}/instances"

    def paths(self, query: str) -> Iterator[tuple[int, str]]:
        """(realm, path of the query's operators) of every instance."""
        inside = query_path(query)
        if self._partition is None:
            yield 0, inside
            return
        for realm, path in self.instance_paths():
            yield realm, f"{path}/{inside}"

    def instance_paths(self) -> Iterator[tuple[int, str]]:
        """(realm, path) of every instance."""
        for realm, key in enumerate(self.keys.keys):
            yield realm, f"{self._path}/{step_of(str(key))}"

    def fresh(self, query: str, operator: str) -> Any:
        """The state of one of the query's operators before anything came."""
        if self._partition is None:
            return self._defaults.operators[f"{query_path(query)}/{operator}"]
        return self._defaults.instances[self._partition][f"{query_path(query)}/{operator}"]

    def fresh_instances(self) -> dict[str, Any]:
        """The states of all instances before anything came, by path."""
        if self._partition is None:
            return {}
        fresh = self._defaults.instances[self._partition]
        return {
            f"{path}/{suffix}": state
            for _, path in self.instance_paths()
            for suffix, state in fresh.items()
        }
