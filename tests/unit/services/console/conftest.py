"""One console for all tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI
from nicegui import Client, ui

from lockstep.cli.addresses import Addresses
from lockstep.clock import VirtualClock
from lockstep.settings import load_settings
from lockstep_services.console.server import built
from tests.unit.services.console.on_a_page import started

NOWHERE = Addresses("http://127.0.0.1:9", "http://127.0.0.1:9", "http://127.0.0.1:9")


@pytest.fixture(scope="session")
def application(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """A console whose suite is away; there can be one in a process."""
    folder = tmp_path_factory.mktemp("suite")
    NOWHERE.write(folder)
    return built(load_settings({"LOCKSTEP_CLIENT__DIRECTORY": str(folder)}), VirtualClock())


@pytest.fixture
async def client(application: FastAPI) -> AsyncIterator[Client]:
    """A page that no browser shows; elements are made `with` it."""
    async with started(application):
        made = Client(ui.page("/nowhere"))
        yield made
        made.delete()
