"""Contexts of TLS: what they trust and show, and files that change under them."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from lockstep.clock import VirtualClock
from lockstep.settings import SettingsError, load_settings
from lockstep.tls import AGAIN_MS, Renewal, TlsError, TlsFiles, calling, serving
from tests.tls.certificates import Authority

HOST = "127.0.0.1"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """One that both sides trust."""
    return Authority(tmp_path)


@contextlib.asynccontextmanager
async def served(
    files: TlsFiles, *, insist: bool = True, clock: VirtualClock | None = None
) -> AsyncIterator[int]:
    """A port where everybody is told how their certificate begins: a number, or 0."""

    async def tell(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        shown = writer.get_extra_info("peercert") or {}
        writer.write(shown.get("serialNumber", "0").encode())
        writer.close()

    context = serving(files, insist=insist, clock=clock)
    server = await asyncio.start_server(tell, HOST, 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def told(port: int, context: ssl.SSLContext | None, host: str = HOST) -> tuple[str, str]:
    """What the server showed (a number), and what it was shown."""
    reader, writer = await asyncio.open_connection(HOST, port, ssl=context, server_hostname=host)
    shown = writer.get_extra_info("peercert")["serialNumber"]
    try:
        heard = (await reader.read()).decode()
    finally:
        writer.close()
    if not heard:
        raise ConnectionError("the server hung up")
    return shown, heard


async def test_both_sides_see_whom_they_trust(authority: Authority) -> None:
    """The server that of the client, too."""
    server, client = authority.files(authority.give("s")), authority.files(authority.give("c"))
    async with served(server) as port:
        _, shown = await told(port, calling(client))
        assert shown != "0"


async def test_a_client_without_a_certificate_does_not_get_in(authority: Authority) -> None:
    """Unless the server looks itself; one of another authority never does."""
    server = authority.files(authority.give("s"))
    other = Authority(authority.folder / "other", "other")
    stranger = other.give("stranger")
    strange = TlsFiles(str(authority.file), str(stranger.certificate), str(stranger.key))
    async with served(server) as port:
        for files in (authority.files(), strange):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await told(port, calling(files))
    async with served(server, insist=False) as port:
        assert (await told(port, calling(authority.files())))[1] == "0"
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await told(port, calling(strange))


async def test_a_server_of_another_authority_or_name_is_refused(authority: Authority) -> None:
    """The name can be another one than is called, where the settings say so."""
    server = authority.files(authority.give("s", hosts=["lockstep"]))
    async with served(TlsFiles(certificate=server.certificate, key=server.key)) as port:
        with pytest.raises(ssl.SSLCertVerificationError):
            await told(port, calling(authority.files()))
        await told(port, calling(authority.files(server_name="lockstep")))
        other = Authority(authority.folder / "other", "other")
        with pytest.raises(ssl.SSLCertVerificationError):
            await told(port, calling(other.files(server_name="lockstep")))


async def test_new_connections_get_new_certificates(authority: Authority) -> None:
    """On both sides, without anything being made anew; the open connection goes on."""
    server, client = authority.files(authority.give("s")), authority.files(authority.give("c"))
    context = calling(client)
    async with served(server) as port:
        before = await told(port, context)
        assert await told(port, context) == before
        authority.give("s")
        after = await told(port, context)
        assert (after[0] != before[0], after[1]) == (True, before[1])
        authority.give("c")
        assert (await told(port, context))[1] != before[1]


async def test_a_new_authority_counts_for_new_connections(authority: Authority) -> None:
    """And the old one does not any more."""
    client = calling(authority.files(authority.give("c")))
    server = authority.files(authority.give("s"))
    async with served(server) as port:
        await told(port, client)
        other = Authority(authority.folder / "other", "other")
        authority.file.write_bytes(other.file.read_bytes())
        theirs, ours = other.give("s"), Path(server.certificate)
        ours.write_bytes(theirs.certificate.read_bytes())
        Path(server.key).write_bytes(theirs.key.read_bytes())
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await told(port, client)  # its own certificate is of the old one
        await told(port, calling(other.files(other.give("c"))))


async def test_half_a_pair_is_passed_over(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    """The old pair serves on, and the log says so; whole again, it is taken."""
    pair = authority.give("s")
    client = calling(authority.files(authority.give("c")))
    async with served(authority.files(pair)) as port:
        before = await told(port, client)
        old, key = pair.key.read_bytes(), authority.give("s").key.read_bytes()
        pair.key.write_bytes(old)
        assert await told(port, client) == before
        pair.key.unlink()
        assert await told(port, client) == before
        assert "the old ones stay" in caplog.text
        pair.key.write_bytes(key)
        assert (await told(port, client))[0] != before[0]


@pytest.fixture
def mode_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root reads every file. Here nobody reads a key that its owner may not."""
    load = ssl.SSLContext.load_cert_chain

    def guarded(context: ssl.SSLContext, certfile: str, keyfile: str, *more: Any) -> None:
        if not Path(keyfile).stat().st_mode & 0o400:
            raise PermissionError(13, "Permission denied")
        load(context, certfile, keyfile, *more)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", guarded)


