"""@map(type='binaryPassThrough'): a message's bytes are a value (extensions 13.12)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.mappers import mappers

EXTENSIONS = mappers(
    "binaryPassThrough",
    source=(f"{__name__}.meaning:BytesSource", ()),
    sink=(f"{__name__}.meaning:BytesSink", ()),
)
