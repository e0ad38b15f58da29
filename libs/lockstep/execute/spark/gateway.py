"""Spark's JVM is started so that its words do not go among those of the process: a command's answer
and a service's JSON lines stay what they are. And it is started without a fork of the process: what
libraries do in a fork (gRPC begins threads in it) may end the child before it is Java."""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import struct
import subprocess
import tempfile
import threading
from collections import deque
from pathlib import Path
from typing import Any, Final

from pyspark import SparkConf
from pyspark.errors import PySparkException
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway

SAID_MAX_LINES: Final = 50
"""So many of its last lines are told when it does not start."""
LOOK_EVERY_S: Final = 0.05
HEAD: Final = struct.Struct(">ii")
"""What the JVM tells first: its port, and the length of the secret that follows."""
WITHOUT_INTERRUPTS: Final = ("/bin/sh", "-c", "trap '' INT; exec \"$@\"", "sh")
"""A Ctrl-C is for this process, which ends Spark in its own time. A shell says so, as a function
between fork and exec (`preexec_fn`) would need the fork."""

_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
_connect: Any = launch_gateway  # has no types
_log = logging.getLogger(__name__)


def launched(conf: SparkConf) -> Any:
    """The gateway to a new JVM. What that and its Python workers write to standard error is logged:
    errors as warnings, the rest for those who debug. OSError with the last lines when it does not
    start."""
    if _PORT in os.environ:  # spark-submit started this process
        return _connect()
    said: deque[str] = deque(maxlen=SAID_MAX_LINES)
    reading, writing = os.pipe()
    follower = threading.Thread(
        target=_follow, args=(reading, said), name="spark-said", daemon=True
    )
    follower.start()
    try:
        process, port, secret = _started(conf, writing)
        return _connected(process, port, secret)
    except (PySparkException, OSError) as error:
        os.close(writing)
        writing = -1
        follower.join(timeout=1.0)
        raise OSError("\n".join([f"{error}", *said])) from error
    finally:
        if writing >= 0:
            os.close(writing)


def _started(conf: SparkConf, writing: int) -> tuple[subprocess.Popen[bytes], int, str]:
    """A JVM that listens: its process, port and secret. It ends when its standard input does."""
    command = [str(Path(_find_spark_home()) / "bin" / "spark-submit")]
    for key, value in conf.getAll():
        command += ["--conf", f"{key}={value}"]
    command += shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "gateway")
        process = subprocess.Popen(
            [*WITHOUT_INTERRUPTS, *command],
            stdin=subprocess.PIPE,
            stderr=writing,
            env={
                **os.environ,
                "SPARK_CONNECT_MODE": "0",
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told),
            },
        )
        # The JVM gives the file its name when all is in it.
        while not told.exists():
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(timeout=LOOK_EVERY_S)
                raise OSError(f"Java ended with {code} before it listened")
        content = told.read_bytes()
    port, length = HEAD.unpack_from(content)
    return process, port, content[HEAD.size : HEAD.size + length].decode()


def _connected(process: subprocess.Popen[bytes], port: int, secret: str) -> Any:
    os.environ |= {_PORT: str(port), _SECRET: secret}  # where PySpark looks for them
    try:
        gateway = _connect()
    finally:
        del os.environ[_PORT], os.environ[_SECRET]
    gateway.proc = process
    return gateway


def _follow(reading: int, said: deque[str]) -> None:
    with os.fdopen(reading, errors="replace") as lines:
        for line in lines:
            text = line.rstrip("\n")
            said.append(text)
            _log.log(logging.WARNING if " ERROR " in text else logging.DEBUG, "%s", text)
