"""send, tail: events in by the receiver's door, results out of the presenter's."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Annotated, Any

import typer

from lockstep.cli.client import Client, detail
from lockstep.cli.commands.options import AppName, AsJson, StreamName, with_client
from lockstep.cli.output import Exit, console, counted, errors, print_json


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
    body = sys.stdin.buffer.read() if from_stdin else data.encode()
    content_type = "application/x-ndjson" if from_stdin else "application/json"

    async def action(client: Client) -> Any:
        return await client.send(
            app, stream, body, content_type=content_type, idempotency_key=event_id
        )

    answer = with_client(context, action)
    if as_json:
        print_json(answer)
    else:
        console.print(f"accepted {counted(answer['accepted'], 'event')}")
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
    """Follow a stream's results as they are published."""

    async def action(client: Client) -> None:
        seen = 0
        async for identity, event in client.follow(app, stream):
            if as_json:
                print_json({"id": identity, "event": event})
            else:
                console.print(f"{identity or '':>12}  {json.dumps(event)}", markup=False)
            seen += 1
            if count is not None and seen >= count:
                return

    try:
        with_client(context, action)
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise typer.Exit from None
