"""errors, handover, snapshot, revisions, restore: what an operator asks of running apps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote

import typer

from lockstep.cli.commands.asking import asking
from lockstep.cli.commands.going_back import WantedBack, go_back
from lockstep.cli.commands.options import AppName, AsJson
from lockstep.cli.commands.past import PastOutput
from lockstep.cli.output import SHOWN_VERSION, Exit, console, fail, print_json, reported, show
from lockstep.cli.output import errors as errors_out
from lockstep.cli.refusals import RefusedError
from lockstep.cli.times import parsed_ms, shown_ms
from lockstep.events.paths import app_path

ERROR_COLUMNS = ("number", "time", "stream", "reason", "payload", "origin", "position")
REVISION_COLUMNS = ("revision", "taken", "version", "position", "size_bytes", "verified", "epoch")
OF_UNITS = "one of a unit alone cannot be restored: `lockstep restore` takes those without a unit"
Sequences = Annotated[
    list[int] | None, typer.Option(help="Number of a dead letter; may be repeated.")
]


def errors(
    context: typer.Context,
    app: AppName,
    stream: Annotated[str | None, typer.Option(help="Of one stream only.")] = None,
    replay: Sequences = None,
    purge: Sequences = None,
    after: Annotated[int, typer.Option(min=0, help="Only behind this number.")] = 0,
    last: Annotated[int | None, typer.Option(min=1, help="Only up to this number.")] = None,
    since: Annotated[str | None, typer.Option(help="Only from this time on (ISO 8601).")] = None,
    until: Annotated[str | None, typer.Option(help="Only up to this time (ISO 8601).")] = None,
    replay_all: Annotated[
        bool, typer.Option("--replay-all", help="Send all again that the other options leave.")
    ] = False,
    purge_all: Annotated[
        bool, typer.Option("--purge-all", help="Forget all that the other options leave.")
    ] = False,
    limit: Annotated[
        int, typer.Option(min=1, max=1_000, help="How many are listed at once.")
    ] = 100,
    as_json: AsJson = False,
) -> None:
    """List the events that were refused, by a stream or by a sink, and why; send some again, or
    forget them.
    """
    chosen = [bool(one) for one in (replay, purge, replay_all, purge_all)]
    if sum(chosen) > 1:
        fail("only one of --replay, --purge, --replay-all, --purge-all", Exit.USAGE)
    with reported():
        limits: dict[str, Any] = {
            "last": last,
            "since_ms": since and parsed_ms(since),
            "until_ms": until and parsed_ms(until),
            "stream": stream,
        }
    given = {name: value for name, value in limits.items() if value is not None}

    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}{app_path(app)}/errors"
        if any(chosen):
            verb = "replay" if replay or replay_all else "purge"
            wanted = {"sequences": replay or purge} if replay or purge else {"first": after + 1}
            answer = suite.request("POST", f"{url}/{verb}", json_body=wanted | given)
        else:
            params = {"after": str(after), "limit": str(limit)}
            params |= {name: str(value) for name, value in given.items()}
            answer = suite.request("GET", url, params=params)
    if as_json:
        print_json(answer)
    elif "errors" in answer:
        letters = [
            {**one, "number": one["sequence"], "time": shown_ms(one["clock_ms"])}
            for one in answer["errors"]
        ]
        folded = ("reason", "payload", "origin")
        show(letters, ERROR_COLUMNS, as_json=False, title="refused events", folded=folded)
        if len(letters) == limit:
            number = letters[-1]["number"]
            console.print(f"there may be more: --after {number}, or a larger --limit")
    else:
        console.print(told(answer, is_all=replay_all or purge_all))
    if not_done(answer, replay):
        raise typer.Exit(int(Exit.FAILED))


def not_done(answer: Mapping[str, Any], replay: Sequence[int] | None) -> bool:
    """Whether something that was to be sent again was not; says what, and why."""
    refused = {int(number): why for number, why in answer.get("refused", {}).items()}
    if "replayed" in answer:
        missing = set(replay or ()) - set(answer["replayed"]) - refused.keys()
        refused |= dict.fromkeys(missing, "there is no refused event of this number (any more)")
    for why in sorted(set(refused.values())):
        numbers = spans(number for number, its in refused.items() if its == why)
        errors_out.print(f"not sent again: {numbers}: {why}", markup=False, soft_wrap=True)
    return bool(refused)


def spans(numbers: Iterable[int]) -> str:
    """`3, 7-9`."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1:
            found[-1][1:] = [number]
        else:
            found.append([number])
    return ", ".join("-".join(map(str, span)) for span in found)


