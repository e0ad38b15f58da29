"""What a door takes, as its OpenAPI document says: operations, and values that fit schemas."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

METHODS: Final = ("get", "put", "post", "delete")
JSON: Final = "application/json"
TEXT: Final = "text/plain"
FORM: Final = "application/x-www-form-urlencoded"
BYTES: Final = "*/*"
OTHERS: Final[tuple[Any, ...]] = (5, 1.5, "x", True, [], {}, [1], {"a": 1})
NOWHERE: Final = "Nowhere"
"""An app that there is not."""
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """A method at a path. `media`: of its body, "" without one; `is_open`: it asks nobody who it
    is."""

    method: str
    path: str
    query: tuple[str, ...] = ()
    media: str = ""
    schema: Schema = field(default_factory=dict)
    is_open: bool = False

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.method} {self.path}"

    @property
    def names(self) -> tuple[str, ...]:
        """What its path has in braces."""
        return tuple(re.findall(r"\{(\w+)\}", self.path))

    @property
    def properties(self) -> Schema:
        """Of its body, if that is an object with known ones."""
        found: Schema = self.schema.get("properties", {})
        return found

    @property
    def required(self) -> Sequence[str]:
        """Of these."""
        found: Sequence[str] = self.schema.get("required", ())
        return found


@dataclass(frozen=True, slots=True)
class Known:
    """What the drawing uses of the suite on trial.

    `token`: lets in everywhere; `weak`: lets in, and has no right on the app; `bad`: header lines
    that let nobody in. `names`: of paths, `values`: of bodies. `event`: a good body of the app's
    stream `names["stream"]`; `line`: likewise with the stream's name.
    """

    host: str
    token: str
    weak: str
    bad: Sequence[tuple[str, str]]
    names: Mapping[str, str]
    values: Mapping[str, Any]
    event: bytes = b'{"n": 1}'
    line: bytes = b'{"stream": "In", "event": {"n": 1}}'
    changes: bool = True
    """False: nothing that this door takes could end the app of the trial."""


def operations_of(document: Mapping[str, Any], opens: frozenset[str]) -> list[Operation]:
    """All of them in the document's order; `opens`: names of those that are open."""
    found = []
    components = document.get("components", {}).get("schemas", {})
    for path, item in document["paths"].items():
        for method in METHODS:
            if method not in item:
                continue
            told = item[method]
            query = tuple(one["name"] for one in told.get("parameters", ()) if one["in"] == "query")
            content = told.get("requestBody", {}).get("content", {})
            media = next(iter(content), "")
            schema = resolved(content[media]["schema"], components) if media else {}
            name = f"{method.upper()} {path}"
            found.append(Operation(method.upper(), path, query, media, schema, name in opens))
    return found


def resolved(schema: Any, components: Mapping[str, Any]) -> Any:
    """With what its references lead to in their place."""
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            return resolved(components[schema["$ref"].rpartition("/")[2]], components)
        return {name: resolved(value, components) for name, value in schema.items()}
    if isinstance(schema, list):
        return [resolved(one, components) for one in schema]
    return schema


def fits(schema: Schema, value: Any) -> bool:
    """Whether a value is of the kind that a schema names; its parts are not looked at."""
    if "anyOf" in schema:
        return any(fits(one, value) for one in schema["anyOf"])
    if "enum" in schema:
        return any(value is one or value == one for one in schema["enum"])
    kinds: Mapping[str, Any] = {
        "string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list,
        "object": dict, "null": type(None),
    }  # fmt: skip
    kind = schema.get("type")
    if kind is None:
        return True
    return isinstance(value, kinds[kind]) and (kind == "boolean" or not isinstance(value, bool))


def sample(schema: Schema, rng: random.Random, known: Mapping[str, Any], name: str = "") -> Any:
    """A value that fits; `known`: what a property of that name should be."""
    if name in known and fits(schema, known[name]):
        return known[name]
    if "anyOf" in schema:
        return sample(rng.choice(schema["anyOf"]), rng, known, name)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema.get("type")
    if kind == "object":
        needed = schema.get("required", ())
        return {
            key: sample(inner, rng, known, key)
            for key, inner in schema.get("properties", {}).items()
            if key in needed or rng.random() < 0.3
        }
    if kind == "array":
        return [sample(schema.get("items", {}), rng, known) for _ in range(rng.randrange(3))]
    plain: Mapping[Any, Any] = {
        "string": "word", "integer": rng.randrange(100), "number": 0.5, "boolean": False,
        "null": None,
    }  # fmt: skip
    return plain.get(kind, {})


def misfits(operation: Operation) -> Iterator[tuple[str, Any]]:
    """Properties of its body with values of a wrong kind."""
    for name, schema in operation.properties.items():
        for other in OTHERS:
            if not fits(schema, other):
                yield name, other
