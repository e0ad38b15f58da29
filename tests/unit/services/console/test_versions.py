"""The page of versions: which two are shown first, and what a row says."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep_services.console.pages.nodes import row_of
from lockstep_services.console.pages.versions import chosen_first, label_of, version_row


def version(number: int, **others: Any) -> dict[str, Any]:
    """As the coordinator lists it."""
    return {
        "number": number, "version": "abc" * 20, "size_bytes": 2_048, "deployed_ms": 0,
        "who": "user ann", "how": "upgrade", "deployed": False, **others,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [
        ("", "", (2, 3)),
        ("1", "", (1, 3)),
        ("1", "2", (1, 2)),
        ("", "draft", (3, 0)),
        ("draft", "1", (0, 1)),
        ("9", "x", (2, 3)),
    ],
)
def test_the_newest_two_unless_the_address_says_others(
    left: str, right: str, wanted: tuple[int, int]
) -> None:
    """A draft stands beside the newest; what is not there is passed over."""
    assert chosen_first([version(3), version(2), version(1)], left, right) == wanted


def test_a_single_version_stands_beside_itself() -> None:
    """There is no other."""
    assert chosen_first([version(7)], "", "") == (7, 7)


def test_a_row_says_who_and_how_and_leads_to_the_editor() -> None:
    """In words; the deployed one is marked."""
    row = version_row("A b", version(2, deployed=True))
    assert [cell.content for cell in row[:4]] == [
        "version 2", "1970-01-01 00:00:00", "user ann", "upgrade"
    ]  # fmt: skip
    assert (row[0].chip, row[-1].link) == ("good", "/write?app=A%20b&version=2")
    assert version_row("A", version(1, who="", how="earlier"))[2].content == "–"
    assert label_of(version(2, deployed=True)).endswith(" · deployed")


def test_a_process_says_what_it_takes_where_it_is_known() -> None:
    """Its name leads to its log for who may read that."""
    node = {
        "node": "p 1", "service": "processor", "url": "u", "leading": False, "sent_ms": 1_000,
        "host": "h", "zone": "", "cpu_percent": 40, "drained": False, "apps": [],
        "version": "0.1.0", "process_cpu_percent": 250, "resident_bytes": 3 * 2**20,
    }  # fmt: skip
    row = row_of(node, 3_000)
    assert [cell.content for cell in row[3:7]] == ["0.1.0", "250 %", "3.0 MB", "40 %"]
    assert row[0].link == "/nodes/p%201/log?service=processor"
    unknown = {
        **node, "service": "receiver", "version": None, "process_cpu_percent": None,
        "resident_bytes": None,
    }  # fmt: skip
    row = row_of(unknown, 3_000, may_read_log=False)
    assert [cell.content for cell in row[3:7]] == ["–"] * 4
    assert row[0].link == ""
