"""import: what ran on the older products, as apps of Lockstep, with a report of what to decide."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from lockstep.cli.commands.options import AsJson
from lockstep.cli.output import Exit, console, fail, print_json
from lockstep.migration import Fate, Imported, SourceFile, convert
from lockstep.migration.archives import MAX_ARCHIVE_BYTES
from lockstep.migration.deployment import SUFFIXES
from lockstep.migration.findings import as_markdown, as_rows
from lockstep.migration.reading import MAX_FILE_BYTES

MAX_FILES: Final = 20_000
"""So many files an import looks at."""

REPORT: Final = "import-report.md"
DATASOURCES: Final = "datasources.toml"


def import_definitions(
    paths: Annotated[
        list[Path],
        typer.Argument(exists=True, help="Files, folders of a deployment, or .car archives."),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", file_okay=False, help="Where the apps are written.")
    ],
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", dir_okay=False, help=f"The report; JSON for .json. Default: OUT/{REPORT}."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Turn plans, streams, receivers and publishers of WSO2 CEP, DAS and Siddhi 2 to 4 into apps.

    Nothing is left out silently: the report says what changed, and what has to be decided.
    """
    done = convert(_read(paths))
    if not done.artifacts:
        unread = [one for one in done.findings if one.fate is Fate.TO_DECIDE]
        why = "".join(f": {one.place}: {one.why}" for one in unread[:1])
        hint = f"files end with {', '.join(SUFFIXES)}"
        fail(f"there is nothing to import{why}", Exit.USAGE, hint=hint)
    written = _texts(done, out, report if report is not None else out / REPORT)
    present = [path for path in written if path.exists()]
    if present:
        fail(f"{present[0]} is there already", Exit.USAGE, hint="choose another folder")
    for path, text in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    _tell(done, list(written), as_json)
    if not all(app.valid for app in done.apps):
        raise typer.Exit(int(Exit.FAILED))


def _read(paths: list[Path]) -> list[SourceFile]:
    """The files below the paths, in order; of those that no import reads, the name alone."""
    found: list[SourceFile] = []
    for file in _files(paths):
        if len(found) >= MAX_FILES:
            fail(
                f"there are more than {MAX_FILES} files", Exit.USAGE, hint="import folder by folder"
            )
        lower = file.name.lower()
        limit = MAX_ARCHIVE_BYTES if lower.endswith(".car") else MAX_FILE_BYTES
        data = b""
        if lower.endswith(SUFFIXES):
            try:
                with file.open("rb") as stream:
                    data = stream.read(limit + 1)  # one more than is taken: the import says so
            except OSError as error:
                fail(f"{file} cannot be read: {error.strerror}", Exit.USAGE)
        found.append(SourceFile(str(file), data))
    return found


def _files(paths: list[Path]) -> Iterator[Path]:
    seen: set[Path] = set()
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and file.resolve() not in seen:
                seen.add(file.resolve())
                yield file


def _texts(done: Imported, out: Path, report: Path) -> dict[Path, str]:
    texts = {out / f"{app.name}.siddhi": app.text for app in done.apps}
    if done.datasources:
        texts[out / DATASOURCES] = done.datasources
    if report.suffix == ".json":
        texts[report] = json.dumps(as_rows(done.findings), indent=2) + "\n"
    else:
        texts[report] = f"# Import\n\n{as_markdown(done.findings)}"
    return texts


def _tell(done: Imported, written: list[Path], as_json: bool) -> None:
    counts = Counter(finding.fate for finding in done.findings)
    if as_json:
        print_json(
            {
                "artifacts": done.artifacts,
                "apps": [{"name": app.name, "valid": app.valid} for app in done.apps],
                "findings": {fate.value: counts[fate] for fate in Fate},
                "written": [str(path) for path in written],
            }
        )
        return
    for path in written:
        console.print(str(path), markup=False, soft_wrap=True)
    told = ", ".join(f"{counts[fate]} {fate.value}" for fate in Fate)
    valid = sum(app.valid for app in done.apps)
    console.print(
        f"{done.artifacts} definitions, {len(done.apps)} apps, {valid} valid; {told}",
        soft_wrap=True,
    )
