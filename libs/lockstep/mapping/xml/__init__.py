"""@map(type='xml') (extensions 13.3)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.mappers import flags, mappers, texts

EXTENSIONS = mappers(
    "xml",
    columns=f"{__name__}.columns:XmlColumns",
    source=(
        f"{__name__}.source:XmlSource",
        texts("namespaces", "enclosing.element")
        + flags(
            "enclosing.element.as.event",
            "fail.on.missing.attribute",
            "enable.streaming.xml.content",
            "extract.leaf.node.data",
        ),
    ),
    sink=(f"{__name__}.sink:XmlSink", texts("enclosing.element") + flags("validate.xml")),
)
