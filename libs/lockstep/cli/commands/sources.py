"""sources: the named databases of the settings, and whether they answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from lockstep.cli.commands.options import AsJson
from lockstep.cli.output import Exit, errors, reported, show
from lockstep.databases import (
    Datasource,
    DatasourceError,
    Datasources,
    check_datasource,
    read_datasources,
)
from lockstep.events import LockstepError
from lockstep.settings import load_settings

COLUMNS: Final = ("name", "place", "user", "connections")
ACTIONS: Final = ("list", "test")


def sources(
    action: Annotated[str, typer.Argument(help="list, or test: connect to each.")] = "list",
    names: Annotated[list[str] | None, typer.Argument(help="Some of them.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the datasources that apps can name, or try to connect to them."""
    with reported():
        known = read_datasources(load_settings().datasources.file)
        if action not in ACTIONS:
            raise DatasourceError(f"there is no {action!r}", hint=" or ".join(ACTIONS))
        chosen = [_named(known, name) for name in names or known]
    rows = [_row(one) for one in chosen]
    if action == "test":
        answers = asyncio.run(_tested(chosen))
        rows = [{**row, "answer": answer} for row, (answer, _) in zip(rows, answers, strict=True)]
    columns = (*COLUMNS, "answer") if action == "test" else COLUMNS
    show(rows, columns, as_json=as_json, folded=("answer",))
    if not rows:
        errors.print("there are none: name their file in the setting datasources.file")
    if action == "test" and not all(is_there for _, is_there in answers):
        raise typer.Exit(int(Exit.FAILED))


def _named(known: Datasources, name: str) -> Datasource:
    if name not in known:
        raise DatasourceError(f"there is no datasource {name!r}", hint=f"there is {list(known)}")
    return known[name]


def _row(one: Datasource) -> Mapping[str, Any]:
    return {
        "name": one.name, "place": one.place, "user": one.username,
        "connections": one.max_connections,
    }  # fmt: skip


async def _tested(chosen: Sequence[Datasource]) -> list[tuple[str, bool]]:
    return [await _answer(one) for one in chosen]


async def _answer(one: Datasource) -> tuple[str, bool]:
    """What the server says, or why it cannot be had."""
    try:
        return await check_datasource(one), True
    except LockstepError as error:
        return str(error), False
