"""@map(type='binary'): the older products' compact form of events (extensions 13.7)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.mappers import mappers

EXTENSIONS = mappers(
    "binary",
    columns=f"{__name__}.columns:BinaryColumns",
    source=(f"{__name__}.meaning:BinarySource", ()),
    sink=(f"{__name__}.meaning:BinarySink", ()),
)
