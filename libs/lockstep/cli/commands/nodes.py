"""nodes, logs, drain, rebalance: the processes, and which processors carry what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from lockstep.cli.client import Client, with_client
from lockstep.cli.commands.asking import addresses_of, asking
from lockstep.cli.commands.options import AsJson
from lockstep.cli.log_lines import readable
from lockstep.cli.output import Exit, console, counted, errors, print_json, reported, show
from lockstep.clock import SystemClock

POLL_MS: Final = 500
NODE_COLUMNS: Final = (
    "node",
    "service",
    "version",
    "cpu",
    "memory",
    "host_cpu",
    "leading",
    "drained",
    "apps",
)
MOVE_COLUMNS: Final = ("unit", "what", "from", "to", "why")
LOAD_COLUMNS: Final = ("node", "now", "then")


class LogLevel(StrEnum):
    """From which one on lines are shown."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


WHY: Final[Mapping[str, str]] = {
    "load": "less load there",
    "host_shared": "shares its host with another replica",
    "zone_shared": "shares its zone with another replica",
    "node_drained": "its processor is drained",
}


def nodes(context: typer.Context, as_json: AsJson = False) -> None:
    """List the living processes: version, processor time and memory with their children, and what
    they carry."""
    with asking(context) as suite:
        found = suite.request("GET", f"{suite.addresses.coordinator}/v1/nodes")["nodes"]
    if as_json:
        print_json(found)
        return
    show([node_row(one) for one in found], NODE_COLUMNS, as_json=False, folded=("apps",))
    if mixed := mixed_versions(found):
        console.print(mixed, markup=False, soft_wrap=True)


def node_row(node: Mapping[str, Any]) -> dict[str, Any]:
    """One process, for people; empty where nobody knows."""
    percent, size_bytes = node["process_cpu_percent"], node["resident_bytes"]
    return {
        **node,
        "cpu": None if percent is None else f"{percent} %",
        "memory": None if size_bytes is None else f"{size_bytes / 2**20:.0f} MiB",
        "host_cpu": f"{node['cpu_percent']} %" if node["service"] == "processor" else None,
        "leading": node["leading"] or None,
        "drained": node["drained"] or None,
    }


def mixed_versions(nodes: Sequence[Mapping[str, Any]]) -> str:
    """What it means that not all are of one version; empty where all are."""
    counts = Counter(one["version"] or "an earlier one" for one in nodes)
    if len(counts) < 2:
        return ""
    told = ", ".join(f"{name} ({count} of {len(nodes)})" for name, count in sorted(counts.items()))
    return (
        f"Not all are of one version: {told}. That is as it should be while an upgrade goes on,"
        " one process after the other. Else start the older ones again."
    )


def logs(
    context: typer.Context,
    node: Annotated[str, typer.Argument(help="Name of the process, as `lockstep nodes` says.")],
    lines: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="How many at most; the newest.")
    ] = 100,
    level: Annotated[LogLevel, typer.Option(help="Of that level at least.")] = LogLevel.DEBUG,
    service: Annotated[
        str, typer.Option(help="Which one, where several processes have that name.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Show the last log lines of a process, as far as it keeps them in memory; for
    administrators."""
    params = {
        "lines": str(lines),
        "level": level.value,
        **({"service": service} if service else {}),
    }
    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}/v1/nodes/{quote(node, safe='')}/log"
        answer = suite.request("GET", url, params=params)
    if as_json:
        print_json(answer)
        return
    for one in answer["lines"]:
        console.print(readable(one["line"]), markup=False, soft_wrap=True)
    if not answer["lines"]:
        errors.print(f"{node} keeps no such line", markup=False)


def drain(
    context: typer.Context,
    node: Annotated[str, typer.Argument(help="Name of the processor, as `lockstep status` says.")],
    undo: Annotated[bool, typer.Option("--undo", help="It takes replicas again.")] = False,
    wait: Annotated[bool, typer.Option(help="Until it carries nothing any more.")] = True,
    as_json: AsJson = False,
) -> None:
    """Take everything off a processor, without a gap; `--undo` lets it take replicas again."""

    async def action(client: Client) -> Any:
        url = f"{client.addresses.coordinator}/v1/nodes/{quote(node, safe='')}/drain"
        answer = await client.request("DELETE" if undo else "PUT", url)
        told = None
        while wait and not undo and not is_over(answer):
            if not as_json and (line := progress(answer)) != told:
                console.print(told := line, markup=False, soft_wrap=True)
            await SystemClock().sleep_ms(POLL_MS)
            answer = await client.request("GET", url)
        return answer

    with reported():
        answer = with_client(addresses_of(context), action)
    if as_json:
        print_json(answer)
    else:
        console.print(progress(answer), markup=False, soft_wrap=True)
    if wait and not undo and not answer["empty"]:
        errors.print(no_room(answer), markup=False, soft_wrap=True)
        raise typer.Exit(int(Exit.FAILED))


def is_over(answer: Mapping[str, Any]) -> bool:
    """It is empty, or nothing of what is left can go anywhere."""
    return bool(answer["empty"]) or (bool(answer["left"]) and answer["left"] == answer["no_room"])


def progress(answer: Mapping[str, Any]) -> str:
    """How far a drain is, in a line."""
    node = answer["node"]
    if not answer["drained"]:
        return f"{node} takes replicas"
    if answer["empty"]:
        return f"{node} is empty, and takes nothing until `lockstep drain {node} --undo`"
    left = max(len(answer["left"]), answer["carried"])
    return f"{node} still carries {counted(left, 'unit')} and leads {len(answer['leads'])}"


def no_room(answer: Mapping[str, Any]) -> str:
    """Why a drain does not come to its end."""
    units = ", ".join(answer["no_room"])
    return (
        f"no other processor can take {units}. Start one, and the drain goes on; or stop"
        f" {answer['node']} as it is: others lead what it carried"
    )


def rebalance(
    context: typer.Context,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show the moves; nothing changes.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Level the processors now; `--dry-run` shows which replicas and leads would move, and why."""

    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}/v1/rebalance"
        answer = suite.request("POST", url, json_body={"dry_run": dry_run})
    if as_json:
        print_json(answer)
        return
    if not answer["moves"]:
        console.print("nothing to move: the processors are level")
        return
    moves = [{**one, "why": WHY.get(one["why"], one["why"])} for one in answer["moves"]]
    title = "moves that would be made" if dry_run else "moves that are made, a few at a time"
    show(moves, MOVE_COLUMNS, as_json=False, title=title, folded=("why",))
    show(answer["loads"], LOAD_COLUMNS, as_json=False, title="load, in thousandths of a core")
    if answer["not_ready"]:
        console.print(waits(answer["not_ready"]), markup=False, soft_wrap=True)


def waits(not_ready: Sequence[str]) -> str:
    """Nothing is moved while something is not ready."""
    return f"this waits until these are ready: {', '.join(not_ready)}"
