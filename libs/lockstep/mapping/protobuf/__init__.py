"""@map(type='protobuf') (extensions 13.11)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.mappers import flags, mappers, texts

_SCHEMA = texts("class", "schema.def", "descriptor.set", "message", "schema.registry", "schema.id")

EXTENSIONS = mappers(
    "protobuf",
    completes=f"{__name__}.methods:with_message",
    source=(
        f"{__name__}.source:ProtobufSource",
        _SCHEMA + flags("use.protobuf.deserializer", "fail.on.missing.attribute"),
    ),
    sink=(
        f"{__name__}.sink:ProtobufSink",
        _SCHEMA + texts("schema.subject") + flags("use.protobuf.serializer"),
    ),
)
