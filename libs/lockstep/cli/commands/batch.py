"""batch deploy, list, show, run, history, pause, resume, remove, cancel: scripts at their times."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from lockstep.cli.commands.asking import asking
from lockstep.cli.commands.options import AsJson
from lockstep.cli.output import Exit, console, counted, fail, print_json, show
from lockstep.cli.times import shown_ms

SUFFIXES: Final = (".sql", ".py")
LISTED: Final = ("script", "version", "cron", "next", "output", "paused", "last", "ended")
RUNS: Final = ("due", "state", "version", "rows", "attempts", "begun", "ended", "error")
commands = typer.Typer(
    name="batch",
    no_args_is_help=True,
    help="Scripts in SQL and PySpark over the archive, run at their times: deploy, list, show, "
    "run, history,\npause, resume, remove, cancel.",
)
Name = Annotated[str, typer.Argument(help="Of the script.")]
Scripts = Annotated[
    list[Path], typer.Argument(exists=True, help="Files .sql and .py, or folders of them.")
]


@commands.command()
def deploy(
    context: typer.Context,
    paths: Scripts,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say whether they can be taken.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Deploy scripts: all, or none when one cannot be taken. A changed one is a new version."""
    files = _files(paths)
    body = {"scripts": [_read(file) for file in files], "dry_run": dry_run}
    with asking(context) as suite:
        answer = suite.request("POST", f"{suite.addresses.coordinator}/v1/batch", json_body=body)
    if as_json:
        print_json(answer)
        return
    for one in answer["scripts"]:
        console.print(_said(one, dry_run=dry_run), markup=False, soft_wrap=True)


def _files(paths: list[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        found += [one for one in inside if one.suffix in SUFFIXES]
    if not found:
        fail("there is no .sql and no .py file", Exit.USAGE)
    return found


def _read(file: Path) -> dict[str, str]:
    try:
        return {"file": file.name, "text": file.read_text("utf-8-sig")}
    except (OSError, UnicodeDecodeError) as error:
        fail(f"cannot read {file}: {error}", Exit.USAGE)


def _said(one: Mapping[str, Any], *, dry_run: bool) -> str:
    if dry_run:
        return f"{one['script']} can be taken"
    if not one["changed"]:
        return f"{one['script']} is there as it is, version {one['version']}"
    due = f", next at {shown_ms(one['next_ms'])}" if one["next_ms"] else ""
    return f"deployed {one['script']} version {one['version']}{due}"


@commands.command("list")
def list_scripts(context: typer.Context, as_json: AsJson = False) -> None:
    """List the scripts: when each is due next, and how its last run ended."""
    with asking(context) as suite:
        found = suite.request("GET", f"{suite.addresses.coordinator}/v1/batch")["scripts"]
    if not as_json:
        found = [_line(one) for one in found]
    show(found, LISTED, as_json=as_json, title="scripts")


def _line(one: Mapping[str, Any]) -> dict[str, Any]:
    last = one["last"] or {}
    ended = shown_ms(last.get("ended_ms"))
    return {**one, "next": shown_ms(one["next_ms"]), "last": last.get("state"), "ended": ended}


@commands.command("show")
def show_script(
    context: typer.Context,
    name: Name,
    version: Annotated[
        int | None, typer.Option("--version", min=1, help="An older one; kept are the last ones.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print a script as it is deployed, or as it was."""
    answer = _asked(context, "GET", name, "" if version is None else f"/versions/{version}")
    if as_json:
        print_json(answer)
    else:
        console.print(answer["text"], markup=False, soft_wrap=True, end="")


@commands.command()
def history(
    context: typer.Context,
    name: Name,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Runs at most.")] = 20,
    log: Annotated[bool, typer.Option("--log", help="The last lines of the newest run.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the runs of a script, the newest first: what ran, which version, how it ended."""
    found = _asked(context, "GET", name, "/runs", {"limit": str(limit)})["runs"]
    if log and not as_json:
        for line in next((one["log"] for one in found if one["log"]), []):
            console.print(line, markup=False, soft_wrap=True)
        return
    if not as_json:
        times = {"due": "due_ms", "begun": "begun_ms", "ended": "ended_ms"}
        found = [{**one, **{to: shown_ms(one[of]) for to, of in times.items()}} for one in found]
    show(found, RUNS, as_json=as_json, title=f"runs of {name}", folded=("error",))


@commands.command()
def run(context: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Run a script once, now, beside its times."""
    answer = _asked(context, "POST", name, "/run")
    _tell(answer, f"{name} will run; `lockstep batch history {name}` shows it", as_json=as_json)


@commands.command()
def pause(context: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Let a script run no more at its times; those that pass meanwhile are not made up for."""
    _tell(_asked(context, "POST", name, "/pause"), f"{name} is paused", as_json=as_json)


@commands.command()
def resume(context: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Let a paused script run again."""
    answer = _asked(context, "POST", name, "/resume")
    due = f", next at {shown_ms(answer['next_ms'])}" if answer["next_ms"] else ""
    _tell(answer, f"{name} runs again{due}", as_json=as_json)


@commands.command()
def cancel(context: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """End the run of a script that is under way, or the next that waits."""
    answer = _asked(context, "POST", name, "/cancel")
    due, state = shown_ms(answer["due_ms"]), answer["state"]
    said = "is cancelled" if state == "cancelled" else "is being ended"
    _tell(answer, f"the run of {name} for {due} {said}", as_json=as_json)


@commands.command()
def remove(context: typer.Context, names: list[str], as_json: AsJson = False) -> None:
    """Forget scripts and their runs; the tables that they wrote stay."""
    answers = [_asked(context, "DELETE", name) for name in names]
    if as_json:
        print_json(answers)
    else:
        console.print(f"removed {counted(len(answers), 'script')}")


def _asked(
    context: typer.Context,
    method: str,
    name: str,
    path: str = "",
    params: Mapping[str, str] | None = None,
) -> Any:
    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}/v1/batch/{quote(name, safe='')}{path}"
        return suite.request(method, url, params=params)


def _tell(answer: Any, said: str, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        console.print(said, markup=False, soft_wrap=True)
