"""Plans in XML: execution plans of CEP 3, and buckets of CEP 2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lockstep.migration.apps import DEFINITION, Block, Piece
from lockstep.migration.findings import Findings, Place
from lockstep.migration.flows import Datasources, Flow
from lockstep.migration.plans import ARBITRARY, Plan, PlanText, Port, read_plan
from lockstep.migration.reading import Node
from lockstep.migration.siddhi_text import UnquotableError, name_of, payload, quoted
from lockstep.migration.streams import Attribute, Stream, definition_of, stream_id

PLAN_ROOTS: Final = ("executionPlan",)
BUCKET_ROOTS: Final = ("bucket",)

_SNAPSHOT: Final = "snapshots are taken as the settings say: processor.snapshot_interval_ms"
_DISTRIBUTED: Final = (
    "every app is replicated; cut it with @app:parallel where one node is too small"
)
_SWITCHES: Final = {
    "statistics": "every stream, source and sink is measured, whatever an app says",
    "trace": "`lockstep tail` follows a stream while it runs",
}
_PROPERTIES: Final = {
    "siddhi.persistence.snapshot.time.interval.minutes": _SNAPSHOT,
    "siddhi.enable.distributed.processing": _DISTRIBUTED,
}
_UNQUOTABLE: Final = "no string of SiddhiQL can hold it"
_JAVA_TYPES: Final = {
    "java.lang.String": "string",
    "java.lang.Integer": "int",
    "java.lang.Long": "long",
    "java.lang.Float": "float",
    "java.lang.Double": "double",
    "java.lang.Boolean": "bool",
}


@dataclass(frozen=True)
class Bucket:
    """A bucket as a plan, with what its inputs and outputs were."""

    plan: Plan
    flows: tuple[Flow, ...]


def plan_of_xml(
    root: Node,
    streams: Mapping[str, Stream],
    findings: Findings,
    datasources: Datasources,
) -> Plan:
    """An execution plan of CEP 3: imported streams, queries, exported streams."""
    name = root.attribute("name") or ""
    for switch, why in _SWITCHES.items():
        if root.attribute(switch) is not None:
            findings.dropped(root.place, f"{switch}={root.attributes[switch]!r}", why)
    _engine(root.element("siddhiConfiguration"), findings)
    queries = root.element("queryExpressions")
    plan = read_plan(_text(name, queries, root), findings, datasources)
    plan.app.name = name or plan.app.name
    _describe(plan, root, findings)
    for holder, alias, inward in (
        ("importedStreams", "as", True),
        ("exportedStreams", "valueOf", False),
    ):
        node = root.element(holder)
        for entry in node.elements("stream") if node is not None else ():
            given = stream_id(entry.attribute("name") or "", entry.attribute("version"))
            passed = entry.attribute("passThroughFlowSupported")
            if passed is not None:
                what = f"passThroughFlowSupported={passed!r}"
                findings.dropped(entry.place, what, ARBITRARY)
            known = entry.attribute(alias) or (entry.attribute("name") or "")
            _bind(plan, given, known, inward, streams, entry.place, findings)
    return plan


def _bind(
    plan: Plan, stream: str, name: str, inward: bool, streams: Mapping[str, Stream],
    place: Place, findings: Findings,
) -> None:  # fmt: skip
    """Defines a stream that the plan takes in or gives out."""
    known = streams.get(stream)
    if known is None:
        findings.to_decide(
            place, f"stream {stream} as {name}", "it is not defined in any file",
            f"add its definition, or write: define stream {name} (…)",
        )  # fmt: skip
        return
    body = Piece(definition_of(name, known.attributes), place)
    verb = "in from" if inward else "out to"
    block = Block(DEFINITION, body, comments=f"-- {verb} the event stream {stream}")
    plan.app.blocks.append(block)
    port = Port(stream, name, known.attributes, block, place)
    (plan.imports if inward else plan.exports).append(port)


def _describe(plan: Plan, root: Node, findings: Findings) -> None:
    node = root.element("description")
    text = " ".join(node.text().split()) if node is not None else ""
    if not text:
        return
    try:
        plan.app.head.append(Piece(f"@app:description({payload(text)})", root.place))
    except UnquotableError:
        findings.to_decide(root.place, f"the description {text}", _UNQUOTABLE, "say it otherwise")


def _named(query: Node, findings: Findings) -> str:
    """What a query is called, as a string."""
    name = query.attribute("name") or "query"
    try:
        return quoted(name)
    except UnquotableError:
        plain = name_of(name)
        findings.changed(query.place, f"query {name}", f"{_UNQUOTABLE}: it is called {plain}")
        return quoted(plain)


def _engine(node: Node | None, findings: Findings) -> None:
    if node is None:
        return
    provider = node.attribute("engineProvider")
    if provider is not None:
        findings.dropped(node.place, f"engineProvider={provider!r}", "Lockstep is the engine")
    for entry in node.elements("property"):
        name, value = entry.attribute("name") or "", entry.text()
        why = _PROPERTIES.get(name)
        if why is not None:
            findings.dropped(entry.place, f"{name}={value!r}", why)
        else:
            findings.to_decide(entry.place, f"{name}={value!r}", "the engine has no such setting")


def _text(name: str, node: Node | None, root: Node) -> PlanText:
    if node is None:
        return PlanText(name, "", root.place.file, root.place.line)
    node.text()
    text = "".join(part for part in node.content if isinstance(part, str))
    return PlanText(name, text, root.place.file, node.place.line)


def bucket_of(root: Node, findings: Findings, datasources: Datasources) -> Bucket:
    """A bucket of CEP 2: inputs and queries, each with its output, over brokers and topics."""
    name = root.attribute("name") or ""
    _engine(root.element("engineProviderConfiguration"), findings)
    queries = root.elements("query")
    texts = []
    for query in queries:
        expression = query.element("expression")
        written = expression.text() if expression is not None else ""
        if expression is not None and (expression.attribute("type") or "inline") != "inline":
            findings.to_decide(expression.place, f"query {query.attribute('name')}: {written}",
                               "its text stands in a registry", "put the text here")  # fmt: skip
            continue
        texts.append(f"@info(name={_named(query, findings)})\n{written.rstrip(';')};")
    place = Place(root.place.file, root.place.line)
    plan = read_plan(
        PlanText(name, "\n".join(texts), place.file, place.line), findings, datasources
    )
    plan.app.name = name or plan.app.name
    _describe(plan, root, findings)
    for node in root.elements("input"):
        _input(plan, node, findings)
    for query in queries:
        for node in query.elements("output"):
            _topic(node, findings, "output", "@sink")
    return Bucket(plan, ())


def _input(plan: Plan, node: Node, findings: Findings) -> None:
    """Defines the stream of an input; the broker is to be decided."""
    for mapping in node.elements():
        mapping.attribute("queryEventType")
        mapping.attribute("eventClass")
        stream = mapping.attribute("stream") or ""
        attributes = []
        for entry in mapping.elements("property"):
            type_ = entry.attribute("type") or ""
            plain = _JAVA_TYPES.get(type_, type_.rpartition(".")[2].lower())
            attributes.append(Attribute(entry.attribute("name") or "", plain))
        body = Piece(definition_of(stream, tuple(attributes)), mapping.place)
        plan.app.blocks.append(Block(DEFINITION, body))
        findings.changed(mapping.place, f"{mapping.name} of {stream}", "its stream is defined")
    _topic(node, findings, "input", "@source")


def _topic(node: Node, findings: Findings, what: str, kind: str) -> None:
    topic, broker = node.attribute("topic"), node.attribute("brokerName")
    shape = "".join(one.as_xml() for one in node.elements())
    for one in node.elements():
        one.take_all()
    findings.to_decide(
        node.place, f"{what} of the topic {topic} at the broker {broker}: {shape}",
        "brokers of CEP 2 were set up outside of the bucket",
        f"write the {kind} in front of its stream, with @map: type='jms', 'mqtt' or 'http'",
    )  # fmt: skip
