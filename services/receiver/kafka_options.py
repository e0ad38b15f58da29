"""The options of a Kafka source (extensions 12.3), checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockstep.events import Fault, LockstepError
from lockstep.operators.mapping import pairs, parts
from lockstep.siddhiql import ast

MINE = frozenset({"bootstrap.servers", "group.id", "enable.auto.commit"})


class KafkaOptionsError(LockstepError):
    """An option that cannot work."""

    fault = Fault.USER


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """What to read, as whom. Without `partitions`, the group's members share what there is."""

    settings: Mapping[str, str | int | float | bool]
    topics: Sequence[str]
    partitions: Sequence[int]
    offsets: Mapping[str, int]
    is_numbered: bool

    @staticmethod
    def of(source: ast.Annotation, name: str) -> KafkaOptions:
        """KafkaOptionsError tells which option is wrong, `name` in which source."""
        settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": source.get("bootstrap.servers") or "",
            "group.id": source.get("group.id") or "",
        }
        given = source.get("optional.configuration") or ""
        for key, value in _pairs(given, ":", "optional.configuration", name):
            if key in MINE:
                raise KafkaOptionsError(
                    f"optional.configuration cannot set '{key}'",
                    where=name,
                    hint="the source sets it itself",
                )
            settings[key] = value
        offsets = {}
        for topic, text in _pairs(
            source.get("topic.offsets.map") or "", "=", "topic.offsets.map", name
        ):
            offsets[topic] = _number(text, "topic.offsets.map", name)
        partitions = source.get("partition.no.list")
        return KafkaOptions(
            settings,
            tuple(parts(source.get("topic.list") or "")),
            tuple(_number(each, "partition.no.list", name) for each in parts(partitions or "")),
            offsets,
            (source.get("seq.enabled") or "false").lower() == "true",
        )


def _pairs(text: str, between: str, option: str, name: str) -> list[tuple[str, str]]:
    try:
        return pairs(text, between)
    except ValueError as error:
        raise KafkaOptionsError(
            f"{option} holds '{error}'", where=name, hint=f"write name{between}value, with commas"
        ) from error


def _number(text: str, option: str, name: str) -> int:
    if not text.isdigit():
        raise KafkaOptionsError(f"{option} holds '{text}', not a number", where=name)
    return int(text)
