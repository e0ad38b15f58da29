"""How a command reaches a running suite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from lockstep.cli.addresses import Addresses, find_addresses
from lockstep.cli.caller import Caller
from lockstep.cli.commands.options import Connection
from lockstep.cli.output import reported


def addresses_of(context: typer.Context) -> Addresses:
    """Where the suite is; UnavailableError when nothing says so."""
    connection: Connection = context.obj
    return find_addresses(
        connection.directory,
        url=connection.url,
        receiver=connection.receiver,
        presenter=connection.presenter,
        coordinator=connection.coordinator,
        token=connection.token,
        tls=connection.tls,
    )


@contextmanager
def asking(context: typer.Context) -> Iterator[Caller]:
    """The running suite; errors become messages and exit codes."""
    with reported():
        yield Caller(addresses_of(context))
