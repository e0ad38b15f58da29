"""The results of a run that is quoted somewhere, kept beside the machine that they were measured
on: `--keep-as NAME` writes results/NAME.json, which goes into the repository."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).with_name("results")
PACKAGES: Final = ("pyspark", "pyarrow", "numpy", "numba", "nats-py", "confluent-kafka")
CPU_INFO: Final = Path("/proc/cpuinfo")


def machine() -> dict[str, Any]:
    """What somebody else needs to tell how far figures can be compared."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "load_average": round(os.getloadavg()[0], 1),
    }


def keep(name: str, found: Mapping[str, Any], command: str) -> Path:
    """Writes what was found by a command; what stood there under the name goes."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    kept = {"command": command, "commit": _commit(), "machine": machine(), **found}
    path.write_text(json.dumps(kept, indent=1) + "\n")
    return path


def _processor() -> str:
    lines = CPU_INFO.read_text().splitlines() if CPU_INFO.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _commit() -> str:
    """Of the code that was measured; `+` behind it where something was changed since."""
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
        cwd=FOLDER.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return told.stdout.strip()
