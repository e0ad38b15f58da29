"""An OpenID Connect provider that misbehaves as a test wants: it signs anything, forges, changes
its name, and is away. A real one does none of that; what it does is tried in `toolkit.py`."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

AUDIENCE = "lockstep"
CLIENT = "lockstep-command"


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
        self.devices: dict[str, str] = {}
        """Code of a device, and what is answered to it: `approved`, or an OAuth error."""
        self.answers: list[str] = []
        """Errors that come before that, in turn."""
        self.codes: dict[str, dict[str, str]] = {}
        """What was asked at the authorization endpoint, by its code; each once."""
        self.secret: str | None = None
        """Of the client; None: it is a public one."""
        self.says: dict[str, str] = {}
        """To who comes to agree; empty: a code."""
        self.id_claims: dict[str, Any] = {}
        """Changed in the next id tokens."""
        self.refreshing: set[str] = set()
        """Refresh tokens that are good; each once."""
        self.lives_s = 300
        self.granted: dict[str, Any] = {}
        """Claims of what it gives out."""

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
        places = {
            "jwks_uri": "keys", "token_endpoint": "token", "revocation_endpoint": "revoke",
            "device_authorization_endpoint": "device", "authorization_endpoint": "authorize",
            "end_session_endpoint": "leave",
        }  # fmt: skip
        known = {name: f"{self.issuer}/{path}" for name, path in places.items()}
        return web.json_response({"issuer": self.claimed_issuer or self.issuer, **known})

    async def _device(self, request: web.Request) -> web.Response:
        form = await request.post()
        assert (form["client_id"], form["scope"]) == (CLIENT, "openid profile")
        code = f"device-{len(self.devices)}"
        self.devices[code] = "authorization_pending"
        return web.json_response(
            {
                "device_code": code, "user_code": "WDJB-MJHT", "interval": 1, "expires_in": 60,
                "verification_uri": f"{self.issuer}/activate",
            }
        )  # fmt: skip

    async def _authorize(self, request: web.Request) -> web.Response:
        """Whoever comes agrees at once."""
        code = secrets.token_hex(8)
        self.codes[code] = dict(request.query)
        said = self.says or {"code": code}
        answer = urlencode({**said, "state": request.query["state"]})
        raise web.HTTPSeeOther(f"{request.query['redirect_uri']}?{answer}")

    def _exchanged(self, form: Mapping[str, Any]) -> web.Response:
        asked = self.codes.pop(str(form["code"]), {})
        digest = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        fits = asked.get("redirect_uri") == form["redirect_uri"]
        if not fits or asked.get("code_challenge") != challenge:
            return web.json_response({"error": "invalid_grant"}, status=400)
        claims = {"aud": CLIENT, "nonce": asked["nonce"], **self.id_claims}
        return web.json_response(
            {
                "access_token": self.token(**self.granted), "id_token": self.token(**claims),
                "token_type": "Bearer", "expires_in": self.lives_s,
            }
        )  # fmt: skip

    async def _token(self, request: web.Request) -> web.Response:
        form = await request.post()
        if self.away:
            raise web.HTTPServiceUnavailable
        if form.get("client_id") != CLIENT or form.get("client_secret") != self.secret:
            return web.json_response({"error": "invalid_client"}, status=401)
        if form["grant_type"] == "authorization_code":
            return self._exchanged(form)
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refreshing:
                return web.json_response({"error": "invalid_grant"}, status=400)
            self.refreshing.remove(str(form["refresh_token"]))
            return self._given()
        assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:device_code"
        error = self.answers.pop(0) if self.answers else self.devices[str(form["device_code"])]
        if error != "approved":
            return web.json_response({"error": error}, status=503 if error == "away" else 400)
        return self._given()

    def _given(self) -> web.Response:
        refresh = secrets.token_hex(8)
        self.refreshing.add(refresh)
        ends = int(self._clock()) + self.lives_s
        return web.json_response(
            {
                "access_token": self.token(exp=ends, **self.granted), "token_type": "Bearer",
                "expires_in": self.lives_s, "refresh_token": refresh,
            }
        )  # fmt: skip

    async def _revoke(self, request: web.Request) -> web.Response:
        form = await request.post()
        self.refreshing.discard(str(form["token"]))
        return web.Response()

    async def _leave(self, request: web.Request) -> web.Response:
        raise web.HTTPSeeOther(request.query["post_logout_redirect_uri"])

    async def _keys(self, _request: web.Request) -> web.Response:
        self.fetched += 1
        return web.json_response({"keys": [key.published for key in self.keys]})

    def routes(self) -> web.Application:
        """What it answers."""
        application = web.Application()
        application.router.add_get("/realm/.well-known/openid-configuration", self._document)
        application.router.add_get("/realm/keys", self._keys)
        application.router.add_get("/realm/authorize", self._authorize)
        application.router.add_get("/realm/leave", self._leave)
        application.router.add_post("/realm/device", self._device)
        application.router.add_post("/realm/token", self._token)
        application.router.add_post("/realm/revoke", self._revoke)
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
