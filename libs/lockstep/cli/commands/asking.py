"""How a command reaches a running suite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import typer

from lockstep.cli.addresses import Addresses, find_addresses
from lockstep.cli.caller import Caller
from lockstep.cli.commands.options import Connection
from lockstep.cli.openid import refreshed
from lockstep.cli.output import reported
from lockstep.clock import SystemClock


def addresses_of(context: typer.Context, *, refreshes: bool = True) -> Addresses:
    """Where the suite is; UnavailableError when nothing says so. SignInError where the session of
    who signed in at a provider has ended."""
    connection: Connection = context.obj
    found = find_addresses(
        connection.directory,
        url=connection.url,
        receiver=connection.receiver,
        presenter=connection.presenter,
        coordinator=connection.coordinator,
        token=connection.token,
        tls=connection.tls,
    )
    if connection.token is not None or not refreshes:
        return found
    token = refreshed(connection.directory, found.coordinator, SystemClock())
    return found if token is None else replace(found, token=token)


@contextmanager
def asking(context: typer.Context, *, refreshes: bool = True) -> Iterator[Caller]:
    """The running suite; errors become messages and exit codes."""
    with reported():
        yield Caller(addresses_of(context, refreshes=refreshes))
