"""Apps of Siddhi 5 that stand in other files: `kind: SiddhiProcess` of its operator on Kubernetes,
and the templates of business rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent
from typing import Any, Final

from lockstep.migration.findings import Findings, Place
from lockstep.migration.plans import PlanText, plan_name
from lockstep.migration.reading import MAX_FILE_BYTES, SourceFile, UnreadableError

YAML: Final = (".yaml", ".yml")

_KIND: Final = re.compile(r"^kind:\s*['\"]?SiddhiProcess['\"]?\s*(#.*)?$", re.MULTILINE)
_BLOCK: Final = re.compile(r"^(?P<before>[\s-]*)script:\s*\|[-+]?\s*(#.*)?$")
_OTHER_APP: Final = re.compile(r"^[\s-]*(script|configMap):\s*(.*)$")
_KEY: Final = re.compile(r"^ *(\w+):")
_NAME: Final = re.compile(r"@app:name\s*\(\s*['\"]+([^'\"]+)", re.IGNORECASE)

_ELSEWHERE: Final = {
    "script": (
        "only a text behind 'script: |' is read",
        "write the app into a file that ends with .siddhi, and import that",
    ),
    "configMap": (
        "the app stands in a ConfigMap of the cluster",
        "write the app into a file that ends with .siddhi, and import that",
    ),
}
_SETTINGS: Final = {
    "container": "the values of ${NAME} in its apps go to: lockstep deploy --set NAME=VALUE",
    "runner": "what of it is meant goes into the settings of Lockstep",
}
_OWN: Final = ("messagingSystem", "persistentVolumeClaim")
"""Parts whose work Lockstep does itself."""


def processes_of(file: SourceFile, findings: Findings) -> list[PlanText] | None:
    """The apps in `spec.apps` of a file in YAML; None when it is of another kind."""
    if b"SiddhiProcess" not in file.data:
        return None
    if len(file.data) > MAX_FILE_BYTES:
        raise UnreadableError(Place(file.name, 1), f"it has more than {MAX_FILE_BYTES} bytes")
    try:
        text = file.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(Place(file.name, 1), "it is no text in UTF-8") from error
    found: list[PlanText] = []
    read = False
    for first, lines in _documents(text.splitlines()):
        if _KIND.search("\n".join(lines)):
            read = True
            found += _apps(file.name, first, lines, findings)
    return found if read else None


def _documents(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The documents of a file, each with the number of its first line."""
    first = 1
    for number, line in enumerate([*lines, "---"], start=1):
        if line.startswith("---"):
            yield first, lines[first - 1 : number - 1]
            first = number + 1


def _apps(file: str, first: int, lines: list[str], findings: Findings) -> list[PlanText]:
    """The blocks behind `script: |`. What is read otherwise, or not at all, is reported."""
    found: list[PlanText] = []
    section, part = "", ""
    level = next((_indent(one) for one in lines if one.strip() == "apps:"), -1)
    at = 0
    while at < len(lines):
        line, place = lines[at], Place(file, first + at)
        at += 1
        key = _KEY.match(line)
        if key is not None and _indent(line) == 0:
            section, part = key[1], ""
        elif key is not None and _indent(line) == level and section == "spec":
            part = key[1]
            _report_part(part, place, findings)
        if part != "apps":
            continue
        block, other = _BLOCK.match(line), _OTHER_APP.match(line)
        if block is not None:
            begin, at = at, _end_of_block(lines, at, len(block["before"]))
            text = dedent("\n".join(lines[begin:at])) + "\n"
            found.append(PlanText(plan_name(file), text, file, first + begin))
        elif other is not None:
            why, suggestion = _ELSEWHERE[other[1]]
            findings.to_decide(place, f"{other[1]}: {other[2]}", why, suggestion)
    return found


def _report_part(part: str, place: Place, findings: Findings) -> None:
    what = f"{part} of a SiddhiProcess"
    if part in _OWN:
        findings.dropped(place, what, "Lockstep keeps its logs and snapshots itself")
    elif part != "apps":
        why = "Siddhi's operator on Kubernetes reads it, and Lockstep runs without that"
        findings.to_decide(place, what, why, _SETTINGS.get(part, ""))


def _end_of_block(lines: list[str], at: int, parent: int) -> int:
    """Behind the last line that is indented more than the key of the block."""
    while at < len(lines) and (not lines[at].strip() or _indent(lines[at]) > parent):
        at += 1
    return at


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def is_template_group(value: Any) -> bool:
    """Whether a JSON document is one of the business rules' templates."""
    return isinstance(value, dict) and isinstance(value.get("templateGroup"), dict)


def report_templates(group: dict[str, Any], file: SourceFile, findings: Findings) -> None:
    """Says which apps are in it: they are texts with places that people fill in."""
    names = list(dict.fromkeys(_template_names(group))) or ["none that can be read"]
    findings.to_decide(
        Place(file.name, 1),
        f"business rule templates {group.get('name') or ''}: {', '.join(names)}",
        "its apps have places that people fill in, and run with the values of each rule",
        "write each 'content' into a file that ends with .siddhi, declare its ${…} as parameters"
        " in front, and keep it by: lockstep templates put FILE",
    )


def _template_names(value: Any) -> Iterator[str]:
    """The names of the apps in it, wherever they stand."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += reversed(one.values())
        elif isinstance(one, list):
            waiting += reversed(one)
        elif isinstance(one, str):
            yield from _NAME.findall(one)
