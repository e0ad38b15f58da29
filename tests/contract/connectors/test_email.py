"""@source(type='email') against a real IMAP server; the sink's tests are with the small doors."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from email.message import EmailMessage

import pytest

from lockstep.clock import SystemClock
from lockstep.connectors.email.source import EmailSource
from lockstep.sources import Place, Received
from lockstep.testing.connectors import play_source
from tests.greenmail.server import PASSWORD, USER, MailServer

PLACE = Place("App", "In", 0, "127.0.0.1", SystemClock())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    """One for all of them; each test has folders of its own, but for the last, which kills it."""
    made = MailServer(tmp_path_factory.mktemp("mails"))
    asyncio.run(made.start())
    yield made
    asyncio.run(made.kill())


def mail(text: str, subject: str = "order", kind: str = "plain") -> bytes:
    """As it lies on a server."""
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "Åsa <asa@example.org>", "app@example.org", subject
    made.set_content(text, subtype=kind)
    return made.as_bytes()


def source(server: MailServer, folder: str, **more: str) -> EmailSource:
    """That reads a folder."""
    options = {
        "host": "127.0.0.1", "port": str(server.port), "ssl.enable": "false", "username": USER,
        "password": PASSWORD, "polling.interval": "1", "folder": folder,
    }  # fmt: skip
    return EmailSource(
        {**options, **{name.replace("_", "."): v for name, v in more.items()}}, PLACE
    )


async def taken(reading: EmailSource, *, acknowledge: bool = True) -> Sequence[Received]:
    """What is there now."""
    found = await reading.read(max_messages=10, wait_ms=10)
    for each in found:
        if acknowledge:
            await each.acknowledge()
    return found


async def test_who_dies_between_log_and_mark_brings_a_mail_in_under_one_id(
    server: MailServer,
) -> None:
    """The first reader had it in the log, and dies before it says so to the server."""
    server.put("Crash", mail("one"), mail("two"))
    first = source(server, "Crash")
    before = await taken(first)
    assert [each.payload.strip() for each in before] == [b"one", b"two"]
    assert all("Seen" not in each for each in server.flags("Crash"))
    second = source(server, "Crash")
    again = await taken(second)
    assert [each.id for each in again] == [each.id for each in before]
    await second.close()
    assert all("Seen" in each for each in server.flags("Crash"))
    third = source(server, "Crash")
    assert await taken(third) == []
    for each in (first, third):
        await each.close()


async def test_a_folder_that_was_made_anew_has_new_mails(server: MailServer) -> None:
    """The same UID under another UIDVALIDITY is another mail."""
    reading = source(server, "Anew")
    server.put("Anew", mail("one"))
    (old,) = await taken(reading)
    await reading.close()
    before = validity = server.validity("Anew")
    while validity == before:  # this server's is the second in which the folder was made
        there = server.client()
        there.delete("Anew")
        there.logout()
        server.put("Anew", mail("two"))
        validity = server.validity("Anew")
        await asyncio.sleep(0.05)
    again = source(server, "Anew")
    (new,) = await taken(again)
    await again.close()
    assert old.id is not None
    assert new.id is not None
    assert old.id.rsplit(".", 1)[1] == new.id.rsplit(".", 1)[1] == "1"
    assert old.id != new.id


@pytest.mark.parametrize("action", ["FLAGGED", "DELETE", "MOVE"])
async def test_what_becomes_of_a_mail(server: MailServer, action: str) -> None:
    """What was not acknowledged stays as it is, and comes to the next reader."""
    folder, moved = f"Of{action}", f"Done{action}"
    server.put(folder, mail("one"), mail("two"))
    more = {"folder_to_move": moved} if action == "MOVE" else {}
    reading = source(server, folder, action_after_processed=action, **more)
    first, _ = await taken(reading, acknowledge=False)
    await first.acknowledge()
    await reading.close()
    left = server.flags(folder)
    if action in ("DELETE", "MOVE"):
        assert len(left) == 1
    else:
        assert [f"\\{action.title()}" in each for each in left] == [True, False]
    again = source(server, folder, action_after_processed=action, **more)
    assert [each.payload.strip() for each in await taken(again)] == [b"two"]
    await again.close()
    assert action != "MOVE" or len(server.flags(moved)) == 2


async def test_only_mails_that_are_searched_for(server: MailServer) -> None:
    """The others are not touched. Headers are properties, decoded."""
    server.put("Search", mail("no", "other"), mail("yes", 'the "order" of today'), mail("no", "x"))
    reading = source(server, "Search", search_term='subject:"order", from:asa@example.org')
    (found,) = await taken(reading)
    await reading.close()
    assert found.payload.strip() == b"yes"
    assert found.properties["from"] == found.properties["From"] == "Åsa <asa@example.org>"
    assert ["Seen" in each for each in server.flags("Search")] == [False, True, False]


async def test_a_large_mail_and_a_batch_of_many_bytes(
    server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is too large becomes a text that says so, and holds up no other."""
    monkeypatch.setattr("lockstep.connectors.email.source.MAX_MAIL_BYTES", 2_000)
    monkeypatch.setattr("lockstep.connectors.email.source.MAX_BATCH_BYTES", 1)
    server.put("Large", mail("x" * 3_000), mail("two"))
    reading = source(server, "Large")
    (large,) = await taken(reading)
    (small,) = await taken(reading)
    await reading.close()
    assert large.payload.startswith(b"(a mail of 3")
    assert small.payload.strip() == b"two"


async def test_a_server_that_nobody_vouches_for_or_that_refuses_us(server: MailServer) -> None:
    """It is said as trouble of the network is: the receiver tries again."""
    secure = source(server, "INBOX", port=str(server.secure_port), ssl_enable="true")
    with pytest.raises(OSError, match="certificate"):
        await secure.read(max_messages=1, wait_ms=1)
    wrong = source(server, "INBOX", password="wrong")
    with pytest.raises(OSError, match="mail server at"):
        await wrong.read(max_messages=1, wait_ms=1)
    for each in (secure, wrong):
        await each.close()


class Sender:
    """Puts mails into the INBOX; those of this server die with it."""

    def __init__(self, server: MailServer) -> None:
        self._server = server

    async def start(self) -> None:
        await self._server.start()

    async def stop(self) -> None:
        await self._server.kill()

    async def send(self, payload: bytes) -> None:
        await asyncio.to_thread(self._server.put, "INBOX", mail(payload.decode()))


async def test_mails_come_over_the_servers_death_and_ours(server: MailServer) -> None:
    """What was not acknowledged comes again under the same id: at least once, each counts once."""
    tally = await play_source(
        lambda: source(server, "INBOX"), Sender(server), count=5, of=lambda n: b"%d\r\n" % n
    )
    assert (tally.lost, tally.reordered, tally.identified) == (0, 0, True)
    assert tally.duplicated == 5, "those that were not acknowledged came again"
