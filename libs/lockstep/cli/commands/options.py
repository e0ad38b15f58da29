"""Options that several commands share, and how a command reaches a running suite."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from lockstep.cli.addresses import DEFAULT_DIRECTORY, find_addresses
from lockstep.cli.client import Client
from lockstep.cli.output import reported

AppName = Annotated[str, typer.Argument(help="Name of the app.")]
StreamName = Annotated[str, typer.Argument(help="Name of the stream.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the suite is, as far as the command line and the environment say."""

    directory: Path
    receiver: str | None = None
    presenter: str | None = None
    coordinator: str | None = None
    token: str | None = None


def connection_options(
    context: typer.Context,
    directory: Annotated[
        Path,
        typer.Option(
            envvar="LOCKSTEP_CLIENT__DIRECTORY",
            help="The suite's data folder; `lockstep run` leaves its addresses there.",
        ),
    ] = DEFAULT_DIRECTORY,
    receiver: Annotated[str | None, typer.Option(envvar="LOCKSTEP_CLIENT__RECEIVER_URL")] = None,
    presenter: Annotated[str | None, typer.Option(envvar="LOCKSTEP_CLIENT__PRESENTER_URL")] = None,
    coordinator: Annotated[
        str | None, typer.Option(envvar="LOCKSTEP_CLIENT__COORDINATOR_URL")
    ] = None,
    token: Annotated[
        str | None, typer.Option(envvar="LOCKSTEP_CLIENT__TOKEN", help="Bearer token of the suite.")
    ] = None,
) -> None:
    """Streaming SQL (SiddhiQL) that loses nothing and publishes nothing twice."""
    context.obj = Connection(directory, receiver, presenter, coordinator, token)


def with_client(context: typer.Context, action: Callable[[Client], Awaitable[Result]]) -> Result:
    """Runs `action` on a client of the running suite; errors become messages and exit codes."""
    connection: Connection = context.obj

    async def work() -> Result:
        addresses = find_addresses(
            connection.directory,
            receiver=connection.receiver,
            presenter=connection.presenter,
            coordinator=connection.coordinator,
            token=connection.token,
        )
        async with Client(addresses) as client:
            return await action(client)

    with reported():
        return asyncio.run(work())
