"""The console's process: its settings, its door, what guards that, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from importlib import resources
from pathlib import Path
from typing import Final

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from nicegui import app as pages_application
from nicegui import ui

from lockstep.cli.addresses import find_addresses
from lockstep.clock import Clock, SystemClock, SystemRandomness
from lockstep.events import LockstepError
from lockstep.frame import loop
from lockstep.frame.lifecycle import STOP_SIGNALS
from lockstep.frame.openid import provider_of
from lockstep.frame.web import OpenDoorError, check_host
from lockstep.settings import Settings, SettingsError, load_settings
from lockstep.telemetry import CONTENT_TYPE, Metrics, configure_logging, get_logger
from lockstep.tls import serving
from lockstep_services.console import login, pages
from lockstep_services.console.bodies import Bounded
from lockstep_services.console.compressing import Compressing, prepare
from lockstep_services.console.guard import Guard
from lockstep_services.console.openid import SignIn
from lockstep_services.console.suite import Doors

EXIT_FAILED: Final = 1
EXIT_SETTINGS: Final = 2
PAGE_LIMIT_BYTES: Final = 4_194_304
ASKING: Final = ["GET", "HEAD"]


class _Server(uvicorn.Server):
    """Ends in good order when it is asked to; uvicorn's own would end the process by the signal.
    It says when it is there and when it ends, as the other services do."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """For as long as it serves."""
        running = asyncio.get_running_loop()

        def asked(number: signal.Signals) -> None:
            self.should_exit = True
            get_logger().info("stopping", signal=number.name)

        for number in STOP_SIGNALS:
            running.add_signal_handler(number, asked, number)
        try:
            yield
        finally:
            for number in STOP_SIGNALS:
                running.remove_signal_handler(number)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Its door is open, and behind it all is there."""
        await super().startup(sockets)
        scheme = "http" if self.config.ssl is None else "https"
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        get_logger().info("listening", url=url)
        get_logger().info("ready", url=url)


def run() -> int:
    """Serves until SIGTERM or SIGINT; gives the exit code."""
    try:
        settings = load_settings()
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_SETTINGS
    clock, telemetry = SystemClock(), settings.telemetry
    configure_logging(
        service="console", level=telemetry.log_level, log_format=telemetry.log_format, clock=clock
    )
    try:
        check_host(settings.server)
        loop.run(serve(settings, clock))
    except (OpenDoorError, LockstepError) as error:
        get_logger().error("cannot run", error=str(error))
        return EXIT_FAILED
    return 0


async def serve(settings: Settings, clock: Clock) -> None:
    """Until asked to stop."""
    application = built(settings, clock)
    tls = serving(settings.server.tls)
    config = uvicorn.Config(
        application,
        host=settings.server.host,
        port=settings.server.port,
        log_config=None,
        access_log=False,
        server_header=False,
        ws_max_size=PAGE_LIMIT_BYTES,
        timeout_graceful_shutdown=1,
        ssl_context_factory=None if tls is None else lambda _config, _default: tls,
    )
    await _Server(config).serve()


def built(settings: Settings, clock: Clock) -> FastAPI:
    """The application: health, log-in, pages."""
    client = settings.client
    addresses = find_addresses(
        client.directory,
        url=client.url,
        receiver=client.receiver_url,
        presenter=client.presenter_url,
        coordinator=client.coordinator_url,
        tls=client.tls,
    )
    metrics = Metrics()
    provider = provider_of(settings.oidc, clock, get_logger()) if settings.oidc.client_id else None

    @contextlib.asynccontextmanager
    async def living(application: FastAPI) -> AsyncIterator[None]:
        doors = Doors.open(addresses)
        application.state.doors = doors
        pages.open_with(doors, settings, clock)
        await prepare(application)
        gc.freeze()  # no collection, for which a page would wait, goes through what is loaded
        keys = None if provider is None else asyncio.create_task(provider.run())
        try:
            yield
        finally:
            if keys is not None:
                keys.cancel()
            await pages.close()
            await doors.session.close()

    application = FastAPI(lifespan=living, openapi_url=None, docs_url=None, redoc_url=None)
    application.add_middleware(Compressing)
    application.add_middleware(Bounded)
    application.add_middleware(Guard, settings=settings.server, metrics=metrics, clock=clock)
    _add_health(application, metrics)
    leave = None
    if provider is not None:
        own_url = settings.server.advertised_url
        signing = SignIn(provider, settings.oidc, SystemRandomness(), own_url)
        signing.add_to(application)
        leave = signing.left
    cluster_token = settings.server.token.get_secret_value()
    login.add_to(application, leave, cluster_token=cluster_token)
    folder = Path(str(resources.files("lockstep_services.console").joinpath("static")))
    application.mount("/assets", StaticFiles(directory=folder), name="assets")
    pages_application.add_exception_handler(404, _nothing)
    ui.run_with(
        application, title="Lockstep", dark=None, tailwind=False, show_welcome_message=False,
        favicon=folder / "icon.svg", reconnect_timeout=10.0, gzip_middleware_factory=None,
    )  # fmt: skip
    return application


async def _nothing(_request: Request, _error: Exception) -> Response:
    """NiceGUI's own page tells its version, notes the whole address in the log, and is kept in
    memory for whoever asked."""
    return PlainTextResponse("there is nothing at this address\n", status_code=404)


def _add_health(application: FastAPI, metrics: Metrics) -> None:
    @application.api_route("/healthz", methods=ASKING)
    @application.api_route("/health", methods=ASKING)
    async def health() -> Response:
        return JSONResponse({"status": "up"})

    @application.api_route("/readyz", methods=ASKING)
    async def ready(request: Request) -> Response:
        is_open = getattr(request.app.state, "doors", None) is not None
        body = {"ready": is_open, "pid": os.getpid()}
        return JSONResponse(body, status_code=200 if is_open else 503)

    @application.api_route("/metrics", methods=ASKING)
    async def show_metrics() -> Response:
        return PlainTextResponse(metrics.render(), headers={"Content-Type": CONTENT_TYPE})
