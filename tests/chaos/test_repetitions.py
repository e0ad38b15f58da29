"""What the end of a run says of damaged records and repeated appends."""

from __future__ import annotations

import json
from pathlib import Path

from tests.chaos.repetitions import BEFORE, DAMAGED, OWN_LOG, WHOLE, repetitions


def test_what_was_done_again_is_counted(tmp_path: Path) -> None:
    """Of all processes, this one too; what is no line of ours is passed over."""
    (tmp_path / "logs").mkdir()
    told = {"node": "publisher-1", "log": "in-A", "sequence": 9, "size_bytes": 5, "server": "a:1"}
    lines = [
        json.dumps({"message": DAMAGED, **told}),
        "thread panicked: a record came damaged",
        json.dumps({"message": WHOLE, **told, "differs_from_byte": 3, "differing_bytes": 2}),
        json.dumps({"message": BEFORE, "rows": 40}),
        json.dumps({"message": "archive open", "hint": BEFORE}),
    ]
    (tmp_path / "logs" / "publisher-1.log").write_text("\n".join(lines))
    (tmp_path / OWN_LOG).write_text(json.dumps({"message": DAMAGED, "log": "out-A"}))
    head, *each = repetitions(tmp_path)
    assert head == (
        "records that came damaged 2, then whole 1; archive appends repeated 1, of 40 rows"
    )
    assert each == [
        "a record came damaged: node=publisher-1 log=in-A sequence=9 size_bytes=5 server=a:1",
        "a record came damaged: node=chaos log=out-A",
        "a damaged record came whole: node=publisher-1 log=in-A sequence=9 size_bytes=5 "
        "differs_from_byte=3 differing_bytes=2 server=a:1",
    ]


def test_nothing_done_again(tmp_path: Path) -> None:
    """One line, also where a run ended before anybody told of anything."""
    assert repetitions(tmp_path) == [
        "records that came damaged 0, then whole 0; archive appends repeated 0, of 0 rows"
    ]
