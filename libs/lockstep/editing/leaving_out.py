"""A text without the statement that holds a mistake; everything else stays where it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lockstep.editing.pieces import Piece, solid


@dataclass
class Left:
    """What is left of a text, and which names went with the rest."""

    text: str
    broken: set[str] = field(default_factory=set)
    """What is said of them follows from a mistake that was told."""
    freed: set[str] = field(default_factory=set)
    """Inner streams of a partition that was left out; its queries stand outside of it now."""

    def leave_out(self, parts: Sequence[Sequence[Piece]], offset: int) -> bool:
        """The annotation there, or the statement; False where nothing is left to leave out."""
        at = _holding(parts, offset)
        if at is None:
            return False
        before, part = self.text, parts[at]
        annotation = _annotation(solid(part), offset)
        if annotation is not None:
            self._blank(*annotation)
            # Streams of what failed may have come with it.
            self.broken |= {f"!{name}" for name in makes(part)}
        if self.text == before:
            self._blank(part[0].start, part[-1].end)
            self.broken |= set(makes(part))
            if solid(part)[-1].says("begin"):
                self._free(parts[at + 1 :])
        return self.text != before

    def _free(self, parts: Sequence[Sequence[Piece]]) -> None:
        """Takes the end away from a partition that has no beginning, and the `#` of its streams."""
        for part in parts:
            words = solid(part)
            for sign, name, behind in zip(words, words[1:], [*words[2:], None], strict=False):
                is_call = behind is not None and behind.value in ("(", ":")
                is_window = name.says("window") and behind is not None and behind.value == "."
                if sign.value == "#" and name.kind == "word" and not is_call and not is_window:
                    self._blank(sign.start, sign.end)
                    self.freed.add(name.name)
            if words[0].says("end"):
                self._blank(words[0].start, words[-1].end)
                return
            last = words[-2] if len(words) > 1 and words[-1].value == ";" else words[-1]
            if last.says("end"):
                self._blank(last.start, last.end)
                return

    def _blank(self, start: int, end: int) -> None:
        blank = "".join(each if each == "\n" else " " for each in self.text[start:end])
        self.text = self.text[:start] + blank + self.text[end:]


def makes(part: Sequence[Piece]) -> list[str]:
    """The names that a statement brings into the app."""
    words = solid(part)
    found = []
    for number, each in enumerate(words[:-1]):
        behind = words[number + 1 :]
        if each.says("define") and len(behind) > 1:
            found.append(behind[1].name)
        elif each.says("into") and behind[0].kind == "word":
            found.append(behind[0].name)
    return found


def _holding(parts: Sequence[Sequence[Piece]], offset: int) -> int | None:
    """The statement at an offset: the last one that begins before it."""
    found = 0 if parts else None
    for number, part in enumerate(parts):
        if solid(part)[0].start > offset:
            break
        found = number
    return found


def _annotation(words: Sequence[Piece], offset: int) -> tuple[int, int] | None:
    """Where the annotation in front of a statement begins and ends that holds an offset."""
    at = 0
    while at < len(words) and words[at].value == "@":
        end = _annotation_end(words, at)
        if words[at].start <= offset < words[end - 1].end:
            return words[at].start, words[end - 1].end
        at = end
    return None


def _annotation_end(words: Sequence[Piece], at: int) -> int:
    """The number of the word behind it."""
    end = at + 2
    while end + 1 < len(words) and words[end].value in (":", ".", "-"):
        end += 2
    if end >= len(words) or words[end].value != "(":
        return min(end, len(words))
    depth = 0
    for number in range(end, len(words)):
        depth += {"(": 1, ")": -1}.get(words[number].value, 0)
        if depth == 0:
            return number + 1
    return len(words)
