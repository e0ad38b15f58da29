"""`#ml:predict`: appends what a trained model says of each event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lockstep.events import AttributeType
from lockstep.operators.contract import StreamEvent
from lockstep.operators.errors import EventError
from lockstep.plan import java
from lockstep.stream_functions.call import (
    Appending,
    StreamCall,
    StreamFunctionFactory,
    StreamLink,
)
from lockstep.stream_functions.ml import outputs_of
from lockstep.stream_functions.ml.models import opened

_KINDS: Final[dict[AttributeType, tuple[type, ...]]] = {
    AttributeType.BOOL: (bool,),
    AttributeType.INT: (int,),
    AttributeType.LONG: (int,),
    AttributeType.FLOAT: (int, float),
    AttributeType.DOUBLE: (int, float),
    AttributeType.STRING: (str,),
}
_LIMITS: Final = {AttributeType.INT: 2**31, AttributeType.LONG: 2**63}


def _value(value: Any, name: str, type_: AttributeType) -> Any:
    fits: Any = _KINDS[type_]
    if isinstance(value, bool) != (type_ is AttributeType.BOOL) or not isinstance(value, fits):
        raise EventError(f"the model gives {value!r} for {name!r}, which is no {type_.value}")
    limit = _LIMITS.get(type_)
    if limit is not None and not -limit <= value < limit:
        raise EventError(f"the model gives {value} for {name!r}: too large for {type_.value}")
    if type_ is AttributeType.FLOAT:
        return java.f32(value)
    return float(value) if type_ is AttributeType.DOUBLE else value


def _row(values: Sequence[Any], outputs: Sequence[tuple[str, AttributeType]]) -> tuple[Any, ...]:
    if len(values) != len(outputs):
        raise EventError(
            f"the model gives {len(values)} values, and outputs names {len(outputs)}:"
            f" for features of 0 they are {values!r:.200}"
        )
    return tuple(_value(v, *output) for v, output in zip(values, outputs, strict=True))


def _predict(call: StreamCall) -> StreamLink:
    model, outputs = opened(call.constant(0)), outputs_of(call.constant(1))
    names = [str(argument.attribute_name) for argument in call.arguments[2:]]
    features = call.values[2:]
    model.takes(names)
    _row(model.probe(names), outputs)

    def append(event: StreamEvent) -> tuple[Any, ...]:
        values = [feature(event) for feature in features]
        if None in values:
            raise EventError(f"ml:predict takes no null, but {names[values.index(None)]} is null")
        return _row(model.run(names, values), outputs)

    return Appending(append)


STREAM_FUNCTIONS: dict[tuple[str, str], StreamFunctionFactory] = {("ml", "predict"): _predict}
