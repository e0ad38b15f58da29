"""The windows of the unique pack, with one event per key (extensions 9)."""

from __future__ import annotations

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue import Overload, Parameter
from lockstep.siddhiql.catalogue.windows import (
    TIME,
    Leaves,
    Timers,
    WindowExtension,
    attribute,
    constant,
)

_SCALARS = (
    *(AttributeType.INT, AttributeType.LONG, AttributeType.FLOAT),
    *(AttributeType.BOOL, AttributeType.DOUBLE, AttributeType.STRING),
)
_KEY = Parameter("unique.key", _SCALARS)
_KEYS = Parameter("unique.key", _SCALARS, repeat=True, min_repeat=1)
_LENGTH = constant("window.length", AttributeType.INT)
_TIME = constant("window.time", *TIME)
_PERIOD = constant("window.time", *TIME, positive=True)
_START = constant("start.time", *TIME)
_TIMESTAMP = attribute("time.stamp", AttributeType.LONG)
_MORE = (
    constant("time.out", *TIME, optional=True),
    constant("replace.time.stamp.with.batch.end.time", AttributeType.BOOL, optional=True),
)


def _declared(
    name: str,
    meaning: str,
    example: str,
    *forms: tuple[Parameter, ...],
    timers: Timers = Timers.NONE,
    formerly: tuple[str, ...] = (),
) -> WindowExtension:
    slides = meaning.startswith("sliding")
    return WindowExtension(
        name,
        tuple(map(Overload, forms)),
        "unique",
        semantics="extensions 9",
        meaning=f"{__name__}.{meaning}",
        examples=(f"unique:{name}({example})",),
        leaves=Leaves.IN_ANY_ORDER if slides else Leaves.TOGETHER,
        emits_changes=slides,
        timers=timers,
        formerly=formerly,
    )


EXTENSIONS = (
    _declared("ever", "sliding:unique_ever", "k", (_KEYS,), formerly=("unique",)),
    _declared("first", "sliding:UniqueFirst", "k", (_KEYS,), formerly=("firstunique",)),
    _declared("length", "sliding:UniqueLength", "k, 3", (_KEY, _LENGTH)),
    _declared("time", "sliding:UniqueTime", "k, 30", (_KEY, _TIME), timers=Timers.SEEN),
    _declared("lengthBatch", "batches:unique_length_batch", "k, 2", (_KEY, _LENGTH)),
    _declared("firstLengthBatch", "batches:unique_first_length_batch", "k, 2", (_KEY, _LENGTH)),
    _declared(
        "timeBatch",
        "batches:unique_time_batch",
        "k, 20",
        (_KEY, _PERIOD),
        (_KEY, _PERIOD, _START),
        timers=Timers.SEEN,
    ),
    _declared(
        "firstTimeBatch",
        "batches:unique_first_time_batch",
        "k, 20",
        (_KEY, _PERIOD),
        (_KEY, _PERIOD, _START),
        timers=Timers.SEEN,
    ),
    _declared(
        "timeLengthBatch",
        "batches:unique_time_length_batch",
        "k, 20, 3",
        (_KEY, _PERIOD, _LENGTH),
        (_KEY, _PERIOD, _START, _LENGTH),
        timers=Timers.SEEN,
    ),
    _declared(
        "externalTimeBatch",
        "batches:unique_external_time_batch",
        "k, t, 20",
        (_KEY, _TIMESTAMP, _PERIOD),
        (_KEY, _TIMESTAMP, _PERIOD, _START, *_MORE),
        (_KEY, _TIMESTAMP, _PERIOD, attribute("start.time", AttributeType.LONG), *_MORE),
        timers=Timers.SEEN,
    ),
)
