"""What callers show that is nothing: they are nobody, and nothing fails because of it. Who came in
does not stay because the store is away."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest
from aiohttp.test_utils import make_mocked_request

from lockstep.clock import SeededRandomness, VirtualClock
from lockstep.events import UnavailableError
from lockstep.frame.accounts import AccountBook
from lockstep.frame.callers import Callers, Passwords
from lockstep.rights import Grant, Kind, Role, administrator
from lockstep.rights.accounts import Change, Token, User, digest_of, token_text
from lockstep.rights.passwords import hashed
from lockstep.settings import load_settings
from lockstep.store.memory import MemoryStore
from lockstep.telemetry import get_logger

ADMINISTRATOR = frozenset({Grant(Role.ADMINISTER)})
SETTINGS = load_settings({}).rights
PASSWORD = "correct horse battery"
T = TypeVar("T")


class Replacing:
    """Works at once; while the first piece of work is under way the user gets another password."""

    def __init__(self, book: AccountBook, later: User) -> None:
        self.book = book
        self.later: User | None = later

    async def run(self, work: Callable[[], T]) -> T:
        """What comes of it."""
        found, later, self.later = work(), self.later, None
        if later is not None:
            await self.book.change(lambda _: Change([later]))
        return found

    def close(self) -> None:
        """Nothing is kept open."""


@pytest.mark.parametrize(
    "shown",
    ["Basic é", "Basic", "Basic eee", "Basic !", "Bearer é",
     f"Basic {base64.b64encode(b'a:' + bytes([255])).decode()}"],
    ids=range(6),
)  # fmt: skip
async def test_credentials_that_cannot_be_read_are_wrong_ones(shown: str) -> None:
    """Letters that base64 has not, half of it, no text in it."""
    callers = Callers("the-cluster-secret", VirtualClock())
    request = make_mocked_request("GET", "/", {"Authorization": shown})
    assert await callers.of(request) is None


async def test_a_token_runs_out_while_the_store_is_away() -> None:
    """Who looks after those who came in is called after each look that fails, too. In the end all
    are out but the cluster: others may have been revoked meanwhile."""
    clock, store = VirtualClock(0), MemoryStore()
    book = AccountBook(store.accounts, clock, SETTINGS, get_logger())
    callers = Callers("the-cluster-secret", clock, book)
    tokens = {name: token_text(name, "secret") for name in ("short", "long")}
    made = [
        Token(name, name, digest_of(given), 0, 1_000 if name == "short" else 10**12, ADMINISTRATOR)
        for name, given in tokens.items()
    ]
    await book.change(lambda _: Change([User("ann", 0, grants=ADMINISTRATOR), *made]))
    short, long = [await callers.by_token(given) for given in tokens.values()]
    assert short is not None
    cluster = administrator(Kind.CLUSTER)
    looks: list[int] = []
    book.looked.append(lambda: looks.append(clock.now_ms()))

    async def gone() -> int:
        raise UnavailableError("the store is away")

    store.accounts.revision = gone  # type: ignore[method-assign]
    clock.set_ms(1_000)
    await book.begin()
    assert looks == [1_000]
    assert [callers.still(one) for one in (short, long, cluster)] == [None, long, cluster]
    clock.set_ms(SETTINGS.stale_max_ms + 1)
    await book.begin()
    assert callers.still(cluster) == cluster
    with pytest.raises(UnavailableError, match="cannot be reached"):
        callers.still(long)


async def test_a_password_that_is_replaced_while_it_is_checked_lets_nobody_in() -> None:
    """Checking takes a while. Who comes in is known by the password that was checked."""
    clock, store = VirtualClock(0), MemoryStore()
    book = AccountBook(store.accounts, clock, SETTINGS, get_logger())
    ann = User("ann", 0, hashed(PASSWORD, "a" * 16), ADMINISTRATOR)
    later = replace(ann, password=hashed(PASSWORD, "b" * 16))
    await book.change(lambda _: Change([ann]))
    passwords = Passwords(book, clock, SeededRandomness(1), SETTINGS, Replacing(book, later))
    assert await passwords.principal("ann", PASSWORD, "") is None
    for _ in range(2):  # checked, and then as it is remembered
        found = await passwords.principal("ann", PASSWORD, "")
        assert found is not None
        assert found.password_hash == later.password
