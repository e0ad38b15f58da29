"""@map(type='text') (extensions 13.5)."""

from __future__ import annotations

from string import ascii_uppercase

from lockstep.siddhiql.catalogue.mappers import flags, mappers, texts

_LINES = texts("delimiter", "new.line.character")

EXTENSIONS = mappers(
    "text",
    columns=f"{__name__}.columns:TextColumns",
    source=(
        f"{__name__}.source:TextSource",
        _LINES
        + texts(*(f"regex.{letter}" for letter in ascii_uppercase))
        + flags("event.grouping.enabled", "fail.on.missing.attribute", "fail.on.unknown.attribute"),
    ),
    sink=(
        f"{__name__}.sink:TextSink",
        _LINES + flags("event.grouping.enabled", "mustache.enabled"),
    ),
)
