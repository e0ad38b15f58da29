"""The models of an app: what queries share that teach and ask the same one by its name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.catalogue.models import ModelExtension, ModelUse
from lockstep.siddhiql.trees import below


def models_in(tree: Any) -> Iterator[ModelUse]:
    """The models that a syntax tree uses, in order of writing."""
    for one in below(tree):
        if isinstance(one, ast.StreamFunction):
            call = one.call
            found = default_catalogue().find(
                ExtensionKind.STREAM_FUNCTION, call.namespace, call.name
            )
            if isinstance(found, ModelExtension) and isinstance(call.arguments[0], ast.Constant):
                yield ModelUse(str(call.arguments[0].value), call, found)
