"""Event receivers and publishers: what comes into a stream from outside, and what goes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from lockstep.migration import mappings
from lockstep.migration.adapters import IGNORED_VALUES, PUBLISHERS, RECEIVERS, Adapter
from lockstep.migration.findings import Findings, Place
from lockstep.migration.reading import Node
from lockstep.migration.secrets import is_secret, masked, placeholder, without_password
from lockstep.migration.siddhi_text import UnquotableError, name_of, quoted
from lockstep.migration.streams import Attribute, stream_id

_STATISTICS: Final = "every stream, source and sink is measured, whatever an app says"
_TRACE: Final = "`lockstep tail` follows a stream while it runs"

RECEIVER_ROOTS: Final = ("eventReceiver", "eventBuilder")
PUBLISHER_ROOTS: Final = ("eventPublisher", "eventFormatter")
ADAPTOR_ROOTS: Final = ("inputEventAdaptor", "outputEventAdaptor", "inputEventAdapter",
                        "outputEventAdapter")  # fmt: skip


@dataclass(frozen=True)
class Property:
    """A property of an adapter."""

    name: str
    value: str
    secret: bool
    place: Place


@dataclass(frozen=True)
class Flow:
    """A receiver or a publisher, as it is declared."""

    name: str
    inward: bool
    stream: str
    adapter: str
    adaptor_name: str
    properties: tuple[Property, ...]
    mapping: Node | None
    place: Place


@dataclass(frozen=True)
class Connector:
    """A `@source` or `@sink` to stand in front of a stream; `off` says why it cannot."""

    text: str
    place: Place
    off: str = ""


@dataclass
class Datasources:
    """The databases that apps name, for `datasources.file`."""

    named: dict[str, Place] = field(default_factory=dict)

    def name(self, given: str, place: Place) -> str:
        """The section of a datasource; the file is written with what is to be filled in."""
        section = name_of(given)
        self.named.setdefault(section, place)
        return section


def properties_of(node: Node | None) -> tuple[Property, ...]:
    """The `<property>` elements of a node; `<global>` and the like hold more of them."""
    if node is None:
        return ()
    found = []
    for entry in node.elements("property"):
        name = entry.attribute("name") or ""
        secret = is_secret(name, entry.attributes)
        entry.attribute("encrypted")
        found.append(Property(name, entry.text(), secret, entry.place))
    return tuple(found)


def flow_of(root: Node, findings: Findings) -> Flow:
    """A receiver (or, before 4.0, builder) or a publisher (formatter)."""
    inward = root.name in RECEIVER_ROOTS
    outside, stream = (
        root.element("from" if inward else "to"),
        root.element("to" if inward else "from"),
    )
    name = root.attribute("name") or ""
    _switches(root, name, findings)
    mapping = root.element("mapping")
    custom = (mapping.attribute("customMapping") or "") if mapping is not None else ""
    if custom and not mappings.is_switch(custom):
        findings.to_decide(
            root.place, f"customMapping={custom!r} of {name}", "it is neither enable nor disable"
        )
    adapter = adaptor_name = ""
    if outside is not None:
        adapter = (
            outside.attribute("eventAdapterType") or outside.attribute("eventAdaptorType") or ""
        )
        adaptor_name = outside.attribute("eventAdaptorName") or ""
    return Flow(
        name=name,
        inward=inward,
        stream=_stream_of(stream),
        adapter=adapter,
        adaptor_name=adaptor_name,
        properties=properties_of(outside),
        mapping=mapping,
        place=root.place,
    )


def _stream_of(node: Node | None) -> str:
    if node is None:
        return ""
    return stream_id(node.attribute("streamName") or "", node.attribute("version"))


def _switches(root: Node, name: str, findings: Findings) -> None:
    for switch, why in (("statistics", _STATISTICS), ("trace", _TRACE), ("processing", "")):
        value = root.attribute(switch)
        if value is None:
            continue
        if switch == "processing":
            if value.strip().lower() not in ("enable", "enabled"):
                findings.to_decide(
                    root.place, f"processing={value!r} of {name}", "it was switched off",
                    "leave its app undeployed",
                )  # fmt: skip
            else:
                findings.dropped(root.place, f"processing={value!r}", "an app that runs processes")
        else:
            findings.dropped(root.place, f"{switch}={value!r}", why)


def connector_of(
    flow: Flow, attributes: Sequence[Attribute], findings: Findings, datasources: Datasources
) -> Connector:
    """The source or sink that does what a receiver or publisher did."""
    kind = "source" if flow.inward else "sink"
    known: Mapping[str, Adapter] = RECEIVERS if flow.inward else PUBLISHERS
    adapter = known.get(flow.adapter)
    if adapter is None or adapter.type is None:
        return _without(flow, kind, adapter, findings)
    options = [f"type='{adapter.type}'"]
    try:
        options += _options(flow, adapter, findings, datasources)
        options += _map(flow, adapter, attributes, findings)
    except (UnquotableError, ValueError) as error:
        reason = str(error) if isinstance(error, ValueError) else "a value that no string can hold"
        findings.to_decide(
            flow.place, f"{_title(flow)} {flow.name}", reason, f"write the @{kind} by hand"
        )
        return Connector(_as_it_was(flow, kind), flow.place, reason)
    if adapter.note:
        findings.to_decide(flow.place, f"{kind} {adapter.type} of {flow.name}", adapter.note)
    return Connector(f"@{kind}({', '.join(options)})", flow.place)


def _title(flow: Flow) -> str:
    return "event receiver" if flow.inward else "event publisher"


def described(flow: Flow) -> str:
    """A receiver or publisher with all that is in it, for the report."""
    told = ", ".join(
        f"{one.name}={'***' if one.secret else masked(one.value)!r}" for one in flow.properties
    )
    what = f"{_title(flow)} {flow.name} ({flow.adapter or 'no adapter'})"
    what += f" ({told})" if told else ""
    mapping = flow.mapping
    if mapping is not None:
        what += f" with the mapping {mapping.attribute('type')}"
        mapping.attribute("customMapping")
        custom = mapping.inner()
        if custom.strip():
            what += f": {masked(custom)}"
    return what


def _without(flow: Flow, kind: str, adapter: Adapter | None, findings: Findings) -> Connector:
    reason = f"there is no {kind} like the adapter {flow.adapter!r}"
    instead = adapter.instead if adapter is not None else f"write a {kind} of another type"
    findings.to_decide(flow.place, described(flow), reason, instead)
    return Connector(_as_it_was(flow, kind), flow.place, f"{reason}: {instead}")


def _as_it_was(flow: Flow, kind: str) -> str:
    """The properties as options, for a comment."""
    parts = [f"type='{flow.adapter}'"]
    for one in flow.properties:
        value = placeholder(flow.name, one.name) if one.secret else masked(one.value)
        parts.append(f"{one.name}='{' '.join(value.split())}'")
    return f"@{kind}({', '.join(parts)})"


def _options(
    flow: Flow, adapter: Adapter, findings: Findings, datasources: Datasources
) -> list[str]:
    options = dict(adapter.fixed.items())
    if flow.inward and adapter.type == "http":
        options["receiver.url"] = f"http://0.0.0.0:9763/endpoints/{flow.name}"
    for one in flow.properties:
        remark = IGNORED_VALUES.get((one.name, one.value.strip().lower()))
        if remark is not None:
            findings.to_decide(one.place, f"{one.name}={one.value!r} of {flow.name}", remark)
        elif one.name in adapter.dropped:
            findings.dropped(one.place, f"{one.name}={one.value!r}", adapter.dropped[one.name])
        elif one.name in adapter.options:
            options[adapter.options[one.name]] = _value(flow, adapter, one, findings, datasources)
        else:
            shown = "***" if one.secret else repr(masked(one.value))
            findings.to_decide(
                one.place,
                f"{one.name}={shown} of {flow.name}",
                f"the {adapter.type} {'source' if flow.inward else 'sink'} has nothing like it",
                "leave it out, or see the options on the page of extensions",
            )
    for option, value in adapter.asked.items():
        if option not in options:
            options[option] = value
            findings.to_decide(
                flow.place, f"{option} of {flow.name}", "the older product kept it elsewhere",
                f"put it in the place of {value}",
            )  # fmt: skip
    return [f"{option}={quoted(value)}" for option, value in options.items()]


def _value(
    flow: Flow, adapter: Adapter, one: Property, findings: Findings, datasources: Datasources
) -> str:
    option = adapter.options[one.name]
    if one.secret:
        filled = placeholder(flow.name, option)
        findings.to_decide(
            one.place,
            f"{one.name} of {flow.name}",
            "passwords are not copied",
            f"put it in the place of {filled}",
        )
        return filled
    if option == "datasource":
        section = datasources.name(one.value, one.place)
        findings.to_decide(
            one.place,
            f"{one.name}={one.value!r}",
            f"it is the section [{section}] of the datasources",
            "fill in address and account in datasources.toml, and name it as datasources.file",
        )
        return section
    convert = adapter.values.get(one.name)
    value = convert(one.value) if convert is not None else one.value
    safe = without_password(value, flow.name)
    if safe != value:
        findings.to_decide(
            one.place, f"{one.name} of {flow.name}", "passwords are not copied",
            f"put it in the place of {placeholder(flow.name, 'password')}",
        )  # fmt: skip
    elif option != one.name or value != one.value:
        findings.changed(one.place, f"{one.name}={one.value!r}", f"it is {option}={value!r} here")
    return safe


def _map(
    flow: Flow, adapter: Adapter, attributes: Sequence[Attribute], findings: Findings
) -> list[str]:
    if adapter.type == "rdbms":
        mapping = flow.mapping
        if mapping is not None:
            findings.dropped(
                flow.place, f"mapping of type {mapping.attribute('type')} of {flow.name}",
                "a row is written as it is",
            )  # fmt: skip
            if mappings.is_custom(mapping):
                findings.to_decide(
                    flow.place,
                    f"mapping of {flow.name}: {mapping.inner()}",
                    "a row has the stream's attributes as its columns",
                    "rename them in a query in front",
                )
        return []
    if flow.inward:
        return [mappings.source_map(flow.mapping, attributes, flow.place, findings)]
    is_log = adapter.type == "log"
    return [mappings.sink_map(flow.mapping, attributes, flow.place, findings, is_log=is_log)]