def told(answer: Mapping[str, Any], *, is_all: bool) -> str:
    """What came of it, and how to go on where there are more: behind what was looked at, as some of
    that may still be there."""
    if "removed" in answer:
        said = f"forgotten: {answer['removed']}"
    else:
        said = f"sent again: {len(answer['replayed'])}"
    if not answer["more"]:
        return said
    end = answer.get("next")  # coordinators of earlier releases do not tell it
    again = f"--after {end}" if is_all and end is not None else "repeat the command"
    return f"{said}\nthere are more: {again}"


def handover(context: typer.Context, app: AppName, as_json: AsJson = False) -> None:
    """Let a ready standby lead an app, without a gap."""
    hint = f"`lockstep status {app}` says who stands by, and how far behind"
    _command(context, app, "handover", as_json=as_json, hint=hint)


def snapshot(context: typer.Context, app: AppName, as_json: AsJson = False) -> None:
    """Take a revision of an app's state now."""
    _command(context, app, "snapshot", as_json=as_json)


def revisions(
    context: typer.Context,
    app: AppName,
    delete: Annotated[
        list[str] | None, typer.Option(help="Delete this revision; may be repeated.")
    ] = None,
    delete_all: Annotated[
        bool, typer.Option("--delete-all", help="Delete all that the app does not need.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the kept revisions of an app's state, newest first; or delete some. The newest stays."""
    if delete and delete_all:
        fail("only one of --delete, --delete-all", Exit.USAGE)

    answer: Any = {"app": app, "deleted": delete}
    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}{app_path(app)}/revisions"
        for one in delete or ():
            suite.request("DELETE", f"{url}/{quote(one, safe='')}")
        if not delete:
            answer = suite.request("DELETE" if delete_all else "GET", url)
    if "revisions" in answer:
        show_revisions(answer["revisions"], as_json=as_json)
    elif as_json:
        print_json(answer)
    else:
        console.print(f"deleted: {len(answer['deleted'])}")


def show_revisions(found: Any, *, as_json: bool) -> None:
    """Which of them are of one unit of a fleet alone is told where there are some."""
    if as_json:
        print_json(found)
        return
    rows = [
        {**one, "version": one["version"][:SHOWN_VERSION], "taken": shown_ms(one["created_ms"])}
        for one in found
    ]
    if not any(one.get("unit") for one in found):
        show(rows, REVISION_COLUMNS, as_json=False, title="revisions")
        return
    columns = (REVISION_COLUMNS[0], "unit", *REVISION_COLUMNS[1:])
    show(rows, columns, as_json=False, title="revisions")
    console.print(OF_UNITS)


def restore(
    context: typer.Context,
    app: AppName,
    revision: Annotated[
        str | None, typer.Argument(help="As `lockstep revisions` names it; the newest without it.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="With the state of this time instead (ISO 8601).")
    ] = None,
    replay: Annotated[
        bool,
        typer.Option("--replay", help="With --to: fold what came since then again."),
    ] = False,
    past_output: Annotated[
        PastOutput, typer.Option(help="With --replay: where the rows go that this gives.")
    ] = PastOutput.ARCHIVE,
    wait: Annotated[
        bool, typer.Option(help="With --to: wait until the app goes on with that state.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Let an app go on with the state of a revision or a time; what it has published stays."""
    if revision is not None and to is not None:
        fail("only one of REVISION, --to", Exit.USAGE)
    if replay and to is None:
        fail("--replay needs --to", Exit.USAGE)
    if to is not None:
        go_back(
            context, app, WantedBack(to, replay=replay, output=past_output),
            wait=wait, as_json=as_json,
        )  # fmt: skip
        return
    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}{app_path(app)}/restore"
        answer = suite.request("POST", url, json_body={"revision": revision})
    if as_json:
        print_json(answer)
    elif answer["done"]:
        console.print(f"{app} goes on with {answer['revision']}")
    else:
        console.print(f"{app} will go on with {answer['revision']} once a processor leads it")


def _command(
    context: typer.Context, app: str, name: str, *, as_json: bool, hint: str | None = None
) -> None:
    """`hint` is for refusals that come without one."""
    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}{app_path(app)}/{name}"
        try:
            answer = suite.request("POST", url, json_body={})
        except RefusedError as error:
            error.hint = error.hint or (hint if error.status == HTTPStatus.CONFLICT else None)
            raise
    if as_json:
        print_json(answer)
    else:
        console.print(answer.get("message", "done"))
