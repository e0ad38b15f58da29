"""Why PostgreSQL cannot be had: the cause, never an empty one."""

from __future__ import annotations

import errno
import ssl
from pathlib import Path

import asyncpg
import pytest

from lockstep.events import UnavailableError
from lockstep.store.postgres import why_away
from lockstep.store.postgres.connection import available
from tests.tls.certificates import Authority


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TimeoutError(), "no answer in time"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed"), "connection refused"),
        (asyncpg.TooManyConnectionsError("sorry, too many clients already"), "sorry, too many"),
        (asyncpg.InterfaceError(""), "InterfaceError"),
        (asyncpg.LockNotAvailableError("canceling due to lock timeout"), "lock timeout"),
        (asyncpg.InvalidSQLStatementNameError('"s_1" does not exist\nHINT'), "exist: a pooler"),
        (asyncpg.DuplicatePreparedStatementError('"s_1" already exists'), "exists: a pooler"),
    ],
)
async def test_what_people_read(error: Exception, said: str) -> None:
    """In the words of whoever knows."""
    assert said in why_away(error)
    with pytest.raises(UnavailableError, match=said) as found:
        async with available():
            raise error
    assert found.value.retryable


def error_of(certificate: Path, key: Path) -> ssl.SSLError:
    """What OpenSSL says of a pair that cannot be used."""
    with pytest.raises(ssl.SSLError) as found:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate, key)
    return found.value


def test_numbers_of_openssl_are_none_of_the_system(tmp_path: Path) -> None:
    """An error of it has one, too, which says something else."""
    authority = Authority(tmp_path)
    pair, other = authority.give("a"), authority.give("b")
    mixed = why_away(error_of(pair.certificate, other.key))
    assert "key values mismatch" in mixed
    pair.key.write_text("-----BEGIN")
    half = why_away(error_of(pair.certificate, pair.key))
    assert "PEM" in half
    untrusted = ssl.SSLCertVerificationError(1, "certificate verify failed")
    untrusted.verify_message = "self-signed certificate in certificate chain"
    told = "its certificate is not to be trusted (self-signed certificate in certificate chain)"
    assert why_away(untrusted) == told


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (asyncpg.InvalidPasswordError("password authentication failed"), "pg_hba.conf"),
        (asyncpg.InsufficientPrivilegeError("permission denied for table"), "store.postgres_dsn"),
        (asyncpg.InvalidSchemaNameError('schema "lockstep" does not exist'), "its schema lockstep"),
        (asyncpg.IndexCorruptedError("unexpected zero page"), "own log"),
        (asyncpg.PostgresIOError("could not read block 1"), "own log"),
    ],
)
async def test_where_to_look_when_the_server_refuses(error: Exception, hint: str) -> None:
    """Who runs treats that as a server that is away; who starts need not try again."""
    with pytest.raises(UnavailableError, match=hint) as found:
        async with available():
            raise error
    assert str(error) in found.value.message
    assert not found.value.retryable


async def test_what_is_a_defect_passes() -> None:
    """Nobody would find one that looked like a server in trouble."""
    with pytest.raises(asyncpg.UndefinedColumnError):
        async with available():
            raise asyncpg.UndefinedColumnError('column "nonsense" does not exist')
