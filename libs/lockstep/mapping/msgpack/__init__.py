"""@map(type='msgpack') (extensions 13.8)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.mappers import flags, mappers, texts

EXTENSIONS = mappers(
    "msgpack",
    columns=f"{__name__}.columns:MsgpackColumns",
    source=(
        f"{__name__}.source:MsgpackSource",
        texts("enclosing.element") + flags("fail.on.missing.attribute", "event.grouping.enabled"),
    ),
    sink=(f"{__name__}.sink:MsgpackSink", texts("form") + flags("event.grouping.enabled")),
)
