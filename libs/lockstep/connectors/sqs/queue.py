"""The queue that options name, and the client that asks for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from lockstep.connectors.aws.client import REGION, AwsClient, AwsPlace
from lockstep.connectors.endpoints import address_of
from lockstep.connectors.sqs import PORTS

_REGION: Final = re.compile(r"sqs[.]([a-z0-9-]+)[.]")


def client_of(options: Mapping[str, str]) -> AwsClient:
    """At the host of the queue's address, which tells its region, too. ValueError: it is none."""
    address_of("queue", options["queue"].strip(), PORTS)
    parts = urlsplit(options["queue"].strip())
    told = _REGION.match(parts.hostname or "")
    place = AwsPlace(
        "sqs",
        region=options.get("region") or (told[1] if told else REGION),
        endpoint=f"{parts.scheme}://{parts.netloc}",
        access_key=options.get("access.key", ""),
        secret_key=options.get("secret.key", ""),
        ca_file=options.get("tls.ca.file", ""),
    )
    return AwsClient(place)
