"""Topics that are there already follow the settings of the bus, as those that are made do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not in its __all__
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from lockstep.bus.errors import BusRefusedError, BusRightsError
from lockstep.bus.kafka.connection import Connection
from lockstep.events import LockstepError, UnavailableError
from lockstep.telemetry import get_logger

_SIZE: Final = "max.message.bytes"
_AGE: Final = "retention.ms"
_IN_SYNC: Final = "min.insync.replicas"
_POLICY: Final = "cleanup.policy"
_ROOM: Final = "retention.bytes"
_STAMPS: Final = "message.timestamp.type"
_FOLLOWING: Final = (_SIZE, _AGE, _IN_SYNC, _POLICY, _ROOM, _STAMPS)
_FORGETTING: Final = (_POLICY, _ROOM, _STAMPS)
_NO_LIMIT: Final = "-1"


class TopicSettings:
    """Each topic is looked at once by a process. Where that cannot be, or nothing may be changed,
    it stays as it is, and a warning says so once; or for each topic that may forget what is needed.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._seen: set[str] = set()
        self._told: set[type[LockstepError]] = set()
        self._forgetting: set[str] = set()

    def made(self, topic: str, config: Mapping[str, str]) -> None:
        """The topic was made here just now."""
        self._seen.add(topic)
        self._connection.taken_bytes[topic] = int(config[_SIZE])

    def forget(self, topic: str) -> None:
        """It is removed."""
        self._seen.discard(topic)
        self._forgetting.discard(topic)
        self._connection.taken_bytes.pop(topic, None)

    async def bring_up_to_date(
        self, topic: str, config: Mapping[str, str], *, replicas: int
    ) -> None:
        """The topic is there, with so many replicas."""
        if topic in self._seen:
            return
        found: Mapping[str, str] = {}
        changes: Mapping[str, str] = {}
        try:
            found = await self._look(topic)
            changes = changes_of(found, config, replicas)
            if _SIZE in found:
                self._connection.taken_bytes[topic] = int(found[_SIZE])
            if changes:
                await self._change(topic, changes)
            if _SIZE in changes:
                self._connection.taken_bytes[topic] = int(changes[_SIZE])
        except (BusRefusedError, BusRightsError) as error:
            self._tell(topic, error)
            self._warn(topic, found, changes)
        except UnavailableError as error:  # the next one who opens it looks again
            self._tell(topic, error)
            self._warn(topic, found, changes)
            return
        self._seen.add(topic)

    async def _look(self, topic: str) -> dict[str, str]:
        connection = self._connection
        futures = connection.admin.describe_configs(
            [ConfigResource(ResourceType.TOPIC, topic)], request_timeout=connection.request_s
        )
        told: Mapping[str, ConfigEntry] = await connection.ask(futures, topic)
        found = {name: told[name].value for name in _FOLLOWING if name in told}
        return {name: value for name, value in found.items() if value is not None}

    async def _change(self, topic: str, changes: Mapping[str, str]) -> None:
        connection = self._connection
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in changes.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        futures = connection.controlling.incremental_alter_configs(
            [resource], request_timeout=connection.request_s
        )
        await connection.ask(futures, topic)
        get_logger().info("a topic follows the settings", topic=topic, changes=dict(changes))

    def _tell(self, topic: str, error: LockstepError) -> None:
        if type(error) not in self._told:
            self._told.add(type(error))
            get_logger().warning(
                "topics do not follow the settings",
                topic=topic,
                error=str(error),
                hint="let the bus's user describe and alter the configs of its topics",
            )

    def _warn(self, topic: str, found: Mapping[str, str], changes: Mapping[str, str]) -> None:
        wanted = {name: changes[name] for name in _FORGETTING if name in changes}
        if wanted and topic not in self._forgetting:
            self._forgetting.add(topic)
            get_logger().warning(
                "a topic may forget what is needed",
                topic=topic,
                has={name: found[name] for name in wanted},
                hint="set of the topic " + ", ".join(f"{k}={v}" for k, v in wanted.items()),
            )


def changes_of(
    found: Mapping[str, str], config: Mapping[str, str], replicas: int
) -> dict[str, str]:
    """What to set. Messages of before were taken at their size, so that limit is only raised. Of
    the topic's replicas a majority has to be in sync, or more; never more than there are. Nothing
    is compacted, and ids age by the brokers' stamps. Where nothing may be forgotten to make room,
    nothing is; how much a live topic holds is left."""
    changes = {
        name: config[name]
        for name in (_POLICY, _STAMPS)
        if name in found and found[name] != config[name]
    }
    if _ROOM in found and config[_ROOM] == _NO_LIMIT != found[_ROOM]:
        changes[_ROOM] = _NO_LIMIT
    if _SIZE in found and int(config[_SIZE]) > int(found[_SIZE]):
        changes[_SIZE] = config[_SIZE]
    if _AGE in found and config[_AGE] != found[_AGE]:
        changes[_AGE] = config[_AGE]
    if _IN_SYNC in found:
        wanted = min(int(config[_IN_SYNC]), replicas // 2 + 1)
        in_sync = min(max(int(found[_IN_SYNC]), wanted), replicas)
        if in_sync != int(found[_IN_SYNC]):
            changes[_IN_SYNC] = str(in_sync)
    return changes
