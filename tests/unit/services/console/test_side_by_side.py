"""Two texts beside each other: what is the same, what differs, and what is left out."""

from __future__ import annotations

from lockstep_services.console.side_by_side import Row, Side, counts_of, rows_of


def lines(*numbers: int) -> str:
    """A text of these."""
    return "\n".join(f"line {number}" for number in numbers)


def test_texts_that_are_the_same_have_no_rows() -> None:
    """Also two empty ones."""
    assert rows_of(lines(1, 2), lines(1, 2)) == []
    assert rows_of("", "") == []


def test_a_changed_line_stands_beside_what_it_was() -> None:
    """With its numbers, and with what is around it."""
    found = rows_of("a\nb\nc", "a\nB\nc")
    assert found == [
        Row(Side(1, "a"), Side(1, "a"), is_same=True),
        Row(Side(2, "b"), Side(2, "B"), is_same=False),
        Row(Side(3, "c"), Side(3, "c"), is_same=True),
    ]
    assert counts_of(found) == (1, 1)


def test_lines_that_one_side_alone_has() -> None:
    """Have nothing beside them; numbers go on by themselves on each side."""
    found = rows_of("a\nc", "a\nb\nc\nd")
    assert [(row.left and row.left.number, row.right and row.right.number) for row in found] == [
        (1, 1), (None, 2), (2, 3), (None, 4)
    ]  # fmt: skip
    assert counts_of(found) == (0, 2)
    assert counts_of(rows_of("a\nb", "")) == (2, 0)


def test_lines_far_from_a_difference_are_left_out_and_counted() -> None:
    """Before, between and behind."""
    old = list(range(40))
    new = [*old[:10], 100, *old[11:30], 101, *old[31:]]
    found = rows_of(lines(*old), lines(*new), around=2)
    assert [row.skipped for row in found if row.skipped] == [8, 15, 7]
    shown = [row for row in found if not row.skipped]
    assert len(shown) == 10
    assert sum(row.skipped for row in found) + len(shown) == len(old)
