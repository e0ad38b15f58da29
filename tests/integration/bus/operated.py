"""A NATS server whose clients show credentials: a token that an operator's account has signed, and
a key. Made as `nsc` makes them."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import time
from collections.abc import Mapping
from typing import Any, Final

import nkeys

from lockstep.embedded import NatsServer

_COUNTS: Final = ("subs", "conn", "leaf", "imports", "exports", "data", "payload")
_STORAGE: Final = ("mem_storage", "disk_storage", "streams", "consumer")
"""Limits of an account; no system account may store anything."""
_CONFIGURATION: Final = """\
listen: "{host}:{port}"
jetstream {{ store_dir: "{data}" }}
operator: {operator}
system_account: {system}
resolver: MEMORY
resolver_preload: {{
  {account}: {account_token}
  {system}: {system_token}
}}
"""
_CREDENTIALS: Final = """\
-----BEGIN NATS USER JWT-----
{token}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
{seed}
------END USER NKEY SEED------
"""


class Key:
    """Of an operator, an account or a user."""

    def __init__(self, prefix: int) -> None:
        self.seed: bytes = nkeys.encode_seed(os.urandom(32), prefix)
        self._pair = nkeys.from_seed(bytearray(self.seed))
        self.name: str = self._pair.public_key.decode()

    def token(self, of: Key, claims: Mapping[str, Any]) -> str:
        """Says something of another one, or of itself."""
        now_s = int(time.time())
        told = {
            "jti": os.urandom(8).hex(), "iat": now_s, "iss": self.name, "sub": of.name,
            "name": "test", "nats": {**claims, "version": 2},
        }  # fmt: skip
        signed = f"{_part({'typ': 'JWT', 'alg': 'ed25519-nkey'})}.{_part(told)}"
        return f"{signed}.{_text(self._pair.sign(signed.encode()))}"


class OperatedNats(NatsServer):
    """Lets in who shows `credentials`."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._operator = Key(nkeys.PREFIX_BYTE_OPERATOR)
        self._account = Key(nkeys.PREFIX_BYTE_ACCOUNT)
        self._system = Key(nkeys.PREFIX_BYTE_ACCOUNT)

    def credentials(self) -> str:
        """A new user's."""
        user = Key(nkeys.PREFIX_BYTE_USER)
        claims = {"type": "user", "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1}
        return _CREDENTIALS.format(token=self._account.token(user, claims), seed=user.seed.decode())

    async def _prepare(self) -> None:
        rights = {**dict.fromkeys(_COUNTS, -1), "wildcards": True}
        stores = {**rights, **dict.fromkeys(_STORAGE, -1)}
        text = _CONFIGURATION.format(
            host=self.machine.host,
            port=self.port,
            data=self.directory / "data",
            operator=self._operator.token(self._operator, {"type": "operator"}),
            account=self._account.name,
            account_token=self._limited(self._account, stores),
            system=self._system.name,
            system_token=self._limited(self._system, rights),
        )
        (self.directory / "nats.conf").write_text(text)

    def _limited(self, account: Key, limits: Mapping[str, Any]) -> str:
        return self._operator.token(account, {"type": "account", "limits": limits})

    async def _answers(self) -> bool:
        try:
            reader, writer = await asyncio.open_connection(self.machine.host, self.port)
        except OSError:
            return False
        told = await reader.readline()
        writer.close()
        return b'"nonce"' in told and b'"jetstream":true' in told


def _part(told: Mapping[str, Any]) -> str:
    return _text(json.dumps(told).encode())


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
