"""Message types of Protobuf, made of descriptors at run time."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from google.protobuf import (
    any_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

from lockstep.mapping.contract import MappingError
from lockstep.mapping.protobuf.text import file_of

MAX_INDEXES: Final = 16
"""How deep the type of a message may lie in others; names of types are no deeper in practice."""

MAX_KEPT: Final = 64
"""Texts whose types are kept: an app is looked at more than once."""

_KNOWN: Final[Mapping[str, bytes]] = {
    module.DESCRIPTOR.name: module.DESCRIPTOR.serialized_pb
    for module in (
        any_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2,
    )
}  # fmt: skip
_MAIN: Final = "schema.proto"


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a service, with the names of what it takes and what it answers."""

    service: str
    name: str
    takes: str
    answers: str


class ProtobufTypes:
    """The types of one file and of those that it imports. MappingError for files that do not fit
    together. `text`: of the file, where it is known."""

    def __init__(self, files: Sequence[FileDescriptorProto], text: str | None = None) -> None:
        self.text = text
        self._pool = descriptor_pool.DescriptorPool()
        self._file = files[-1]
        given = {file.name: file for file in files}
        added: set[str] = set()
        for file in files:
            self._add(file, given, added)

    def message(self, name: str | None) -> Descriptor:
        """The type of that name, with or without its package; None: the first of the file."""
        names = [each for each, _ in _names(self._file)]
        if not names:
            raise MappingError("the schema has no message", hint="message M { string name = 1; }")
        if name is None:
            return self._found(names[0])
        fits = [each for each in names if each == name or each.endswith(f".{name}")]
        if not fits:
            try:
                return self._pool.FindMessageTypeByName(name)
            except KeyError as error:
                raise MappingError(
                    f"the schema has no message {name!r}", hint=f"there is {', '.join(names)}"
                ) from error
        return self._found(min(fits, key=len))

    def at(self, indexes: Sequence[int]) -> Descriptor:
        """The type at a place: the index of a message of the file, of a message in it, …"""
        for name, place in _names(self._file):
            if place == tuple(indexes):
                return self._found(name)
        raise MappingError(f"the schema has no message at {list(indexes)}")

    def indexes(self, descriptor: Descriptor) -> Sequence[int]:
        """The place of a type of this file."""
        for name, place in _names(self._file):
            if name == descriptor.full_name:
                return place
        raise MappingError(
            f"{descriptor.full_name!r} is no message of the schema's own file",
            hint="a message with the id of a schema is of a type of that schema",
        )

    @property
    def methods(self) -> Sequence[Method]:
        """Those of all services of this file, in their order."""
        package = f"{self._file.package}." if self._file.package else ""
        return [
            Method(
                f"{package}{service.name}", method.name,
                method.input_type.lstrip("."), method.output_type.lstrip("."),
            )
            for service in self._file.service
            for method in service.method
        ]  # fmt: skip

    def _found(self, name: str) -> Descriptor:
        return self._pool.FindMessageTypeByName(name)

    def _add(
        self, file: FileDescriptorProto, given: Mapping[str, FileDescriptorProto], added: set[str]
    ) -> None:
        if file.name in added:
            return
        added.add(file.name)
        kept = []
        for name in file.dependency:
            if name in given:
                self._add(given[name], given, added)
            elif name not in _KNOWN:
                continue  # if it is needed, a name that is missing says so
            elif name not in added:
                known = FileDescriptorProto.FromString(_KNOWN[name])
                self._add(known, given, added)
            kept.append(name)
        copy = FileDescriptorProto()
        copy.CopyFrom(file)
        del copy.dependency[:], copy.public_dependency[:], copy.weak_dependency[:]
        del copy.service[:]  # what they name need not be there
        copy.dependency.extend(kept)
        try:
            self._pool.AddSerializedFile(copy.SerializeToString())
            self._pool.FindFileByName(copy.name)
        except (TypeError, KeyError, ValueError) as error:
            said = " ".join(str(error).split())[:300]
            raise MappingError(f"the schema does not fit together: {said}") from error


@lru_cache(maxsize=MAX_KEPT)
def types_of_text(text: str, references: tuple[tuple[str, str], ...] = ()) -> ProtobufTypes:
    """The types of a text of .proto. `references`: (name, text) of files that it imports."""
    files = [file_of(inner, name) for name, inner in references]
    return ProtobufTypes([*files, file_of(text, _MAIN)], text)


def types_of_set(encoded: str) -> ProtobufTypes:
    """The types of a descriptor set in Base64, as `protoc --include_imports` writes it; the last
    file is the one whose first message is meant."""
    try:
        found = FileDescriptorSet.FromString(
            base64.b64decode("".join(encoded.split()), validate=True)
        )
    except (binascii.Error, ValueError, DecodeError) as error:
        raise MappingError(
            f"the text is no descriptor set in Base64: {error}",
            hint="protoc --include_imports --descriptor_set_out=/dev/stdout x.proto | base64 -w0",
        ) from error
    if not found.file:
        raise MappingError("the descriptor set holds no file")
    return ProtobufTypes(found.file)


def class_of(descriptor: Descriptor) -> Any:
    """What makes and reads messages of a type."""
    return message_factory.GetMessageClass(descriptor)


def read_indexes(payload: bytes, at: int) -> tuple[list[int], int]:
    """The place of the type that a message with an id begins with, and where the rest begins."""
    count, at = _varint(payload, at)
    if not 0 <= count <= MAX_INDEXES:
        raise MappingError(f"a message type lies {count} deep; {MAX_INDEXES} may be")
    if count == 0:
        return [0], at
    indexes = []
    for _ in range(count):
        index, at = _varint(payload, at)
        indexes.append(index)
    return indexes, at


def write_indexes(indexes: Sequence[int]) -> bytes:
    """The place of a type as bytes; the first message of a file is a byte 0 alone."""
    if list(indexes) == [0]:
        return b"\x00"
    found = bytearray()
    for number in (len(indexes), *indexes):
        left = number << 1
        while left > 0x7F:
            found.append(0x80 | (left & 0x7F))
            left >>= 7
        found.append(left)
    return bytes(found)


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while at < len(payload) and shift < 35:
        byte = payload[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1), at
        shift += 7
    raise MappingError("the message ends, or is broken, where the type of it should stand")


def _names(file: FileDescriptorProto) -> list[tuple[str, tuple[int, ...]]]:
    """Full names of all messages of a file, and their places."""
    found: list[tuple[str, tuple[int, ...]]] = []

    def walk(messages: Sequence[DescriptorProto], before: str, place: tuple[int, ...]) -> None:
        for index, message in enumerate(messages):
            name = f"{before}{message.name}"
            found.append((name, (*place, index)))
            inner = [each for each in message.nested_type if not each.options.map_entry]
            walk(inner, f"{name}.", (*place, index))

    walk(file.message_type, f"{file.package}." if file.package else "", ())
    return found
