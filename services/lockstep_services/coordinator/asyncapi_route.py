"""An app's AsyncAPI document, with the addresses of the processes that live now."""

from __future__ import annotations

from urllib.parse import urlsplit

from aiohttp import web

from lockstep.control import HeartbeatWatch
from lockstep.settings import BusSettings
from lockstep_services.coordinator.asyncapi import Doors, asyncapi_of
from lockstep_services.coordinator.desired import DesiredState


class AsyncApiRoute:
    """Handler over the desired state and the heartbeats."""

    def __init__(self, desired: DesiredState, watch: HeartbeatWatch, bus: BusSettings) -> None:
        self._desired = desired
        self._watch = watch
        self._nats = nats_hosts(bus.url.get_secret_value()) if bus.kind == "nats" else ()

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The path."""
        router.add_get("/v1/apps/{app}/asyncapi.json", self._show)

    async def _show(self, request: web.Request) -> web.Response:
        one = await self._desired.get(request.match_info["app"])
        plan = await self._desired.plan(one.text, runs=True)
        doors = Doors(
            receivers=[beat.url for beat in self._watch.alive("receiver")],
            presenters=[beat.url for beat in self._watch.alive("presenter")],
            nats=self._nats,
        )
        return web.json_response(asyncapi_of(plan, one.version, doors))


def nats_hosts(urls: str) -> tuple[str, ...]:
    """`host:port` of each server; never what stands in front of the @."""
    hosts = []
    for url in urls.split(","):
        plain = url.strip()
        netloc = urlsplit(plain if "://" in plain else f"nats://{plain}").netloc
        hosts.append(netloc.rpartition("@")[2])
    return tuple(host for host in hosts if host)
