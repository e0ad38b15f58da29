"""The store that options of a source or sink name."""

from __future__ import annotations

from collections.abc import Mapping

from lockstep.connectors.aws.client import REGION, AwsClient, AwsPlace


def client_of(options: Mapping[str, str]) -> AwsClient:
    """`aws.access.key`, `aws.secret.key`, `aws.region`, `endpoint`, `tls.ca.file`."""
    place = AwsPlace(
        "s3",
        region=options.get("aws.region") or REGION,
        endpoint=options.get("endpoint", ""),
        access_key=options.get("aws.access.key", ""),
        secret_key=options.get("aws.secret.key", ""),
        ca_file=options.get("tls.ca.file", ""),
    )
    return AwsClient(place)
