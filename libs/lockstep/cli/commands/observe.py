"""observe: the files of Prometheus and Grafana, made from the list of metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lockstep.cli.output import console
from lockstep.telemetry.boards import RUNBOOK, files


def observe(
    folder: Annotated[Path, typer.Argument(file_okay=False, help="Where to write them.")],
    runbook: Annotated[
        str, typer.Option("--runbook", help="The page that the alerts' links lead to.")
    ] = RUNBOOK,
) -> None:
    """Write Prometheus' settings and alert rules, and Grafana's dashboards."""
    for path, text in files(runbook).items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        console.print(str(target), markup=False, soft_wrap=True)
