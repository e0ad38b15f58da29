"""What happened, told as it happens and summed up at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from lockstep.clock import SystemClock

CLOCK = SystemClock()


@dataclass(frozen=True, slots=True)
class Happened:
    """One fault: how long until the suite was whole again, and the longest silence meanwhile."""

    name: str
    whole_ms: int
    silence_ms: int


@dataclass
class Story:
    """Lines while it runs; figures afterwards."""

    began_ms: int = field(default_factory=CLOCK.monotonic_ms)
    happened: list[Happened] = field(default_factory=list)
    failovers_ms: list[int] = field(default_factory=list)
    unit_failovers_ms: list[int] = field(default_factory=list)
    handovers_ms: list[int] = field(default_factory=list)

    def say(self, text: str) -> None:
        """One line, with the time since the beginning."""
        seconds = (CLOCK.monotonic_ms() - self.began_ms) / 1_000
        print(f"chaos: {seconds:7.1f} s  {text}", flush=True)

    def add(self, happened: Happened, note: str) -> None:
        """A fault is over."""
        self.happened.append(happened)
        self.say(
            f"{happened.name}{f' ({note})' if note else ''}: whole after {happened.whole_ms} ms, "
            f"longest silence {happened.silence_ms} ms"
        )

    def table(self) -> list[str]:
        """Per kind of fault: how often, time until whole, longest silence."""
        kinds: dict[str, list[Happened]] = defaultdict(list)
        for one in self.happened:
            kinds[one.name].append(one)
        lines = [f"{'fault':<25}{'times':>6}{'whole p50':>12}{'max':>9}{'silence max':>13}"]
        for name, ones in sorted(kinds.items()):
            whole = [one.whole_ms for one in ones]
            lines.append(
                f"{name:<25}{len(ones):>6}{quantile(whole, 0.5):>12}{max(whole):>9}"
                f"{max(one.silence_ms for one in ones):>13}"
            )
        measured = (
            ("handovers", "gap", self.handovers_ms),
            ("failovers of units", "next row", self.unit_failovers_ms),
        )
        for what, until, found in measured:
            if found:
                p50, most = quantile(found, 0.5), max(found)
                lines.append(f"{what} {len(found)}, {until} p50 {p50} ms, max {most} ms")
        return lines


def quantile(values: Sequence[int], share: float) -> int:
    """The smallest value that at least `share` of them do not exceed; 0 of none."""
    if not values:
        return 0
    at = max(0, -int(-len(values) * share // 1) - 1)
    return sorted(values)[at]
