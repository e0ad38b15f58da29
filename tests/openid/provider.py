"""An OpenID Connect provider for tests: a real HTTP server with real keys, which signs whatever a
test wants."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

AUDIENCE = "lockstep"


class SigningKey:
    """A pair, RSA or elliptic."""

    def __init__(self, identity: str, algorithm: str = "RS256") -> None:
        self.identity = identity
        self.algorithm = algorithm
        self.private: Any = (
            ec.generate_private_key(ec.SECP256R1())
            if algorithm == "ES256"
            else rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
        )

    @property
    def published(self) -> dict[str, Any]:
        """As it stands in the set of keys."""
        kind = (
            jwt.algorithms.ECAlgorithm if self.algorithm == "ES256" else jwt.algorithms.RSAAlgorithm
        )
        found = json.loads(kind.to_jwk(self.private.public_key()))
        return {**found, "kid": self.identity, "use": "sig", "alg": self.algorithm}

    @property
    def pem(self) -> bytes:
        """The public half."""
        public = self.private.public_key()
        return bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


class OpenIdServer:
    """`keys`: those that are published; `fetched`: how often they were asked for; `away`: it
    answers 503."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.issuer = ""
        self.key = SigningKey("first")
        self.keys = [self.key]
        self.fetched = 0
        self.away = False
        self.claimed_issuer: str | None = None

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Of a good token, with some changed; None takes one away."""
        now = int(self._clock())
        found = {
            "iss": self.issuer, "aud": AUDIENCE, "sub": "f81d", "preferred_username": "ann",
            "groups": ["staff"], "iat": now, "nbf": now, "exp": now + 300, **changed,
        }  # fmt: skip
        return {name: value for name, value in found.items() if value is not None}

    def token(self, *, key: SigningKey | None = None, **changed: Any) -> str:
        """Signed, with the claims changed."""
        key = key or self.key
        headers = {"kid": key.identity}
        return jwt.encode(self.claims(**changed), key.private, key.algorithm, headers)

    def settings(self, **more: str) -> Mapping[str, str]:
        """Of those who trust it."""
        given = {"issuer": self.issuer, "audience": AUDIENCE, **more}
        return {f"LOCKSTEP_OIDC__{name.upper()}": value for name, value in given.items()}

    async def _document(self, _request: web.Request) -> web.Response:
        if self.away:
            raise web.HTTPServiceUnavailable
        return web.json_response(
            {"issuer": self.claimed_issuer or self.issuer, "jwks_uri": f"{self.issuer}/keys"}
        )

    async def _keys(self, _request: web.Request) -> web.Response:
        self.fetched += 1
        return web.json_response({"keys": [key.published for key in self.keys]})

    def routes(self) -> web.Application:
        """What it answers."""
        application = web.Application()
        application.router.add_get("/realm/.well-known/openid-configuration", self._document)
        application.router.add_get("/realm/keys", self._keys)
        return application


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[OpenIdServer]:
    """A running one on the loopback."""
    server = OpenIdServer()
    runner = web.AppRunner(server.routes(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.issuer = f"http://127.0.0.1:{runner.addresses[0][1]}/realm"
    try:
        yield server
    finally:
        await runner.cleanup()
