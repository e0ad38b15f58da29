"""nats-users: who may send to apps, or view them, over the bus itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lockstep.cli.bus_clients import BusClientsError, accounts, read_description
from lockstep.cli.output import console, counted, reported
from lockstep.embedded.credentials import write_private


def nats_users(
    description: Annotated[
        Path, typer.Argument(dir_okay=False, help="TOML: the clients, and what each may.")
    ],
    file: Annotated[
        Path, typer.Argument(dir_okay=False, help="What the server includes; yours alone to read.")
    ],
) -> None:
    """Write accounts for a NATS server: who may send to which apps, or view them, over the bus."""
    with reported():
        suite, clients = read_description(description)
        try:
            write_private(file, accounts(suite, clients))
        except OSError as error:
            reason = f"cannot be written: {error.strerror}"
            raise BusClientsError(reason, where=str(file)) from error
    console.print(f"{file}: {counted(len(clients), 'client')}", markup=False, soft_wrap=True)
