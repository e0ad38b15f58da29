"""`lockstep import`: files in, apps and a report out."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.cli.conftest import Lockstep
from tests.unit.migration import pizza_shop


def deployment(folder: Path) -> Path:
    """The pizza shop as files."""
    for name, text in pizza_shop.FILES.items():
        file = folder / "shop" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder / "shop"


def test_what_it_writes_is_valid(tmp_path: Path, lockstep: Lockstep) -> None:
    """Apps and a report, what is to decide first."""
    shop, out = deployment(tmp_path), tmp_path / "out"
    done = lockstep("import", str(shop), "-o", str(out))
    assert done.exit_code == 0
    assert "8 definitions, 1 apps, 1 valid" in done.output
    assert {file.name for file in out.iterdir()} == {"PizzaTill.siddhi", "import-report.md"}
    assert lockstep("validate", str(out / "PizzaTill.siddhi")).exit_code == 0
    report = (out / "import-report.md").read_text()
    assert report.index("## To decide") < report.index("## Changed") < report.index("## Dropped")
    assert f"{shop}/eventpublishers/texting.xml:1" in report


def test_the_report_for_programs(tmp_path: Path, lockstep: Lockstep) -> None:
    """With a place and a reason for each."""
    report = tmp_path / "report.json"
    done = lockstep(
        "import", str(deployment(tmp_path)), "-o", str(tmp_path / "out"), "--report", str(report),
        "--json",
    )  # fmt: skip
    counts = json.loads(done.output)["findings"]
    rows = json.loads(report.read_text())
    assert counts["to decide"] == sum(row["fate"] == "to decide" for row in rows) > 0
    assert all(row["file"] and row["line"] and row["why"] for row in rows)


def test_nothing_is_overwritten(tmp_path: Path, lockstep: Lockstep) -> None:
    """What somebody has filled in stays."""
    arguments = ("import", str(deployment(tmp_path)), "-o", str(tmp_path / "out"))
    assert lockstep(*arguments).exit_code == 0
    before = (tmp_path / "out" / "PizzaTill.siddhi").stat().st_mtime_ns
    again = lockstep(*arguments)
    assert again.exit_code == 2
    assert "is there already" in again.output
    assert (tmp_path / "out" / "PizzaTill.siddhi").stat().st_mtime_ns == before


def test_apps_in_other_files_are_not_passed_over(tmp_path: Path, lockstep: Lockstep) -> None:
    """Those of a SiddhiProcess are taken out; templates of business rules are named."""
    folder, out = tmp_path / "files", tmp_path / "out"
    folder.mkdir()
    (folder / "values.yml").write_text("replicas: 3\n")
    (folder / "process.yaml").write_text(
        "kind: SiddhiProcess\nspec:\n  apps:\n    - script: |\n"
        "        @App:name('Taken')\n        define stream S (v int);\n"
    )
    done = lockstep("import", str(folder), "-o", str(out))
    assert done.exit_code == 0
    assert {file.name for file in out.iterdir()} == {"Taken.siddhi", "import-report.md"}

    rules = [{"templates": [{"content": "@App:name('Left') define stream S (v int);"}]}]
    group = {"templateGroup": {"name": "Rules", "ruleTemplates": rules}}
    (tmp_path / "rules.json").write_text(json.dumps(group))
    done = lockstep("import", str(tmp_path / "rules.json"), "-o", str(tmp_path / "rules"))
    assert "1 definitions, 0 apps, 0 valid; 1 to decide" in done.output
    assert "Rules: Left" in (tmp_path / "rules" / "import-report.md").read_text()


def test_an_empty_folder_is_refused(tmp_path: Path, lockstep: Lockstep) -> None:
    """It is the wrong folder."""
    (tmp_path / "none").mkdir()
    done = lockstep("import", str(tmp_path / "none"), "-o", str(tmp_path / "out"))
    assert done.exit_code == 2
    assert "nothing to import" in done.output


def test_an_app_that_stays_invalid_ends_with_1(tmp_path: Path, lockstep: Lockstep) -> None:
    """So that scripts notice."""
    (tmp_path / "bad.siddhiql").write_text("from S select 'open\n")
    done = lockstep("import", str(tmp_path / "bad.siddhiql"), "-o", str(tmp_path / "out"))
    assert done.exit_code == 1


def test_what_cannot_be_read_is_refused(tmp_path: Path, lockstep: Lockstep) -> None:
    """With the reason; among other files, it is told in the report."""
    garbage, out = tmp_path / "garbage.siddhi", tmp_path / "out"
    garbage.write_bytes(b"\xff\xfe\x00")
    done = lockstep("import", garbage, "-o", out)
    assert done.exit_code == 2
    assert f"nothing to import: {garbage}:1: it is no text in UTF-8" in done.stderr
    assert not out.exists()
    done = lockstep("import", garbage, deployment(tmp_path), "-o", out)
    assert done.exit_code == 0
    assert "it is no text in UTF-8" in (out / "import-report.md").read_text()
