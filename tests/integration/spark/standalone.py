"""A Spark standalone cluster on this machine: a master and workers from the installed pyspark."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import pyspark

from lockstep.embedded import free_port

CORES_PER_WORKER = 1
EXECUTOR_MEMORY = "512m"
WORKER_MEMORY = "600m"
DAEMON_MEMORY = "128m"
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Six JVMs start within one test run: what they would gain by compiling well they do not live
for."""
LIMIT_S = 120


class StandaloneCluster:
    """A master and `workers` workers as child processes, on the loopback, until the block ends."""

    def __init__(self, directory: Path, workers: int = 2) -> None:
        self._directory = directory
        self._workers = workers
        self._port = free_port()
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def master(self) -> str:
        """The URL that drivers and workers know it by."""
        return f"spark://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        try:
            self._start("master.Master", "--port", str(self._port))
            self._await_master()
            for number in range(self._workers):
                self._start(
                    "worker.Worker",
                    *("--cores", str(CORES_PER_WORKER), "--memory", WORKER_MEMORY),
                    *("--work-dir", str(self._directory / f"work-{number}"), self.master),
                )
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def _start(self, part: str, *arguments: str) -> None:
        home = Path(pyspark.__file__).parent
        environment = os.environ | {
            "SPARK_HOME": str(home),
            "SPARK_DAEMON_MEMORY": DAEMON_MEMORY,
            "SPARK_DAEMON_JAVA_OPTS": QUICK_JVM,
        }
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{part}"]
        command += ["--host", "127.0.0.1", "--webui-port", "0", *arguments]
        log = self._directory / f"{part}-{len(self._processes)}.log"
        with log.open("wb") as sink:
            self._processes.append(
                subprocess.Popen(command, env=environment, stdout=sink, stderr=subprocess.STDOUT)
            )

    def _await_master(self) -> None:
        end = time.monotonic() + LIMIT_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
            except OSError:
                if time.monotonic() > end or self._processes[0].poll() is not None:
                    raise
                time.sleep(0.05)
            else:
                return

    def _stop(self) -> None:
        """Workers end their executors, then the master ends."""
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
