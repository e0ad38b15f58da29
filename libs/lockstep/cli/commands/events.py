"""send, tail: events in by the receiver's door, results out of the presenter's."""

from __future__ import annotations

import json
import sys
from codecs import BOM_UTF8
from contextlib import suppress
from typing import Annotated

import typer

from lockstep.cli.commands.asking import asking
from lockstep.cli.commands.options import AppName, AsJson, StreamName
from lockstep.cli.output import Exit, console, counted, errors, print_json
from lockstep.cli.refusals import detail
from lockstep.events.paths import stream_path


def send(
    context: typer.Context,
    app: AppName,
    stream: StreamName,
    data: Annotated[
        str,
        typer.Argument(help="A JSON object, a JSON array (one chunk), or - for NDJSON on stdin."),
    ],
    event_id: Annotated[
        str | None, typer.Option("--id", help="Makes repeating this command harmless.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Send events; returns when they are durable. Exit code 2 when some were refused."""
    from_stdin = data == "-"
    body = (sys.stdin.buffer.read() if from_stdin else data.encode()).removeprefix(BOM_UTF8)
    content_type = "application/x-ndjson" if from_stdin else "application/json"

    headers = {"Content-Type": content_type}
    if event_id is not None:
        headers["Idempotency-Key"] = event_id
    with asking(context) as suite:
        url = f"{suite.addresses.receiver}{stream_path(app, stream)}/events"
        answer = suite.request("POST", url, body=body, headers=headers)
        accepted = counted(answer["accepted"], "event")
        was_there = bool(answer.get("duplicate"))
    if as_json:
        print_json(answer)
    else:
        # Under its id something was sent to this stream before, whatever it held.
        console.print(f"{accepted}: was there already" if was_there else f"accepted {accepted}")
        for refusal in answer.get("refused", ()):
            errors.print(f"refused {detail(refusal)}", markup=False, soft_wrap=True)
    if answer.get("refused"):
        raise typer.Exit(int(Exit.USAGE))


def tail(
    context: typer.Context,
    app: AppName,
    stream: StreamName,
    count: Annotated[int | None, typer.Option("-n", min=1, help="Stop after so many.")] = None,
    as_json: AsJson = False,
) -> None:
    """Follow a stream's results as they are published, over upgrades and restarts.

    Rows come on stdout, all else is said on stderr. Exit code 3 when nobody answers any more.
    """

    def tell(text: str) -> None:
        errors.print(text, markup=False, soft_wrap=True)

    with suppress(KeyboardInterrupt), asking(context) as suite:
        for seen, (identity, event) in enumerate(suite.follow(app, stream, tell), 1):
            if as_json:
                print_json({"id": identity, "event": event})
            else:
                console.print(
                    f"{identity or '':>12}  {json.dumps(event)}", markup=False, soft_wrap=True
                )
                console.file.flush()  # whoever reads along may wait for this row
            if seen == count:
                return
