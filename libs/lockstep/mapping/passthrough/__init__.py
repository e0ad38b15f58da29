"""@map(type='passThrough'): events as they are, the default (extensions 13.1)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.mappers import mappers

EXTENSIONS = mappers(
    "passThrough",
    source=(f"{__name__}.meaning:PassThroughSource", ()),
    sink=(f"{__name__}.meaning:PassThroughSink", ()),
)
