"""The options of a Kafka source (extensions 12.3); validation has seen to it that they can work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockstep.siddhiql import ast
from lockstep.siddhiql.parts import pairs, parts


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """What to read, as whom. Without `partitions`, the group's members share what there is."""

    settings: Mapping[str, str | int | float | bool]
    topics: Sequence[str]
    partitions: Sequence[int]
    offsets: Mapping[str, int]
    is_numbered: bool

    @staticmethod
    def of(source: ast.Annotation) -> KafkaOptions:
        """Those of an annotation that was validated; ValueError for one that was not."""

        def given(name: str) -> str:
            return source.get(name) or ""

        return KafkaOptions(
            {
                **dict(pairs(given("optional.configuration"), ":")),
                "bootstrap.servers": given("bootstrap.servers"),
                "group.id": given("group.id"),
            },
            tuple(parts(given("topic.list"))),
            tuple(int(each) for each in parts(given("partition.no.list"))),
            {topic: int(offset) for topic, offset in pairs(given("topic.offsets.map"), "=")},
            given("seq.enabled").strip().lower() == "true",
        )
