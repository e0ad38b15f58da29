"""A real OpenID Connect provider as a process: Django with django-oauth-toolkit.

It runs in an environment of its own (`scripts/openid`), knows nothing of Lockstep, and is told by
lines of JSON what an administrator of it would do. Access tokens are JWTs, signed with its own key:
what this file adds is the setting that makes them, the claims, and a form to log in.
"""

from __future__ import annotations

import json
import sys
import threading
import time
import uuid
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import django  # type: ignore[import-not-found]
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.conf import settings  # type: ignore[import-not-found]

AUDIENCE = "lockstep"
CONSOLE, COMMAND = "lockstep-console", "lockstep-command"
LOGIN_FORM = (
    '<!doctype html><form method="post">{% csrf_token %}{{ form.as_p }}'
    "<button>Log in</button></form>"
)


def new_key() -> str:
    """A private key, as the provider's settings take it."""
    made = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    return made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def access_token(request: Any) -> str:
    """A JWT of RFC 9068's shape in place of the usual random text."""
    from jwcrypto.jwt import JWT  # type: ignore[import-untyped]
    from oauth2_provider.settings import oauth2_settings  # type: ignore[import-not-found]
    from oauth2_provider.utils import jwk_from_pem  # type: ignore[import-not-found]

    key, now = jwk_from_pem(oauth2_settings.OIDC_RSA_PRIVATE_KEY), int(time.time())
    claims = {
        "iss": oauth2_settings.OIDC_ISS_ENDPOINT, "aud": AUDIENCE, "sub": str(request.user.pk),
        "preferred_username": request.user.username, "client_id": request.client.client_id,
        "groups": [group.name for group in request.user.groups.all()],
        "iat": now, "exp": now + request.expires_in, "jti": uuid.uuid4().hex,
    }  # fmt: skip
    token = JWT({"alg": "RS256", "kid": key.thumbprint(), "typ": "at+jwt"}, claims)
    token.make_signed_token(key)
    return str(token.serialize())


def configure(folder: Path, issuer: str, lives_s: int) -> None:
    """As a project's settings would say it."""
    from oauthlib.common import generate_token  # type: ignore[import-untyped]

    loaders = [
        ("django.template.loaders.locmem.Loader", {"login.html": LOGIN_FORM}),
        "django.template.loaders.app_directories.Loader",
    ]
    names = ("auth", "contenttypes", "sessions", "messages")
    settings.configure(
        SECRET_KEY=uuid.uuid4().hex, ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=__name__,
        LOGGING={
            "version": 1, "disable_existing_loggers": False,
            "handlers": {"log": {"class": "logging.StreamHandler"}},
            "root": {"handlers": ["log"], "level": "WARNING"},
        },
        LOGIN_URL="/login/", USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        INSTALLED_APPS=[*(f"django.contrib.{name}" for name in names), "oauth2_provider"],
        DATABASES={"default": {
            "ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "provider.sqlite"),
            "OPTIONS": {"timeout": 30},
        }},
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
        ],
        TEMPLATES=[{
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {"loaders": loaders, "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
            ]},
        }],
        OAUTH2_PROVIDER={
            "OIDC_ENABLED": True, "OIDC_RSA_PRIVATE_KEY": new_key(), "OIDC_ISS_ENDPOINT": issuer,
            "OIDC_RP_INITIATED_LOGOUT_ENABLED": True, "PKCE_REQUIRED": True,
            "OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT": False,
            "SCOPES": {"openid": "Who you are", "profile": "Your name"},
            "ACCESS_TOKEN_GENERATOR": access_token,
            "REFRESH_TOKEN_GENERATOR": lambda _request: generate_token(),
            "ACCESS_TOKEN_EXPIRE_SECONDS": lives_s, "ROTATE_REFRESH_TOKEN": True,
            "DEVICE_FLOW_INTERVAL": 1, "OAUTH_DEVICE_VERIFICATION_URI": f"{issuer}/device/",
        },
    )  # fmt: skip
    django.setup()


