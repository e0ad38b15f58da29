"""The console's colours can be read: WCAG's contrast of every pair in its style sheet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lockstep_services.console import shell

SHEET = (Path(shell.__file__).parent / "static" / "console.css").read_text("utf-8")
TEXT, LARGE = 4.5, 3.0
THEMES = {"light": r":root \{(.+?)\}", "dark": r':root\[data-theme="dark"\] \{(.+?)\}'}
GROUNDS = ("ground", "panel")
CODE = ("k1", "k2", "k3", "k4", "k5", "ink", "soft")

Rgb = tuple[float, float, float]


def colours(theme: str) -> Mapping[str, Rgb]:
    """The variables of a theme that are colours."""
    block = re.search(THEMES[theme], SHEET, re.DOTALL)
    assert block is not None
    found = re.findall(r"--([\w-]+): #([0-9a-f]{6});", block[1])
    return {name: _rgb(digits) for name, digits in found}


def _rgb(digits: str) -> Rgb:
    red, green, blue = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return red, green, blue


def mixed(front: Rgb, back: Rgb, share: float) -> Rgb:
    """So much of the one before the other."""
    red, green, blue = (
        share * one + (1 - share) * other for one, other in zip(front, back, strict=True)
    )
    return red, green, blue


def luminance(colour: Rgb) -> float:
    """Relative, as WCAG defines it."""
    red, green, blue = (
        one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Rgb, other: Rgb) -> float:
    """From 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def pairs() -> Iterator[tuple[str, str]]:
    """Text and ground of each rule; where a rule names no ground, all that it may stand on."""
    for body in re.findall(r"\{([^{}]*)\}", SHEET):
        front = re.search(r"(?<![\w-])color: var\(--([\w-]+)\)", body)
        back = re.search(r"background: var\(--([\w-]+)\)", body)
        if front is None:
            continue
        for ground in (back[1],) if back else GROUNDS:
            yield front[1], ground
    yield from ((name, "panel") for name in CODE)
    yield from ((name, "sunk") for name in ("ink", "soft"))
    yield from (("ink", ground) for ground in ("good-soft", "bad-soft"))


PAIRS = sorted(set(pairs()))


def test_the_reckoning() -> None:
    """WCAG's own examples: black on white, and the lightest grey that may be read on it."""
    assert contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21)
    assert contrast(_rgb("767676"), (1, 1, 1)) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("theme", THEMES)
def test_texts_can_be_read(theme: str) -> None:
    """Every text on what it stands on."""
    known = colours(theme)
    assert len(PAIRS) >= 25
    faint = {
        f"{front} on {back}": round(found, 2)
        for front, back in PAIRS
        if (found := contrast(known[front], known[back])) < TEXT
    }
    assert faint == {}


@pytest.mark.parametrize("theme", THEMES)
def test_code_can_be_read_on_the_line_of_the_cursor(theme: str) -> None:
    """The editor tints it."""
    known = colours(theme)
    line = mixed(known["sunk"], known["panel"], 0.6)
    assert {name: contrast(known[name], line) >= TEXT for name in CODE} == dict.fromkeys(CODE, True)


@pytest.mark.parametrize("theme", THEMES)
def test_controls_can_be_seen(theme: str) -> None:
    """The edges of fields, the ring of the focus, icons that are drawn lighter than text."""
    known = colours(theme)
    seen = {
        f"{name} on {back}": contrast(known[name], known[back])
        for name in ("edge", "focus") for back in GROUNDS
    }  # fmt: skip
    for selector, name, back in (("widget-edit", "ink", "panel"), ("empty-icon", "soft", "panel")):
        faded = re.search(rf"\.{selector} \{{[^}}]*opacity: ([\d.]+)", SHEET)
        assert faded is not None
        seen[selector] = contrast(mixed(known[name], known[back], float(faded[1])), known[back])
    assert {name: round(found, 2) for name, found in seen.items() if found < LARGE} == {}
    assert "q-field__control::before { border-color: var(--edge)" in SHEET
