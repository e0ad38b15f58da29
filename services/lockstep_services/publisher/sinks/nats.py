"""@sink(type='nats'), and inMemory beyond one process: messages on the suite's bus.

Each bears its identity as message id. Where a stream of the bus's server keeps the subject, the
message counts as delivered when the stream has acknowledged it; else nobody can say who heard it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from lockstep.bus import ID_HEADER, Topics, topic_subject
from lockstep.connectors.nats import RESERVED_SUBJECTS
from lockstep.events import LockstepError
from lockstep.sinks import Message, MessageRefusedError, Sink


class SubjectSink(Sink):
    """Sends to the subject of each message; `name` says which."""

    in_flight: ClassVar[int] = 64

    def __init__(self, topics: Topics, subject_of: Callable[[Message], str]) -> None:
        self._topics = topics
        self._subject_of = subject_of

    async def send(self, message: Message) -> None:
        headers = {
            ID_HEADER: message.id,
            "Content-Type": message.content_type,
            "Timestamp-Ms": str(message.timestamp_ms),
        }
        subject = self._subject_of(message)
        try:
            await self._topics.publish_kept(subject, message.payload, headers=headers)
        except LockstepError as error:
            if error.retryable:
                raise
            # Too large for the bus, or against a rule of the stream.
            raise MessageRefusedError(error.message, where=subject) from error


def nats_sink(options: Mapping[str, str], topics: Topics) -> Sink:
    """Option: `destination` (a subject, may hold `{{attribute}}`)."""
    destination = options["destination"]

    def subject_of(message: Message) -> str:
        subject = message.fill(destination).replace(" ", "_")
        bad = not all(subject.split(".")) or any(c in subject for c in "*>\r\n\t")
        if bad or subject.startswith(RESERVED_SUBJECTS):
            raise MessageRefusedError(f"{subject[:200]!r} is no subject for a sink")
        return subject

    return SubjectSink(topics, subject_of)


def topic_sink(options: Mapping[str, str], topics: Topics) -> Sink:
    """Option: `topic` (may hold `{{attribute}}`); in-memory sources of all apps hear it."""
    topic = options["topic"]
    return SubjectSink(topics, lambda message: topic_subject(message.fill(topic)))
