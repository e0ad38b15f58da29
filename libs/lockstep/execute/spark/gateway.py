"""Spark's JVM is started so that its words do not go among those of the process: a command's answer
and a service's JSON lines stay what they are."""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from typing import Any, Final

from pyspark import SparkConf
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

SAID_MAX_LINES: Final = 50
"""So many of its last lines are told when it does not start."""

_log = logging.getLogger(__name__)


def launched(conf: SparkConf) -> Any:
    """The gateway to a new JVM. What that and its Python workers write to standard error is logged:
    errors as warnings, the rest for those who debug. OSError with the last lines when it does not
    start."""
    said: deque[str] = deque(maxlen=SAID_MAX_LINES)
    reading, writing = os.pipe()
    follower = threading.Thread(
        target=_follow, args=(reading, said), name="spark-said", daemon=True
    )
    follower.start()
    start: Any = launch_gateway
    try:
        return start(conf=conf, popen_kwargs={"stderr": writing})
    except (PySparkException, OSError) as error:
        os.close(writing)
        writing = -1
        follower.join(timeout=1.0)
        raise OSError("\n".join([f"{error}", *said])) from error
    finally:
        if writing >= 0:
            os.close(writing)


def _follow(reading: int, said: deque[str]) -> None:
    with os.fdopen(reading, errors="replace") as lines:
        for line in lines:
            text = line.rstrip("\n")
            said.append(text)
            _log.log(logging.WARNING if " ERROR " in text else logging.DEBUG, "%s", text)
