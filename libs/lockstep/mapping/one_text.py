"""The text of a `@payload` in formats whose message is one text."""

from __future__ import annotations

from lockstep.mapping.options import invalid
from lockstep.siddhiql import ast


def one_text(payload: ast.Annotation) -> str:
    """The text; an error at its place where there are several, as only one can be meant."""
    if len(payload.elements) > 1:
        raise invalid(
            payload,
            f"@payload has {len(payload.elements)} texts, and a message of this format is one",
            "write one text with all values in it: @payload('{{a}} {{b}}')",
        )
    return "".join(element.value for element in payload.elements)
