"""Contexts of TLS: what they trust and show, and files that change under them."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lockstep.settings import SettingsError, load_settings
from lockstep.tls import TlsError, TlsFiles, calling, serving
from tests.tls.certificates import Authority

HOST = "127.0.0.1"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """One that both sides trust."""
    return Authority(tmp_path)


@contextlib.asynccontextmanager
async def served(files: TlsFiles, *, insist: bool = True) -> AsyncIterator[int]:
    """A port where everybody is told how their certificate begins: a number, or 0."""

    async def tell(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        shown = writer.get_extra_info("peercert") or {}
        writer.write(shown.get("serialNumber", "0").encode())
        writer.close()

    server = await asyncio.start_server(tell, HOST, 0, ssl=serving(files, insist=insist))
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
