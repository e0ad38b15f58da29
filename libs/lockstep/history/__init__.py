"""Asking the past, and running any version of an app over it.

from lockstep import history
history.stream("Flights", "HourlyDelay").groupBy("origin").count().show()
"""

from lockstep.history.asking import History, stream

__all__ = ["History", "stream"]
