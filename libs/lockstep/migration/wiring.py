"""Which app gets which source and sink, and how apps that shared a stream are joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from lockstep.migration.apps import DEFINITION, App, Block, Piece
from lockstep.migration.findings import Findings, Place
from lockstep.migration.flows import Connector, Datasources, Flow, connector_of, described
from lockstep.migration.plans import Plan, Port
from lockstep.migration.siddhi_text import name_of
from lockstep.migration.streams import Attribute, Stream, definition_of, stream_name

_JOINED: Final = (
    "plans share a stream, apps do not: a topic joins them, at most once and in order of arrival"
)


def wired(
    streams: Mapping[str, Stream],
    plans: Sequence[Plan],
    flows: Sequence[Flow],
    findings: Findings,
    datasources: Datasources,
) -> list[App]:
    """All apps: one per plan, and one per stream that receivers and publishers use without one."""
    work = _Wiring(streams, plans, flows, findings, datasources)
    return work.apps()


class _Wiring:
    def __init__(
        self,
        streams: Mapping[str, Stream],
        plans: Sequence[Plan],
        flows: Sequence[Flow],
        findings: Findings,
        datasources: Datasources,
    ) -> None:
        self._streams = streams
        self._plans = plans
        self._flows = flows
        self._findings = findings
        self._datasources = datasources
        self._taken = {plan.app.name.lower() for plan in plans}

    def apps(self) -> list[App]:
        """The apps of plans, then those of streams alone."""
        used = {port.stream for plan in self._plans for port in (*plan.imports, *plan.exports)}
        listed = {**dict.fromkeys(used), **dict.fromkeys(flow.stream for flow in self._flows)}
        made = [app for stream in sorted(listed) for app in self._of_stream(stream)]
        for stream in self._streams.values():
            if stream.id not in listed:
                about = f" ({'; '.join(stream.notes)})" if stream.notes else ""
                definition = definition_of(stream_name(stream.id), stream.attributes)
                self._findings.to_decide(
                    stream.place,
                    f"stream {stream.id}{about}",
                    "no plan, receiver or publisher uses it",
                    f"put it into an app: {definition}",
                )
            elif stream.id not in used:
                self._findings.used(stream.place, f"stream {stream.id}", "it has an app of its own")
        return [*(plan.app for plan in self._plans), *made]

    def _of_stream(self, stream: str) -> list[App]:
        """Places receivers and publishers of a stream; an app of its own where no plan fits."""
        inward = [flow for flow in self._flows if flow.stream == stream and flow.inward]
        outward = [flow for flow in self._flows if flow.stream == stream and not flow.inward]
        imports = [port for plan in self._plans for port in plan.imports if port.stream == stream]
        exports = [port for plan in self._plans for port in plan.exports if port.stream == stream]
        for port in (*imports, *exports):
            self._compare(port)
        if exports:
            self._attach(exports[0], inward)
            for port in exports:
                self._attach(port, outward)
                if imports:
                    self._join(port, "sink")
            for port in imports:
                self._join(port, "source")
            return []
        if len(imports) == 1:
            self._attach(imports[0], [*inward, *outward])
            return []
        if not inward and not outward:
            return []
        return self._app_of_stream(stream, [*inward, *outward], imports)

    def _attach(self, port: Port, flows: Sequence[Flow]) -> None:
        for flow in flows:
            self._put(port.block, flow, port.attributes)

    def _put(self, block: Block, flow: Flow, attributes: Sequence[Attribute]) -> None:
        made: Connector = connector_of(flow, attributes, self._findings, self._datasources)
        block.above.append(Piece(made.text, made.place, made.off))
        if not made.off:
            kind = "source" if flow.inward else "sink"
            self._findings.used(
                flow.place, f"{flow.name} ({flow.adapter}) of {flow.stream}", f"it is a @{kind}"
            )

    def _join(self, port: Port, kind: str) -> None:
        text = f"@{kind}(type='inMemory', topic='{port.stream}', @map(type='passThrough'))"
        port.block.above.append(Piece(text, port.place))
        self._findings.changed(port.place, f"stream {port.stream} between plans", _JOINED)

    def _compare(self, port: Port) -> None:
        known = self._streams.get(port.stream)
        if known is None:
            return
        if known.attributes != port.attributes:
            said = ", ".join(f"{one.name} {one.type}" for one in known.attributes)
            self._findings.to_decide(
                known.place, f"stream {known.id} ({said})",
                f"{port.place} defines it with other attributes; the app keeps those",
            )  # fmt: skip
        else:
            self._findings.used(known.place, f"stream {known.id}", f"it is {port.name} of an app")
        note = "; ".join(known.notes)
        if note and note not in port.block.comments:
            port.block.comments += f"\n-- {note}"

    def _app_of_stream(
        self, stream: str, flows: Sequence[Flow], imports: Sequence[Port]
    ) -> list[App]:
        known = self._streams.get(stream)
        place = flows[0].place
        if known is None and not imports:
            for flow in flows:
                self._findings.to_decide(
                    flow.place, described(flow),
                    f"the stream {stream} is not defined in any file", "add its definition",
                )  # fmt: skip
            return []
        attributes = known.attributes if known is not None else imports[0].attributes
        name = stream_name(stream)
        app = App(self._free(f"{name}_flow"), place)
        app.notes.append(f"The event stream {stream}: what comes in, and what goes out.")
        block = Block(DEFINITION, Piece(definition_of(name, attributes), _place(known, place)))
        if known is not None and known.notes:
            block.comments = f"-- {'; '.join(known.notes)}"
        app.blocks.append(block)
        for flow in flows:
            self._put(block, flow, attributes)
        if imports:
            self._join(Port(stream, name, attributes, block, place), "sink")
            for port in imports:
                self._join(port, "source")
        return [app]

    def _free(self, name: str) -> str:
        free, number = name_of(name), 2
        while free.lower() in self._taken:
            free, number = f"{name_of(name)}_{number}", number + 1
        self._taken.add(free.lower())
        return free


def _place(known: Stream | None, otherwise: Place) -> Place:
    return known.place if known is not None else otherwise
