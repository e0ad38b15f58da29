"""@map(type='avro') (extensions 13.10)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.mappers import flags, mappers, texts

_SCHEMA = texts("schema.def", "schema.registry", "schema.id", "form")

EXTENSIONS = mappers(
    "avro",
    columns=f"{__name__}.columns:AvroColumns",
    source=(
        f"{__name__}.source:AvroSource",
        _SCHEMA
        + flags("use.avro.deserializer", "fail.on.missing.attribute", "event.grouping.enabled"),
    ),
    sink=(
        f"{__name__}.sink:AvroSink",
        _SCHEMA + texts("schema.subject") + flags("use.avro.serializer", "event.grouping.enabled"),
    ),
)
