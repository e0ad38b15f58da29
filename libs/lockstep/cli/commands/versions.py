"""versions: the texts of an app that were deployed, one of them, two beside each other, and going
back to one."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from lockstep.cli.caller import Caller
from lockstep.cli.commands.asking import asking
from lockstep.cli.commands.options import AppName, AsJson
from lockstep.cli.log_lines import harmless
from lockstep.cli.output import SHOWN_VERSION, Exit, console, fail, print_json, show
from lockstep.cli.times import shown_ms
from lockstep.events.paths import app_path

COLUMNS: Final = ("number", "deployed", "by", "how", "version", "size_bytes", "runs")
HOW: Final[Mapping[str, str]] = {
    "fresh": "new app",
    "upgrade": "upgrade",
    "template": "of a template",
    "restore": "an earlier text again",
    "earlier": "before versions were kept",
}
"""How a text came to be deployed, for people."""


def versions(
    context: typer.Context,
    app: AppName,
    diff: Annotated[
        tuple[int, int] | None,
        typer.Option(metavar="A B", help="Show what differs between two versions."),
    ] = None,
    number: Annotated[
        int | None, typer.Option("--show", metavar="N", help="Print the text of a version.")
    ] = None,
    deploy: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Deploy the text of a version again, as `lockstep deploy` would."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the texts of an app that were deployed, the newest first; show one, show what differs
    between two, or deploy one again."""
    if sum(one is not None for one in (diff, number, deploy)) > 1:
        fail("only one of --diff, --show, --deploy", Exit.USAGE)
    with asking(context) as suite:
        if diff is not None:
            _show_difference(*(_version(suite, app, one) for one in diff), as_json=as_json)
        elif number is not None:
            _show_text(_version(suite, app, number), as_json=as_json)
        elif deploy is not None:
            _deploy(suite, _version(suite, app, deploy), as_json=as_json)
        else:
            _list(suite.request("GET", _path(suite, app))["versions"], app, as_json=as_json)


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """As a unified diff; nothing where the texts are the same."""
    before, after = (f"{one['app']} version {one['number']}" for one in (old, new))
    found = difflib.unified_diff(
        old["text"].splitlines(), new["text"].splitlines(), before, after, lineterm=""
    )
    return list(found)


def _show_difference(old: Mapping[str, Any], new: Mapping[str, Any], *, as_json: bool) -> None:
    found = difference(old, new)
    if as_json:
        print_json({"from": old["number"], "to": new["number"], "diff": found})
        return
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in found:
        console.print(line, style=styles.get(line[:1], ""), markup=False, soft_wrap=True)
    if not found:
        console.print(f"versions {old['number']} and {new['number']} have the same text")


def _show_text(one: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(one)
    else:
        # A file gets every character: it may be deployed again.
        text = harmless(one["text"]) if console.is_terminal else one["text"]
        typer.echo(text, nl=not text.endswith("\n"))


def _deploy(suite: Caller, one: Mapping[str, Any], *, as_json: bool) -> None:
    url = f"{suite.addresses.coordinator}/v1/apps"
    answer = suite.request("PUT", url, json_body={"text": one["text"]})
    if as_json:
        print_json(answer)
        return
    app, number = answer["app"], one["number"]
    if answer["changed"]:
        console.print(f"deployed {app} with the text of version {number}", markup=False)
    else:
        console.print(f"{app} has the text of version {number} already", markup=False)


def _list(found: Sequence[Mapping[str, Any]], app: str, *, as_json: bool) -> None:
    rows = [
        {
            **one,
            "deployed": shown_ms(one["deployed_ms"]),
            "by": one["who"] or None,
            "how": HOW.get(one["how"], one["how"]),
            "version": one["version"][:SHOWN_VERSION],
            "runs": one["deployed"] or None,
        }
        for one in found
    ]
    show(found if as_json else rows, COLUMNS, as_json=as_json, title=f"versions of {app}")


def _version(suite: Caller, app: str, number: int) -> Any:
    return suite.request("GET", f"{_path(suite, app)}/{number}")


def _path(suite: Caller, app: str) -> str:
    return f"{suite.addresses.coordinator}{app_path(app)}/versions"
