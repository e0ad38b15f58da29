"""Signature of the hopping window, which the core leaves to extensions (semantics 7.16)."""

from __future__ import annotations

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue.contract import Extension, ExtensionKind, Overload, Parameter

_TIME = (AttributeType.INT, AttributeType.LONG)

EXTENSIONS: tuple[Extension, ...] = (
    Extension(
        ExtensionKind.WINDOW,
        "hopping",
        (
            Overload(
                (
                    Parameter("window.time", _TIME, constant=True, positive=True),
                    Parameter("hop.time", _TIME, constant=True, positive=True),
                )
            ),
        ),
        doc="Every hop.time the events of the last window.time, as a batch.",
    ),
)