async def test_a_key_that_may_be_read_at_last_is_read(
    authority: Authority, mode_counts: None
) -> None:
    """Whoever renews it may be another user: that one's `chmod` writes nothing."""
    clock, pair = VirtualClock(), authority.give("s")
    renewal = Renewal(authority.files(pair), clock)
    client = calling(authority.files(authority.give("c")))
    async with served(authority.files(pair), clock=clock) as port:
        before = await told(port, client)
        authority.give("s").key.chmod(0)
        assert await told(port, client) == before
        assert not renewal.is_due()
        pair.key.chmod(0o600)
        assert (await told(port, client))[0] != before[0]
        assert [renewal.is_due(), renewal.is_due()] == [True, False]


@contextlib.contextmanager
def no_more_files() -> Iterator[None]:
    """This process opens none meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_what_was_wrong_for_a_while_is_tried_again(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    """Files that did not change since, too: a second later, and the log says once what it was."""
    clock, pair = VirtualClock(), authority.give("s")
    context = serving(authority.files(pair), clock=clock)
    renewal = Renewal(authority.files(pair), clock)

    def shown() -> ssl.SSLContext:
        assert context is not None
        return context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_side=True).context

    old = shown()
    authority.give("s")
    with no_more_files():
        for _ in range(3):
            assert (shown(), renewal.is_due()) == (old, False)
            await clock.advance_ms(AGAIN_MS)
        assert caplog.text.count("Too many open files") == 2  # of each of the two, once
        assert (shown(), renewal.is_due()) == (old, False)
    assert (shown(), renewal.is_due()) == (old, False)
    await clock.advance_ms(AGAIN_MS)
    assert shown() is not old
    assert [renewal.is_due(), renewal.is_due()] == [True, False]


@pytest.mark.parametrize("spoilt", ["missing", "empty", "mixed", "locked"])
def test_what_cannot_be_used_is_told_at_once(authority: Authority, spoilt: str) -> None:
    """With the names of the files, and never a question for a password at a terminal."""
    pair, other = authority.give("s"), authority.give("t")
    if spoilt == "missing":
        pair.key.unlink()
    elif spoilt == "empty":
        pair.certificate.write_text("")
    elif spoilt == "mixed":
        pair.key.write_bytes(other.key.read_bytes())
    else:
        pair.lock("secret")
    for made in (serving, calling):
        with pytest.raises(TlsError, match=r"s\.pem"):
            made(authority.files(pair))


def test_nothing_given_is_no_context() -> None:
    """A door then speaks plainly, and a caller goes by what the machine trusts."""
    assert (serving(TlsFiles()), calling(TlsFiles())) == (None, None)


def test_settings_that_are_of_no_use_alone_are_refused() -> None:
    """A door that shall ask for certificates and has none would let everybody in."""
    with pytest.raises(SettingsError) as caught:
        load_settings(
            {
                "LOCKSTEP_SERVER__TLS_CLIENT_CA_FILE": "/ca.pem",
                "LOCKSTEP_CLIENT__TLS_KEY_FILE": "/key.pem",
            }
        )
    told = str(caught.value)
    assert "SERVER__TLS_CLIENT_CA_FILE: needs LOCKSTEP_SERVER__TLS_CERTIFICATE_FILE, too" in told
    assert "CLIENT__TLS_KEY_FILE: needs LOCKSTEP_CLIENT__TLS_CERTIFICATE_FILE, too" in told
