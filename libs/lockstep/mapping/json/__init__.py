"""@map(type='json') (extensions 13.2)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.mappers import flags, mappers, texts

EXTENSIONS = mappers(
    "json",
    columns=f"{__name__}.columns:JsonColumns",
    source=(
        f"{__name__}.source:JsonSource",
        texts("enclosing.element") + flags("fail.on.missing.attribute", "event.grouping.enabled"),
    ),
    sink=(
        f"{__name__}.sink:JsonSink",
        texts("enclosing.element")
        + flags("validate.json", "event.grouping.enabled", "enable.null.attribute.value"),
    ),
)
