"""The memory bus: one participant's view of a shared carrier."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.bus.contract import InputLog, LogName, Mailbox, OutputLog
from lockstep.bus.errors import LogGoneError
from lockstep.bus.memory.carrier import MemoryCarrier
from lockstep.bus.memory.dead_letters import MemoryDeadLetters
from lockstep.bus.memory.ingress import MemoryIngress
from lockstep.bus.memory.input_log import MemoryInputLog
from lockstep.bus.memory.link import Link
from lockstep.bus.memory.output_log import MemoryOutputLog
from lockstep.bus.memory.topics import MemoryTopics
from lockstep.bus.subjects import (
    DEAD_ALL,
    INGRESS_ALL,
    input_subject,
    log_names,
    log_patterns,
    output_subject,
)


class MemoryBus:
    """See `lockstep.bus.Bus`. `link` can be cut, and answers on it can be lost, for tests."""

    def __init__(self, carrier: MemoryCarrier, name: str = "memory") -> None:
        limits = carrier.limits
        self.link = Link(name)
        self._carrier = carrier
        letters = carrier.log(DEAD_ALL, max_bytes=limits.dead_letters_max_bytes)
        self.dead_letters = MemoryDeadLetters(letters, self.link)
        door = carrier.log(INGRESS_ALL, max_bytes=limits.ingress_max_bytes)
        self.ingress = MemoryIngress(door, carrier, self.link)
        self.topics = MemoryTopics(carrier, self.link, self.ingress)

    async def input_log(self, name: LogName, *, make: bool = True) -> InputLog:
        self.link.send()
        subject = input_subject(name)
        if not make and not self._carrier.has(subject):
            raise LogGoneError(subject)
        log = self._carrier.log(subject)
        return MemoryInputLog(log, self.link, self._carrier.limits.max_message_bytes)

    async def output_log(self, name: LogName, *, make: bool = True) -> OutputLog:
        self.link.send()
        subject = output_subject(name)
        if not make and not self._carrier.has(subject):
            raise LogGoneError(subject)
        log = self._carrier.log(subject)
        return MemoryOutputLog(log, self.link, self._carrier.limits.max_message_bytes)

    async def logs(self, app: str | None, *, inputs: bool = False) -> Sequence[LogName]:
        self.link.send()
        patterns = log_patterns(app, inputs=inputs)
        found = (self._carrier.subjects(pattern) for pattern in patterns)
        return log_names(subject for subjects in found for subject in subjects)

    async def remove_logs(self, name: LogName) -> None:
        self.link.send()
        self._carrier.remove(input_subject(name))
        self._carrier.remove(output_subject(name))

    async def mailbox(self, pattern: str, name: str) -> Mailbox:
        return self.topics.open_mailbox(pattern, name)

    async def owner(self, suite: str, *, instead_of: str = "") -> str:
        self.link.send()
        if self._carrier.owner in ("", instead_of):
            self._carrier.owner = suite
        return self._carrier.owner

    async def healthy(self) -> bool:
        return self.link.reachable

    async def close(self) -> None:
        self.topics.close()
        self.link.reachable = False
