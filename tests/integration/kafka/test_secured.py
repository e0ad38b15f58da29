"""The bus on a real broker that asks for a certificate, or for a password over TLS."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from lockstep.bus.errors import BusRefusedError
from lockstep.bus.kafka import KafkaBus
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.events import UnavailableError
from tests.contract.bus.carriers import LIMITS, fresh_log, one_event, with_limits
from tests.contract.patience import read_on
from tests.kafka.broker import start_broker
from tests.kafka.secured import CERTIFICATES, PASSWORD, USER, SecuredBroker

CA = f"ca={CERTIFICATES}/ca.pem"
OWN = f"cert={CERTIFICATES}/client.pem&key={CERTIFICATES}/client.key"
SOON = with_limits(connect_timeout_ms=5_000)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """One for all tests here."""
    broker = asyncio.run(start_broker(tmp_path_factory.mktemp("secured"), SecuredBroker))
    assert isinstance(broker, SecuredBroker)
    yield broker
    asyncio.run(broker.kill())


def _login(password: str) -> str:
    return f"{quote(USER, safe='')}:{quote(password, safe='')}"


async def _carries(url: str) -> None:
    """A record goes in and comes out again, over every kind of client that a bus has."""
    bus = await KafkaBus.connect(url, LIMITS, SystemClock(), SystemRandomness())
    try:
        log = await bus.input_log(fresh_log())
        await log.append(one_event(1), dedup_id="a")
        assert [entry.record for entry in await read_on(log.read, 0, 1)] == [one_event(1)]
        await log.trim(1)
        assert await log.bounds() == (2, 1)
    finally:
        await bus.close()


async def _refused(url: str, *kinds: type[Exception]) -> str:
    with pytest.raises(kinds) as caught:
        await KafkaBus.connect(url, SOON, SystemClock(), SystemRandomness())
    return str(caught.value)


async def test_who_has_a_certificate_is_let_in(secured: SecuredBroker) -> None:
    """TLS with an authority of one's own, and a client's certificate."""
    await _carries(f"kafka+tls://{secured.tls}?{CA}&{OWN}")


async def test_who_has_no_certificate_is_not_let_in(secured: SecuredBroker) -> None:
    """The broker asks for one."""
    await _refused(f"kafka+tls://{secured.tls}?{CA}", BusRefusedError, UnavailableError)


async def test_a_broker_that_is_not_trusted_gets_nothing(secured: SecuredBroker) -> None:
    """Its certificate is of an authority that the client does not know."""
    stranger = f"ca={CERTIFICATES}/stranger.pem"
    url = f"kafka+tls://{_login(PASSWORD)}@{secured.sasl}?{stranger}"
    await _refused(url, BusRefusedError, UnavailableError)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_who_knows_the_password_is_let_in(secured: SecuredBroker, mechanism: str) -> None:
    """Over TLS, with a password that a URL has to escape."""
    url = f"kafka+tls://{_login(PASSWORD)}@{secured.sasl}?{CA}&mechanism={mechanism}"
    await _carries(url)


async def test_the_password_may_stand_in_a_file(secured: SecuredBroker, tmp_path: Path) -> None:
    """As secrets do that are mounted."""
    file = tmp_path / "password"
    file.write_text(PASSWORD + "\n")
    login = quote(USER, safe="")
    await _carries(f"kafka+tls://{login}@{secured.sasl}?{CA}&password_file={file}")


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
async def test_a_wrong_password_is_told(secured: SecuredBroker, mechanism: str) -> None:
    """As a refusal, which no repetition mends; the password is not in what is said."""
    url = f"kafka+tls://{_login('wr0ng')}@{secured.sasl}?{CA}&mechanism={mechanism}"
    assert "wr0ng" not in await _refused(url, BusRefusedError)
