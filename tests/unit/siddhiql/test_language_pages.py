"""The pages of the language say what the code does: their examples, and the catalogue's names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from lockstep.events import AttributeType
from lockstep.siddhiql import SiddhiQLError, check
from lockstep.siddhiql.catalogue import Extension, ExtensionKind, Parameter
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.checking.connectors import declared_connector
from lockstep.testing.difference import differences
from lockstep.testing.play import play
from lockstep.testing.scenario import app_of, parse_file

FOLDER = Path(__file__).parents[3] / "libs/lockstep/siddhiql"
PAGES = ("GRAMMAR.md", "SEMANTICS.md", "EXTENSIONS.md")
EXTENSIONS = (FOLDER / "EXTENSIONS.md").read_text()

CALLED = (
    ExtensionKind.FUNCTION,
    ExtensionKind.AGGREGATOR,
    ExtensionKind.WINDOW,
    ExtensionKind.STREAM_FUNCTION,
)
HEADS = {
    "function": ExtensionKind.FUNCTION,
    "aggregator": ExtensionKind.AGGREGATOR,
    "window": ExtensionKind.WINDOW,
    "stream function": ExtensionKind.STREAM_FUNCTION,
}
NUMBERS = {AttributeType.INT, AttributeType.LONG, AttributeType.FLOAT, AttributeType.DOUBLE}
SCALARS = {*NUMBERS, AttributeType.BOOL, AttributeType.STRING}
LETTERS = {f"regex.{letter}" for letter in "BCDEFGHIJKLMNOPQRSTUVWXY"}


def blocks(kind: str) -> list[tuple[str, str]]:
    """(page:line, content) of the fenced blocks of a kind."""
    found = []
    for page in PAGES:
        text = (FOLDER / page).read_text()
        matches = re.finditer(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        found += [(f"{page}:{text.count(chr(10), 0, m.start()) + 1}", m[1]) for m in matches]
    return found


@pytest.mark.parametrize(("place", "text"), blocks("siddhi"), ids=lambda value: value[:20])
def test_examples(place: str, text: str) -> None:
    """An app is valid, and brings what the page says."""
    check(app_of(text))
    for scenario in parse_file(text).scenarios:
        found = differences(scenario, play(scenario))
        assert not found, "\n".join([place, *(difference.text() for difference in found)])


@pytest.mark.parametrize(
    "text", [text for _, block in blocks("siddhi-refused") for text in block.splitlines()]
)
def test_refused(text: str) -> None:
    """What a page calls refused is refused, with a place and a hint."""
    with pytest.raises(SiddhiQLError) as refused:
        check(text)
    assert refused.value.column > 1
    assert refused.value.hint


def _extensions(*kinds: ExtensionKind) -> Iterator[Extension]:
    catalogue = default_catalogue()
    for kind in kinds:
        for name in catalogue.names(kind):
            pack, _, own = name.rpartition(":")
            found = catalogue.find(kind, pack or None, own)
            assert found is not None
            yield found


def _parameter(parameter: Parameter) -> str:
    types = "|".join(type_.value for type_ in parameter.types)
    if parameter.same_as_first:
        types = "same"
    elif set(parameter.types) == NUMBERS:
        types = "a number"
    elif set(parameter.types) == SCALARS:
        types = "scalar"
    text = f"{parameter.name}: {types}" if types else parameter.name
    text += " attribute" * parameter.attribute + " constant" * parameter.constant
    return text + ", …" * parameter.repeat


def _form(title: str, parameters: tuple[Parameter, ...], cuts: set[int]) -> str:
    """The form whose parameters from each cut on may be left out: `f(a [, b])`."""
    text = ""
    for index, parameter in enumerate(parameters):
        comma = ", " if index else ""
        text += f"{' ' * bool(index)}[{comma}" if index in cuts else comma
        text += _parameter(parameter)
    return f"{title}({text}{']' * len(cuts)})"


def signatures(extension: Extension) -> Iterator[str]:
    """The forms of an extension; one that is the beginning of another is part of it."""
    title = f"{extension.namespace}:{extension.name}" if extension.namespace else extension.name
    hash_sign = "#" * (extension.kind is ExtensionKind.STREAM_FUNCTION)
    left = [overload.parameters for overload in extension.overloads]
    while left:
        longest = next(one for one in left if not any(_begins(one, more) for more in left))
        inside = [one for one in left if one == longest or _begins(one, longest)]
        left = [one for one in left if one not in inside]
        cuts = {len(one) for one in inside if one != longest}
        cuts |= {index for index, parameter in enumerate(longest) if parameter.optional}
        yield _form(f"{hash_sign}{title}", longest, cuts)


def _begins(one: tuple[Parameter, ...], more: tuple[Parameter, ...]) -> bool:
    return len(one) < len(more) and one == more[: len(one)]


def _rows(text: str) -> Iterator[tuple[str, list[str]]]:
    """(the table's first head, cells) of all rows of tables."""
    head = ""
    for line in text.splitlines():
        if not line.startswith("|"):
            head = ""
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not head:
            head = cells[0]
        elif not cells[0].startswith("---"):
            yield head, cells


def _codes(cell: str) -> list[str]:
    return [code.replace("\\|", "|") for code in re.findall(r"`([^`]+)`", cell)]


def test_the_page_has_every_signature_and_no_other() -> None:
    """Functions, aggregators, windows and stream functions, each in a table of its kind."""
    known = {
        kind: {form for extension in _extensions(kind) for form in signatures(extension)}
        for kind in CALLED
    }
    told: dict[ExtensionKind, list[str]] = {kind: [] for kind in CALLED}
    for head, cells in _rows(EXTENSIONS):
        if head in HEADS:
            told[HEADS[head]] += _codes(cells[0])
    for kind in CALLED:
        assert len(told[kind]) == len(set(told[kind]))
        assert set(told[kind]) == known[kind]


def _results(extension: Extension) -> Iterable[str]:
    for overload in extension.overloads:
        if isinstance(overload.result, AttributeType):
            yield overload.result.value
        elif overload.adds is not None:
            adds_nothing = extension.name in ("log", "deduplicate", "kslack", "akslack")
            yield "nothing" if adds_nothing else ""


def test_the_page_has_every_result() -> None:
    """Where the result has one type, its row names it."""
    cell_of = {
        form: cells[1]
        for head, cells in _rows(EXTENSIONS)
        for form in _codes(cells[0])
        if head in HEADS
    }
    kinds = (ExtensionKind.FUNCTION, ExtensionKind.AGGREGATOR, ExtensionKind.STREAM_FUNCTION)
    for extension in _extensions(*kinds):
        told = " ".join(cell_of[form] for form in signatures(extension))
        for result in _results(extension):
            assert result in told, f"{extension.name} gives {result}"


def _options(extension: Extension) -> dict[str, str]:
    """The options that the page gives below the extension's heading, with the default's cell."""
    title = f"#### {extension.kind.value.capitalize()} `{extension.name}`\n"
    assert EXTENSIONS.count(title) == 1, title
    section = re.split(r"^#", EXTENSIONS.split(title)[1], maxsplit=1, flags=re.MULTILINE)[0]
    return {
        option: cells[1]
        for head, cells in _rows(section)
        for option in _codes(cells[0])
        if head == "option"
    }


RIM = [kind for kind in ExtensionKind if kind not in CALLED]
OLDER = [one for one in _extensions(*RIM) if declared_connector(one).older_name_of]
NAMED = [one for one in _extensions(*RIM) if one not in OLDER]


@pytest.mark.parametrize("extension", NAMED, ids=lambda e: f"{e.kind.value} {e.name}")
def test_the_page_has_every_option(extension: Extension) -> None:
    """Sources, sinks, stores and mappers: their options, and which of them are needed."""
    told = _options(extension)
    known = {parameter.name: parameter for parameter in extension.overloads[0].parameters}
    assert set(told) == set(known) - LETTERS
    for option, default in told.items():
        assert (default == "needed") == (not known[option].optional), option


@pytest.mark.parametrize("extension", OLDER, ids=lambda e: f"{e.kind.value} {e.name}")
def test_an_older_name_is_the_same_and_the_page_says_so(extension: Extension) -> None:
    """Below the heading of the name that it has now."""
    now = declared_connector(extension).older_name_of
    (same,) = (one for one in NAMED if (one.kind, one.name) == (extension.kind, now))
    assert extension.overloads == same.overloads
    section = EXTENSIONS.split(f"#### {extension.kind.value.capitalize()} `{now}`\n")[1]
    assert f"older name `{extension.name}`" in section.split("\n#")[0]


def test_the_page_names_no_source_or_sink_that_is_not_there() -> None:
    """Each heading of the fourth level belongs to an extension."""
    titles = re.findall(r"^#### (.*)$", EXTENSIONS, re.MULTILINE)
    known = {f"{e.kind.value.capitalize()} `{e.name}`" for e in NAMED}
    assert set(titles) == known
