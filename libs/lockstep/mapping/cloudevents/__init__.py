"""@map(type='cloudevents') (extensions 13.9)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.mappers import flags, mappers, texts

EXTENSIONS = mappers(
    "cloudevents",
    columns=f"{__name__}.columns:CloudEventsColumns",
    source=(f"{__name__}.source:CloudEventsSource", flags("fail.on.missing.attribute")),
    sink=(
        f"{__name__}.sink:CloudEventsSink",
        texts("event.source", "event.type", "event.subject") + flags("event.grouping.enabled"),
    ),
)
