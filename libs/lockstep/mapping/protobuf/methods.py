"""What the method of a service says of the messages of a gRPC source or sink (extensions 12.22)."""

from __future__ import annotations

from typing import Final

from lockstep.connectors.grpc import CALL_ANSWER, SERVICE_ANSWER
from lockstep.connectors.grpc.urls import simple_name
from lockstep.mapping.grpc_forms import TYPES, url_of
from lockstep.mapping.options import invalid
from lockstep.mapping.protobuf.options import defined
from lockstep.mapping.protobuf.types import Method
from lockstep.siddhiql import ast

ANSWERS: Final = frozenset({CALL_ANSWER, SERVICE_ANSWER})
"""Types whose messages are what a method answers; those of the others are what it takes."""
PROTOBUF: Final = "protobuf"


def with_message(annotation: ast.Annotation, mapping: ast.Annotation) -> ast.Annotation:
    """The `@map(type='protobuf')` of a source or sink. Of one of gRPC that names no message, with
    the one that the method takes or answers. SiddhiQLError for a service without that method."""
    kind = (annotation.get("type") or "").lower()
    if kind not in TYPES or mapping.get("message") is not None:
        return mapping
    method = _method_of(annotation, mapping)
    if method is None:
        return mapping
    message = method.answers if kind in ANSWERS else method.takes
    elements = (*mapping.elements, ast.Element("message", message))
    return ast.Annotation(mapping.name, elements, mapping.annotations, at=mapping.at)


def service_of(annotation: ast.Annotation) -> str:
    """The service's name in the schema of a gRPC source or sink; empty where that has no such
    service."""
    maps = annotation.nested("map")
    if not maps or (maps[0].get("type") or "").lower() != PROTOBUF:
        return ""
    method = _method_of(annotation, maps[0])
    return "" if method is None else method.service


def _method_of(annotation: ast.Annotation, mapping: ast.Annotation) -> Method | None:
    """By the url; without one the only method that there is."""
    types = defined(mapping)
    url = url_of(annotation)
    if types is None or (url is None and len(types.methods) != 1):
        return None
    if url is None:
        return types.methods[0]
    services = [each for each in types.methods if _is_named(each.service, url.service)]
    found = [each for each in services if each.name == url.method]
    if services and not found:
        names = ", ".join(each.name for each in services)
        raise invalid(
            mapping, f"the service {services[0].service} has no method {url.method!r}",
            f"there is {names}",
        )  # fmt: skip
    return found[0] if found else None


def _is_named(service: str, asked: str) -> bool:
    """Urls of the older products have the package of Java in front, which may be another one."""
    return simple_name(service) == simple_name(asked)
