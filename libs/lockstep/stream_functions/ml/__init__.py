"""#ml:predict (extensions 29): what a trained model says of an event."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from lockstep.events import Attribute, AttributeType
from lockstep.events.packages import to_install
from lockstep.siddhiql.catalogue import Argument, Extension, Overload, Parameter, SignatureError
from lockstep.siddhiql.catalogue.signatures import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    stream_function,
)

FEATURES_MAX: Final = 1_000
OUTPUTS_MAX: Final = 1_000
TYPES: Final = {type_.value: type_ for type_ in (BOOL, DOUBLE, FLOAT, INT, LONG, STRING)}
"""What an output can be."""
_OUTPUT: Final = re.compile(r"([A-Za-z_]\w*)\s+([A-Za-z]+)")


def outputs_of(text: str) -> tuple[tuple[str, AttributeType], ...]:
    """The attributes that a call adds: `'label string, probability double'`; SignatureError."""
    found: dict[str, AttributeType] = {}
    for part in text.split(","):
        written = _OUTPUT.fullmatch(part.strip())
        type_ = TYPES.get(written[2].lower()) if written else None
        if written is None or type_ is None or written[1] in found:
            raise SignatureError(
                f"outputs: {part.strip()!r} is no name and type of its own",
                "outputs='label string, probability double': in the model's order",
            )
        found[written[1]] = type_
    if len(found) > OUTPUTS_MAX:
        raise SignatureError(f"{len(found)} outputs", f"at most {OUTPUTS_MAX}")
    return tuple(found.items())


def _check(arguments: Sequence[Argument]) -> None:
    outputs_of(arguments[1].value)
    if len(arguments) - 2 > FEATURES_MAX:
        raise SignatureError(f"{len(arguments) - 2} features", f"at most {FEATURES_MAX}")
    if find_spec("onnxruntime") is None or find_spec("onnx") is None:
        raise SignatureError(
            "the runtime of models is not installed here",
            to_install("ml", "wherever apps are checked and run"),
        )


def _adds(arguments: Sequence[Argument]) -> tuple[Attribute, ...]:
    return tuple(Attribute(name, type_) for name, type_ in outputs_of(arguments[1].value))


EXTENSIONS: tuple[Extension, ...] = (
    stream_function(
        "predict",
        Overload(
            (
                Parameter("model", (STRING,), constant=True),
                Parameter("outputs", (STRING,), constant=True),
                Parameter(
                    "model.feature",
                    (BOOL, DOUBLE, FLOAT, INT, LONG, STRING),
                    attribute=True,
                    repeat=True,
                    min_repeat=1,
                ),
            ),
            adds=_adds,
            check=_check,
        ),
        namespace="ml",
    ),
)
