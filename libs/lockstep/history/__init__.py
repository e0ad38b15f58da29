"""Asking the past, and running any version of an app over it.

from lockstep import history
history.stream("Flights", "HourlyDelay").groupBy("origin").count().show()
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lockstep.history.asking import History, run_on_spark, stream, streamed

__all__ = ["History", "run_on_spark", "stream", "streamed"]


def __getattr__(name: str) -> Any:
    """What needs Spark and the tables' library is loaded by whoever asks for it: services use other
    modules of this package and have to start soon; a back-test on one machine needs no Spark."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lockstep.history import asking

    return getattr(asking, name)
