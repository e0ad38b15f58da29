"""A whole deployment of the older products: its files in, apps and findings out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from lockstep.migration.apps import App, Piece, rendered, settle
from lockstep.migration.archives import members
from lockstep.migration.buckets import BUCKET_ROOTS, PLAN_ROOTS, bucket_of, plan_of_xml
from lockstep.migration.findings import Finding, Findings, Place
from lockstep.migration.flows import (
    ADAPTOR_ROOTS,
    PUBLISHER_ROOTS,
    RECEIVER_ROOTS,
    Datasources,
    Flow,
    flow_of,
    properties_of,
)
from lockstep.migration.plans import Plan, PlanText, plan_name, read_plan
from lockstep.migration.processes import (
    YAML,
    is_template_group,
    processes_of,
    report_templates,
)
from lockstep.migration.reading import Node, SourceFile, UnreadableError, parse_xml
from lockstep.migration.siddhi_text import name_of, quoted
from lockstep.migration.streams import Stream, is_stream, parse_json, stream_of_json, streams_of_xml
from lockstep.migration.wiring import wired

TEXTS: Final = (".siddhi", ".siddhiql")
SUFFIXES: Final = (*TEXTS, ".json", ".xml", ".car", *YAML)
"""Files that an import reads; the others it only names."""


@dataclass(frozen=True)
class ImportedApp:
    """An app: its name, its text, and whether Lockstep takes it as it is."""

    name: str
    text: str
    valid: bool


@dataclass(frozen=True)
class Imported:
    """What came out. `datasources` is the text of a file for `datasources.file`, or empty."""

    apps: tuple[ImportedApp, ...]
    findings: tuple[Finding, ...]
    datasources: str
    artifacts: int
    """How many definitions were read: streams, plans, receivers, publishers …"""


@dataclass
class _Found:
    streams: dict[str, Stream] = field(default_factory=dict)
    plans: list[Plan] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    adaptors: dict[str, Node] = field(default_factory=dict)
    roots: list[Node] = field(default_factory=list)
    xml_plans: list[Node] = field(default_factory=list)
    artifacts: int = 0


def convert(files: Iterable[SourceFile]) -> Imported:
    """Apps of SiddhiQL 5 from definitions of any age. Never raises for what is in the files."""
    findings, datasources = Findings(), Datasources()
    found = _Found()
    for file in _with_members(files, findings):
        try:
            _read(file, found, findings, datasources)
        except UnreadableError as error:
            findings.to_decide(error.place, file.name, error.why, "mend the file, or leave it out")
    for root in found.xml_plans:
        found.plans.append(plan_of_xml(root, found.streams, findings, datasources))
    _name_apart([plan.app for plan in found.plans], findings)
    flows = [_with_adaptor(flow, found, findings) for flow in found.flows]
    apps = wired(found.streams, found.plans, flows, findings, datasources)
    for root in found.roots:
        for place, what in root.leftovers():
            findings.to_decide(place, what, "the import does not know it", "leave it out")
    done = [_done(app, findings) for app in apps]
    return Imported(
        tuple(done), tuple(findings.made), _datasources_text(datasources), found.artifacts
    )


def _with_members(files: Iterable[SourceFile], findings: Findings) -> list[SourceFile]:
    """The files, and in the place of archives what is in them."""
    found: list[SourceFile] = []
    for file in files:
        if not file.name.lower().endswith(".car"):
            found.append(file)
            continue
        try:
            found += members(file, findings)
        except UnreadableError as error:
            findings.to_decide(error.place, file.name, error.why, "unpack it by hand, and look")
    return found


def _read(file: SourceFile, found: _Found, findings: Findings, datasources: Datasources) -> None:
    place, lower = Place(file.name, 1), file.name.lower()
    if lower.endswith(TEXTS):
        try:
            text = file.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UnreadableError(place, "it is no text in UTF-8") from error
        plan = PlanText(plan_name(file.name), text, file.name)
        found.plans.append(read_plan(plan, findings, datasources))
        found.artifacts += 1
    elif lower.endswith(".json"):
        value = parse_json(file)
        if is_template_group(value):
            report_templates(value["templateGroup"], file, findings)
            found.artifacts += 1
            return
        if not is_stream(value):
            findings.dropped(place, "other JSON", "no definition of a stream")
            return
        found.artifacts += 1
        _add_stream(stream_of_json(value, file, findings), found, findings)
    elif lower.endswith(".xml"):
        _read_xml(parse_xml(file), found, findings, datasources)
    elif lower.endswith(YAML) and (given := processes_of(file, findings)) is not None:
        found.plans += [read_plan(one, findings, datasources) for one in given]
        found.artifacts += 1
    else:
        findings.dropped(place, "other files", "no definitions: code, test data, pages")


def _read_xml(root: Node, found: _Found, findings: Findings, datasources: Datasources) -> None:
    name = root.name
    if name in (*RECEIVER_ROOTS, *PUBLISHER_ROOTS):
        found.flows.append(flow_of(root, findings))
    elif name in ADAPTOR_ROOTS:
        found.adaptors[root.attribute("name") or ""] = root
    elif name in ("streamDefinitions", "streamDefinition"):
        for stream in streams_of_xml(root):
            _add_stream(stream, found, findings)
    elif name in PLAN_ROOTS:
        found.xml_plans.append(root)  # its streams may stand in a file that comes later
    elif name in BUCKET_ROOTS:
        bucket = bucket_of(root, findings, datasources)
        found.plans.append(bucket.plan)
        found.flows += bucket.flows
    else:
        findings.dropped(root.place, f"files with <{name}>", "no definition of streams or queries")
        return
    found.roots.append(root)
    found.artifacts += 1


def _add_stream(stream: Stream, found: _Found, findings: Findings) -> None:
    known = found.streams.setdefault(stream.id, stream)
    if known.attributes != stream.attributes:
        findings.to_decide(
            stream.place, f"stream {stream.id}", f"{known.place} defines it with other attributes",
            "import the two deployments apart",
        )  # fmt: skip


def _with_adaptor(flow: Flow, found: _Found, findings: Findings) -> Flow:
    """Before 4.0 builders and formatters named an adaptor that stands in a file of its own."""
    if not flow.adaptor_name:
        return flow
    node = found.adaptors.get(flow.adaptor_name)
    if node is None:
        findings.to_decide(
            flow.place, f"adaptor {flow.adaptor_name}", "its definition is not among the files",
            "add the folder of adaptors to the import",
        )  # fmt: skip
        return flow
    findings.changed(
        node.place,
        f"adaptor {flow.adaptor_name}",
        f"its properties stand at {flow.name}, which used it",
    )
    for switch in ("statistics", "trace"):
        if node.attribute(switch) is not None:
            what = f"{switch}={node.attributes[switch]!r}"
            findings.dropped(node.place, what, "adaptors are not measured apart from their streams")
    adapter = flow.adapter or node.attribute("type") or ""
    node.attribute("type")
    properties = (*properties_of(node), *flow.properties)
    return Flow(flow.name, flow.inward, flow.stream, adapter, flow.adaptor_name, properties,
                flow.mapping, flow.place)  # fmt: skip


def _name_apart(apps: Sequence[App], findings: Findings) -> None:
    """Apps have names that differ, also as names of files."""
    taken: set[str] = set()
    for app in apps:
        name, number = name_of(app.name), 2
        while name.lower() in taken:
            name, number = f"{name_of(app.name)}_{number}", number + 1
        taken.add(name.lower())
        if name != app.name:
            findings.changed(app.place, f"name {app.name!r}", f"the app is called {name!r}")
            app.name = name


def _done(app: App, findings: Findings) -> ImportedApp:
    app.head = [Piece(f"@app:name({quoted(app.name)})", app.place), *app.head]
    valid = settle(app, findings)
    text = rendered(app)
    findings.used(app.place, f"app {app.name}", "valid" if valid else "not valid as it is")
    return ImportedApp(app.name, text, valid)


def _datasources_text(datasources: Datasources) -> str:
    if not datasources.named:
        return ""
    parts = ["# Datasources that the apps name. Fill in, and name this file as datasources.file.\n"]
    for section, place in datasources.named.items():
        parts.append(
            f"# from {place}\n[{section}]\n"
            'url = "postgresql://host:5432/database"   # or mysql://, mariadb://\n'
            'username = ""\n'
            f'password_env = "{section.upper()}_PASSWORD"\n'
        )
    return "\n".join(parts)
