"""Which form the messages of a gRPC source or sink can have (extensions 12.22)."""

from __future__ import annotations

from typing import Final

from lockstep.connectors.grpc import CALL, CALL_ANSWER, SERVICE, SERVICE_ANSWER, SOURCE
from lockstep.connectors.grpc.urls import MethodUrl, method_url
from lockstep.mapping.options import invalid
from lockstep.siddhiql import ast

TYPES: Final = frozenset({SOURCE, SERVICE, SERVICE_ANSWER, CALL, CALL_ANSWER})
BYTES: Final = frozenset({"protobuf", "binarypassthrough"})
URLS: Final = ("publisher.url", "receiver.url")


def url_of(annotation: ast.Annotation) -> MethodUrl | None:
    """The method's address, which the checker has read; None where there is none."""
    text = next((text for name in URLS if (text := annotation.get(name)) is not None), None)
    return None if text is None else method_url(text, "process")


def check_form(annotation: ast.Annotation, mapping: ast.Annotation | None) -> None:
    """Of any source or sink. SiddhiQLError for one of gRPC whose service cannot carry the form."""
    if (annotation.get("type") or "").lower() not in TYPES:
        return
    url = url_of(annotation)
    form = "" if mapping is None else (mapping.get("type") or "").lower()
    if url is None or url.is_event_service is (form not in BYTES):
        return
    if url.is_event_service:
        raise invalid(
            annotation, f"an event of EventService is text, and {form!r} is bytes",
            "@map(type='json'), or the url of a service of your own",
        )  # fmt: skip
    raise invalid(
        annotation,
        f"messages of {url.service} are in Protobuf",
        '@map(type=\'protobuf\', schema.def="""syntax = \'proto3\'; message … service …""")',
    )
