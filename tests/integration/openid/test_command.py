"""`lockstep login` at a provider: a process, a suite, a server that signs."""

from __future__ import annotations

import asyncio
import json
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lockstep.cli.addresses import SESSION_FILE, kept_session
from lockstep.cli.openid import SignInError, refreshed, signed_in
from lockstep.clock import VirtualClock
from lockstep.events import UnavailableError
from tests.openid.provider import CLIENT, OpenIdServer, serving
from tests.unit.services.suite import Doors, running

ROLES = "staff=view"


class RecordingClock(VirtualClock):
    """Does not wait, and keeps how long it should have."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_ms: list[int] = []

    async def sleep_ms(self, duration_ms: int) -> None:
        """At once."""
        self.waited_ms.append(duration_ms)
        self.set_ms(self.now_ms() + duration_ms)


@pytest.fixture
async def server() -> AsyncIterator[OpenIdServer]:
    """A provider."""
    async with serving() as found:
        yield found


def offered(server: OpenIdServer) -> dict[str, str]:
    """What a suite tells."""
    return {"issuer": server.issuer, "client_id": CLIENT, "scope": "openid profile"}


class Command:
    """`lockstep` in a folder of its own."""

    def __init__(self, doors: Doors, directory: Path) -> None:
        self._given = ("--url", doors.url, "--directory", str(directory))

    async def begin(self, *words: str) -> asyncio.subprocess.Process:
        """A process that runs."""
        code = "from lockstep.cli import main; main()"
        return await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, *self._given, *words,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip

    async def run(self, *words: str) -> tuple[int | None, str]:
        """Its exit code, and what it said."""
        process = await self.begin(*words)
        said, _ = await process.communicate()
        return process.returncode, said.decode()

    async def log_in(self, server: OpenIdServer, answer: str) -> tuple[int | None, str]:
        """With what the person does in the browser."""
        process = await self.begin("login")
        assert process.stdout is not None
        first = (await process.stdout.readline()).decode()
        assert first == f"Open {server.issuer}/activate\n"
        server.devices[f"device-{len(server.devices) - 1}"] = answer
        said, _ = await process.communicate()
        assert said.decode().startswith("and enter the code WDJB-MJHT\n")
        return process.returncode, said.decode()


async def test_a_person_signs_in_goes_on_with_fresh_tokens_and_signs_out(
    server: OpenIdServer, tmp_path: Path
) -> None:
    """The token is in a file that nobody else reads. Commands at the same time refresh it once,
    though each refresh token is good once. After the log-out it is good nowhere."""
    given = server.settings(roles=ROLES, client_id=CLIENT)
    async with running("coordinator", **given) as (doors, _):
        command = Command(doors, tmp_path)
        server.lives_s = 20  # less than what is left when a command refreshes
        code, said = await command.log_in(server, "approved")
        assert (code, said.splitlines()[-1]) == (0, "logged in as ann")
        path = tmp_path / SESSION_FILE
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        before = json.loads(path.read_text())
        both = await asyncio.gather(command.run("list", "--json"), command.run("list", "--json"))
        assert [code for code, _ in both] == [0, 0], both
        after = json.loads(path.read_text())
        assert after["refresh_token"] != before["refresh_token"]
        assert server.refreshing == {after["refresh_token"]}
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert await command.run("logout") == (0, "logged out\n")
        assert (server.refreshing, path.exists()) == (set(), False)
        code, said = await command.run("list")
        assert code != 0
        assert "lockstep login" in said


async def test_who_does_not_agree_or_has_no_role_is_not_logged_in(
    server: OpenIdServer, tmp_path: Path
) -> None:
    """Nothing is kept, and the reason is told."""
    given = server.settings(roles=ROLES, client_id=CLIENT)
    async with running("coordinator", **given) as (doors, _):
        command = Command(doors, tmp_path)
        code, said = await command.log_in(server, "access_denied")
        assert (code != 0, "refuses: access_denied" in said) == (True, True)
        server.granted = {"groups": []}
        code, said = await command.log_in(server, "approved")
        assert (code != 0, "person ann has no role here" in said) == (True, True)
        assert not (tmp_path / SESSION_FILE).exists()


async def test_a_suite_without_a_client_for_commands_says_so(tmp_path: Path) -> None:
    """And names the other way."""
    async with running("coordinator") as (doors, _):
        code, said = await Command(doors, tmp_path).run("login")
        assert (code != 0, "lockstep login <user>" in said) == (True, True)


async def test_the_command_waits_as_the_provider_says(server: OpenIdServer) -> None:
    """Longer when it is told to slow down, twice as long when the provider is away."""
    server.answers = ["authorization_pending", "slow_down", "away", "authorization_pending"]
    server.answers += ["approved"]
    clock, told = RecordingClock(), list[tuple[str, str]]()
    session = await asyncio.to_thread(
        signed_in, offered(server), "", clock, lambda *given: told.append(given)
    )
    assert clock.waited_ms == [1_000, 1_000, 6_000, 12_000, 12_000]
    assert told == [(f"{server.issuer}/activate", "WDJB-MJHT")]
    assert session["refresh_token"] in server.refreshing


async def test_waiting_ends_with_the_code(server: OpenIdServer) -> None:
    """As the provider said how long it is good."""
    clock = RecordingClock()
    with pytest.raises(SignInError, match="in time"):
        await asyncio.to_thread(signed_in, offered(server), "", clock, lambda *_: None)
    assert sum(clock.waited_ms) == 60_000


async def test_a_session_that_the_provider_ended_is_forgotten(
    server: OpenIdServer, tmp_path: Path
) -> None:
    """With the hint to log in; while the provider is away the token is used to its end."""
    server.answers = ["approved"]
    clock = RecordingClock()
    session = await asyncio.to_thread(signed_in, offered(server), "", clock, lambda *_: None)
    from_file = tmp_path / SESSION_FILE
    from_file.write_text(json.dumps({**session, "coordinator": "http://a"}))
    assert refreshed(tmp_path, "http://other", clock) is None
    assert refreshed(tmp_path, "http://a", clock) == session["token"]
    clock.set_ms(session["expires_ms"] - 1)
    gone = {**session, "coordinator": "http://a", "token_endpoint": "http://127.0.0.1:9/token"}
    from_file.write_text(json.dumps(gone))
    assert await asyncio.to_thread(refreshed, tmp_path, "http://a", clock) == session["token"]
    clock.set_ms(session["expires_ms"])
    with pytest.raises(UnavailableError):
        await asyncio.to_thread(refreshed, tmp_path, "http://a", clock)
    from_file.write_text(json.dumps({**session, "coordinator": "http://a"}))
    server.refreshing.clear()
    with pytest.raises(SignInError, match="invalid_grant"):
        await asyncio.to_thread(refreshed, tmp_path, "http://a", clock)
    assert kept_session(tmp_path, "http://a") is None


async def test_codes_go_to_no_provider_in_plain_text() -> None:
    """But on the loopback."""
    known = {"issuer": "http://login.example", "client_id": CLIENT, "scope": "openid"}
    with pytest.raises(SignInError, match="https alone"):
        await asyncio.to_thread(signed_in, known, "", RecordingClock(), lambda *_: None)
