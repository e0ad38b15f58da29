"""connectors, pause, resume: how the sources and sinks of an app are doing, and stopping some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from lockstep.cli.commands.asking import asking
from lockstep.cli.commands.options import AppName, AsJson
from lockstep.cli.output import console, print_json, show
from lockstep.cli.times import shown_ms
from lockstep.events.paths import app_path

COLUMNS: Final = ("element", "type", "state", "since", "per s", "last error", "reason", "nodes")
Elements = Annotated[
    list[str] | None,
    typer.Argument(help="As `lockstep connectors` names it; all that the app has without it."),
]


def connectors(context: typer.Context, app: AppName, as_json: AsJson = False) -> None:
    """Show how the sources and sinks of an app are doing: paused, retrying since when and why."""
    with asking(context) as suite:
        answer = suite.request("GET", f"{suite.addresses.coordinator}{app_path(app)}/connectors")
    if as_json:
        print_json(answer)
    else:
        show_connectors(answer["connectors"], f"sources and sinks of {app}")


def show_connectors(found: Sequence[Mapping[str, Any]], title: str) -> None:
    """As a table."""
    rows = [
        {
            **one,
            "since": shown_ms(one["since_ms"] or None),
            "per s": f"{one['per_s']:,.1f}",
            "last error": _last_error(one),
            "nodes": ", ".join(one["nodes"]),
        }
        for one in found
    ]
    show(rows, COLUMNS, as_json=False, title=title, folded=("reason", "last error"))


def _last_error(one: Mapping[str, Any]) -> str:
    """Nothing where the reason says it."""
    if not one["last_error_ms"] or one["last_error"] == one["reason"]:
        return ""
    return f"{shown_ms(one['last_error_ms'])} {one['last_error']}"


def pause(
    context: typer.Context,
    app: AppName,
    elements: Elements = None,
    why: Annotated[str, typer.Option(help="For who looks at it later.")] = "",
    as_json: AsJson = False,
) -> None:
    """Take nothing of sources any more, and deliver nothing to sinks, until `lockstep resume`; what
    is under way ends. Rows for a paused sink wait in the app's output log.
    """
    _change(context, app, elements, "pause", {"why": why}, as_json=as_json)


def resume(
    context: typer.Context, app: AppName, elements: Elements = None, as_json: AsJson = False
) -> None:
    """Let paused sources and sinks of an app go on where they stopped."""
    _change(context, app, elements, "resume", {}, as_json=as_json)


def _change(
    context: typer.Context,
    app: str,
    elements: Sequence[str] | None,
    verb: str,
    body: Mapping[str, str],
    *,
    as_json: bool,
) -> None:
    places = [f"/{quote(one, safe='')}" for one in elements or ()] or [""]
    answer: Any = {}
    with asking(context) as suite:
        for place in places:
            url = f"{suite.addresses.coordinator}{app_path(app)}/connectors{place}/{verb}"
            answer = suite.request("POST", url, json_body=body)
    if as_json:
        print_json(answer)
        return
    console.print(paused_said(app, verb, answer["paused"]), markup=False, soft_wrap=True)


def paused_said(app: str, verb: str, paused: Sequence[str]) -> str:
    """What is paused now, whoever has paused it."""
    if verb == "pause" and not paused:
        return f"{app} has no sources or sinks to pause; its HTTP and bus doors stay open"
    still = "still paused" if verb == "resume" else "paused"
    return f"{still} of {app}: {', '.join(paused) or 'nothing'}"
