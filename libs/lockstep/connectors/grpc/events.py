"""The message of the default service, EventService: a text and headers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError


class NoEventError(ValueError):
    """Bytes that are no event."""


def event_bytes(payload: str, headers: Mapping[str, str]) -> bytes:
    """An event on the wire."""
    written: bytes = _event()(payload=payload, headers=dict(headers)).SerializeToString(
        deterministic=True
    )
    return written


def read_event(message: bytes) -> tuple[str, dict[str, str]]:
    """Text and headers; NoEventError."""
    try:
        found = _event().FromString(message)
    except DecodeError as error:
        raise NoEventError(f"the message is no Event: {error}") from error
    return found.payload, dict(found.headers)


@lru_cache(maxsize=1)
def _event() -> Any:
    """`message Event { string payload = 1; map<string, string> headers = 2; }`"""
    text = {"type": FieldDescriptorProto.TYPE_STRING, "label": FieldDescriptorProto.LABEL_OPTIONAL}
    file = FileDescriptorProto(name="event.proto", package="eventservice", syntax="proto3")
    event = file.message_type.add(name="Event")
    event.field.add(name="payload", number=1, **text)
    entry = event.nested_type.add(name="HeadersEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, **text)
    entry.field.add(name="value", number=2, **text)
    event.field.add(
        name="headers", number=2, type=FieldDescriptorProto.TYPE_MESSAGE,
        label=FieldDescriptorProto.LABEL_REPEATED, type_name=".eventservice.Event.HeadersEntry",
    )  # fmt: skip
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("eventservice.Event"))