def _routes() -> list[Any]:
    from django.contrib.auth.views import LoginView  # type: ignore[import-not-found]
    from django.http import JsonResponse  # type: ignore[import-not-found]
    from django.urls import include, path  # type: ignore[import-not-found]
    from oauth2_provider.views import ConnectDiscoveryInfoView  # type: ignore[import-not-found]

    def discovery(request: Any) -> Any:
        """The toolkit's own, and two endpoints that it has and does not tell in this document."""
        issuer = settings.OAUTH2_PROVIDER["OIDC_ISS_ENDPOINT"]
        told = json.loads(ConnectDiscoveryInfoView.as_view()(request).content)
        more = {
            "device_authorization_endpoint": f"{issuer}/device-authorization/",
            "revocation_endpoint": f"{issuer}/revoke_token/",
        }
        return JsonResponse({**told, **more})

    return [
        path("login/", LoginView.as_view(template_name="login.html")),
        path("o/.well-known/openid-configuration", discovery),
        path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
    ]


def furnish(redirect: str, secret: str) -> None:
    """Tables, two clients, and a person in a group."""
    from django.contrib.auth.models import Group, User  # type: ignore[import-not-found]
    from django.core.management import call_command  # type: ignore[import-not-found]
    from oauth2_provider.models import Application  # type: ignore[import-not-found]

    call_command("migrate", verbosity=0)
    person = User.objects.create_user("ann", password="correct horse battery")
    person.groups.add(Group.objects.create(name="staff"))
    Application.objects.create(
        name=CONSOLE, client_id=CONSOLE, client_secret=secret, algorithm="RS256",
        client_type=Application.CLIENT_CONFIDENTIAL, redirect_uris=f"{redirect}/signin/done",
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        post_logout_redirect_uris=f"{redirect}/login",
    )  # fmt: skip
    Application.objects.create(
        name=COMMAND, client_id=COMMAND, algorithm="RS256", client_type=Application.CLIENT_PUBLIC,
        authorization_grant_type=Application.GRANT_DEVICE_CODE,
    )  # fmt: skip


def rotate() -> None:
    """A new key signs; the one before is still published."""
    from oauth2_provider.settings import oauth2_settings

    given = settings.OAUTH2_PROVIDER
    given["OIDC_RSA_PRIVATE_KEYS_INACTIVE"] = [given["OIDC_RSA_PRIVATE_KEY"]]
    given["OIDC_RSA_PRIVATE_KEY"] = new_key()
    oauth2_settings.reload()


def set_active(name: str, active: bool) -> None:
    """What an administrator does with an account: who closes one takes its tokens back, too."""
    from django.contrib.auth.models import User
    from oauth2_provider.models import RefreshToken

    User.objects.filter(username=name).update(is_active=active)
    if not active:
        for token in RefreshToken.objects.filter(user__username=name, revoked__isnull=True):
            token.revoke()


class Server(ThreadingMixIn, WSGIServer):
    """Answers several at a time."""

    daemon_threads = True


class Quiet(WSGIRequestHandler):
    """Says what it answers on standard error, which the test keeps in a file."""

    def address_string(self) -> str:
        """Without asking for names."""
        return str(self.client_address[0])


def main(folder: Path, redirect: str, secret: str, lives_s: int) -> None:
    """Until the input ends."""
    from django.core.handlers.wsgi import WSGIHandler  # type: ignore[import-not-found]

    server = Server(("127.0.0.1", 0), Quiet)
    issuer = f"http://127.0.0.1:{server.server_port}/o"
    configure(folder, issuer, lives_s)
    globals()["urlpatterns"] = _routes()
    furnish(redirect, secret)
    server.set_app(WSGIHandler())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"issuer": issuer}), flush=True)
    for line in sys.stdin:
        told = json.loads(line)
        if told["do"] == "rotate":
            rotate()
        else:
            set_active(told["user"], told["active"])
        print(json.dumps({"done": told["do"]}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
