"""`${name}` in app texts, replaced before parsing (grammar 16).

`${secret:name}` stays: who opens a connector fills it in. A connector whose options hold a name
without a value is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lockstep.secrets.references import BEGINNING
from lockstep.siddhiql import ast
from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.siddhiql.secrets import CONNECTORS
from lockstep.siddhiql.suggestions import did_you_mean
from lockstep.siddhiql.trees import below
from lockstep.siddhiql.typing import positioned

_VARIABLE = re.compile(r"\$\{([^{}\n]*)\}")
_NAME = re.compile(r"\$\{(\w+)\}")
_TEXTS = ("payload", "attributes")
"""Annotations of a mapping whose texts are the messages' own."""


def update_variables(text: str, mapping: Mapping[str, str]) -> str:
    """The text with every `${name}` replaced by its value; an unknown name is a SiddhiQLError."""

    def value(found: re.Match[str]) -> str:
        name = found.group(1).strip()
        if name in mapping:
            return str(mapping[name])
        if found.group().startswith(BEGINNING):
            return found.group()
        before = text[: found.start()]
        raise SiddhiQLError(
            f"no value is given for ${{{name}}}",
            line=before.count("\n") + 1,
            column=found.start() - before.rfind("\n"),
            hint=did_you_mean(name, mapping),
        )

    return _VARIABLE.sub(value, text)


def names_of(text: str) -> frozenset[str]:
    """The names that stand in `${…}`, one word each, as the older product has them."""
    return frozenset(_NAME.findall(text))


def with_values(text: str, values: Mapping[str, str]) -> str:
    """The text with the values that there are; other names stay."""
    return _NAME.sub(lambda found: values.get(found[1], found[0]), text)


def check_values(tree: ast.App) -> None:
    """No option of a connector waits for a value; SiddhiQLError."""
    for one in below(tree.definitions):
        if isinstance(one, ast.Annotation) and one.name.lower() in CONNECTORS:
            _check_filled(one, one.at)


def _check_filled(annotation: ast.Annotation, at: ast.Location) -> None:
    for element in annotation.elements:
        for name in sorted(names_of(element.value)):
            raise positioned(
                at, f"no value is given for ${{{name}}}",
                f"lockstep deploy --set {name}=…, or for what nobody may read ${{secret:{name}}}",
            )  # fmt: skip
    for inner in annotation.annotations:
        if inner.name.lower() not in _TEXTS:
            _check_filled(inner, at)
