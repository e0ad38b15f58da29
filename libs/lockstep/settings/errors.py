"""The one error of a wrong configuration: every mistake at once, each with its name and a hint."""

from __future__ import annotations

from dataclasses import dataclass

from lockstep.events.errors import Fault, LockstepError


@dataclass(frozen=True, slots=True)
class Mistake:
    """`name` as the user wrote it, or would have to write it, in the environment or the file."""

    name: str
    problem: str
    hint: str | None = None

    def __str__(self) -> str:
        text = f"{self.name}: {self.problem}"
        return text if self.hint is None else f"{text} ({self.hint})"


class SettingsError(LockstepError):
    """The configuration cannot be used; `mistakes` has all that was found."""

    fault = Fault.USER

    def __init__(self, mistakes: list[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        noun = "mistake" if len(mistakes) == 1 else "mistakes"
        lines = "".join(f"\n  {mistake}" for mistake in mistakes)
        super().__init__(f"{len(mistakes)} {noun} in the settings:{lines}")
