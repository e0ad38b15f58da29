"""The page of errors: what is chosen stays chosen, and what is shown is never made up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import Client, ui

from lockstep.events import UnavailableError
from lockstep_services.console.pages.errors import Letters
from tests.unit.services.console.on_a_page import press, settled, texts, view_of


class Store:
    """An error store; away when `letters` is None."""

    def __init__(self) -> None:
        self.letters: list[dict[str, Any]] | None = []
        self.sent: list[Any] = []

    async def ask(self, path: str, **_: str) -> Any:
        """Its letters, the oldest first."""
        if self.letters is None:
            raise UnavailableError("the coordinator is away")
        return {"errors": self.letters if "/Rooms/" in path else []}

    async def tell(self, _method: str, path: str, body: Any = None) -> Any:
        """Forgets some."""
        assert self.letters is not None
        self.sent.append((path, body))
        self.letters = [one for one in self.letters if one["sequence"] not in body["sequences"]]
        return {"removed": len(body["sequences"])}


def letter(sequence: int) -> dict[str, Any]:
    """A refused event."""
    return {
        "sequence": sequence, "origin": "receiver/http", "stream": "Reading", "clock_ms": 0,
        "reason": f"reason {sequence}", "payload": "{}",
    }  # fmt: skip


def boxes(client: Client) -> list[bool]:
    """Of the letters, from above."""
    return [one.value for one in client.elements.values() if isinstance(one, ui.checkbox)]


def letters_of(client: Client, store: Store, apps: Sequence[str] = ("Rooms", "Other")) -> Letters:
    """The page's."""
    with client:
        return Letters(view_of(store), apps)


async def test_what_is_chosen_stays_so_when_a_letter_comes(client: Client) -> None:
    """And is what is sent; one that is gone is not chosen any more."""
    store = Store()
    store.letters = [letter(1), letter(2)]
    letters = letters_of(client, store)
    letters.show(await letters.fetch())
    first = next(one for one in client.elements.values() if isinstance(one, ui.checkbox))
    first.set_value(True)
    store.letters.append(letter(3))
    letters.show(await letters.fetch())
    assert boxes(client) == [False, True, False]
    press(client, "Forget")
    await settled()
    press(client, "Forget")
    await settled()
    assert store.sent == [("/v1/apps/Rooms/errors/purge", {"sequences": [2]})]
    assert boxes(client) == [False, False]
    store.letters = []
    letters.show(await letters.fetch())
    assert "Rooms has refused nothing." in texts(client)


async def test_while_the_suite_is_away_what_was_shown_stays(client: Client) -> None:
    """Nobody says that there are no errors; of another app nothing is shown before it is told."""
    store = Store()
    store.letters = [letter(1)]
    letters = letters_of(client, store)
    letters.show(await letters.fetch())
    late = await letters.fetch()
    store.letters = None
    with client:
        await letters._load()
    assert "reason 1" in texts(client)
    letters._app.set_value("Other")
    await settled()
    letters.show(late)
    assert "reason 1" not in texts(client)
    assert "No errors" not in texts(client)
    store.letters = []
    letters.show(await letters.fetch())
    assert "No errors" in texts(client)
