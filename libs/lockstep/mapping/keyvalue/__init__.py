"""@map(type='keyvalue') (extensions 13.6)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.mappers import flags, mappers

EXTENSIONS = mappers(
    "keyvalue",
    columns=f"{__name__}.columns:KeyValueColumns",
    source=(
        f"{__name__}.meaning:KeyValueSource",
        flags("fail.on.missing.attribute", "implicit.cast.enable"),
    ),
    sink=(f"{__name__}.meaning:KeyValueSink", ()),
)
