"""The permission to publish, as a value: who has it has claimed the output log (invariant 4)."""

from __future__ import annotations

from typing import Any, Self

_KEY = object()


class Permit:
    """May append rows of `epoch` where the log ends at `expected_sequence`.

    Only an accepted claim makes one (`of_claim`), and only the log's own answers move it. The log
    checks both numbers at every append.
    """

    __slots__ = ("epoch", "expected_sequence")

    epoch: int
    expected_sequence: int

    def __init__(self, key: object, epoch: int, expected_sequence: int) -> None:
        if key is not _KEY:
            raise TypeError("a permit comes from an accepted claim: Permit.of_claim")
        object.__setattr__(self, "epoch", epoch)
        object.__setattr__(self, "expected_sequence", expected_sequence)

    @classmethod
    def of_claim(cls, *, claimed_epoch: int, accepted_epoch: int, sequence: int) -> Self:
        """The permit that an accepted claim gives; ValueError when it was another claim."""
        if claimed_epoch != accepted_epoch:
            raise ValueError(f"claimed epoch {claimed_epoch}, accepted {accepted_epoch}")
        return cls(_KEY, claimed_epoch, sequence)

    def at(self, sequence: int) -> Self:
        """The same epoch's permit behind `sequence`; it never moves back."""
        if sequence < self.expected_sequence:
            raise ValueError(f"a log does not shrink: {self.expected_sequence} -> {sequence}")
        return type(self)(_KEY, self.epoch, sequence)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a permit is a value")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Permit) and (
            (self.epoch, self.expected_sequence) == (other.epoch, other.expected_sequence)
        )

    def __hash__(self) -> int:
        return hash((self.epoch, self.expected_sequence))

    def __repr__(self) -> str:
        return f"Permit(epoch={self.epoch}, expected_sequence={self.expected_sequence})"
