"""@source(type='prometheus'), @sink(type='prometheus'): metrics that are scraped, or given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from lockstep.connectors.endpoints import check_headers, is_known
from lockstep.connectors.tls import OPTIONS
from lockstep.siddhiql.catalogue import (
    Argument,
    Delivery,
    ExtensionKind,
    Overload,
    Promise,
    SignatureError,
)
from lockstep.siddhiql.catalogue.connectors import INT, ConnectorExtension, option, options_given

KINDS: Final = ("counter", "gauge", "histogram", "summary")
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
SERVER: Final = "http://localhost:9080"


def port_of(url: str) -> int | None:
    """The one that a `server.url` or `push.url` names. ValueError where it is none."""
    return urlsplit(url if "//" in url else f"//{url}").port


def _source(arguments: Sequence[Argument]) -> None:
    check_headers(options_given(arguments), "headers")


def _sink(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    pushes = given.get("publish.mode", "").lower() == "pushgateway"
    if pushes and "push.url" not in given:
        raise SignatureError("'push.url' is missing", "push.url='http://host:9091'")
    name = "push.url" if pushes else "server.url"
    url = given.get(name, SERVER)
    try:
        host = urlsplit(url).hostname
        if is_known(url):
            port_of(url)
    except ValueError:
        raise SignatureError(f"{name!r} is {url[:200]!r}", f"{name}='{SERVER}'") from None
    if not pushes and host not in LOOPBACK:
        raise SignatureError(
            f"'server.url' would serve metrics on {host!r} to anybody",
            "name localhost and let a scraper on the machine read it, or push to a gateway",
        )


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "prometheus",
        (
            Overload(
                (
                    option("target.url", needed=True),
                    option("metric.name", needed=True),
                    option("metric.type", choices=KINDS),
                    option("metric.job"),
                    option("metric.instance"),
                    option("scrape.interval", INT),
                    option("scrape.timeout", INT),
                    option("username"),
                    option("password"),
                    option("headers"),
                    *OPTIONS,
                ),
                check=_source,
            ),
        ),
        doc="Samples of a metric, scraped every `scrape.interval` seconds by one receiver.",
        promise=Promise(
            Delivery.AT_MOST_ONCE,
            reconnect="scrapes again",
            poison="dead letter",
            pressure="scrapes later",
            repeat="each scrape is new",
        ),
        carrier=f"{__name__}.scrape:PrometheusSource",
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "prometheus",
        (
            Overload(
                (
                    option("job"),
                    option("publish.mode", choices=("server", "pushgateway")),
                    option("server.url"),
                    option("push.url"),
                    option("push.operation", choices=("push", "pushadd")),
                    option("metric.name"),
                    option("metric.type", needed=True, choices=KINDS),
                    option("metric.help"),
                    option("value.attribute"),
                    option("buckets"),
                    option("quantiles"),
                ),
                check=_sink,
            ),
        ),
        doc="Events as samples of a metric, served by the publisher or pushed to a gateway.",
        promise=Promise(
            Delivery.AT_LEAST_ONCE,
            reconnect="counts from 0",
            poison="on.error",
            pressure="none",
            repeat="counts twice",
        ),
        carrier=f"{__name__}.serve:PrometheusSink",
    ),
)
