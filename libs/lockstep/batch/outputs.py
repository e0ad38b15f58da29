"""Where a script's rows go besides its table. Pure.

-- output: table daily_summary                     they stay in the archive's place
-- output: stream Alerts.Summary                   events of an app
-- output: @sink(type='http', publisher.url='…')   as the sinks of apps have it
-- output: @store(type='rdbms', datasource='reports') @primaryKey('page')
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from lockstep.events import Fault, LockstepError
from lockstep.mapping import check_connectors
from lockstep.siddhiql import SiddhiQLError, ast, check, parse

NAMED: Final = "table, table NAME, stream App.Stream, @sink(…), or @store(…) @primaryKey('…')"
_STREAM: Final = re.compile(r"stream\s+([^\s.]+)\.([^\s.]+)")
_TABLE: Final = re.compile(r"table(?:\s+([A-Za-z][A-Za-z0-9_]{0,63}))?", re.ASCII)
_TEMPLATE: Final = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
_ROWS: Final = "Rows"
_NO_NAME: Final = "nothing"
_FORM: Final = "an output is one @sink, or one @store with its @primaryKey"


@dataclass(frozen=True, slots=True)
class ToTable:
    """The rows stay in the archive's place, as a table of this name."""

    table: str

    def __str__(self) -> str:
        return f"table {self.table}"


@dataclass(frozen=True, slots=True)
class ToStream:
    """The rows are events of a stream of an app, too."""

    app: str
    stream: str

    def __str__(self) -> str:
        return f"stream {self.app}.{self.stream}"


@dataclass(frozen=True, slots=True)
class ToSink:
    """The rows go to a sink, too. `text`: annotations as in front of a stream or a table of an app;
    `columns`: those that they name."""

    text: str
    kind: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"sink {self.kind}"

    @property
    def annotation(self) -> ast.Annotation:
        """The `@sink` or `@store`."""
        (found,) = [one for one in self.definition.annotations if _is_way_out(one)]
        return found

    @property
    def definition(self) -> Definition:
        """What the annotations stand in front of; its attributes are not those of the rows."""
        (found,) = parse(_app(self.text, self.columns)).definitions
        assert isinstance(found, ast.StreamDefinition | ast.TableDefinition)
        return found


Output = ToTable | ToStream | ToSink
Definition = ast.StreamDefinition | ast.TableDefinition


class NoOutputError(LockstepError):
    """What stands there is no output, or one that cannot work."""

    fault = Fault.USER


def output_of(text: str, script: str) -> Output:
    """What a header's `output` says. NoOutputError."""
    table, stream = _TABLE.fullmatch(text), _STREAM.fullmatch(text)
    if table is not None:
        return ToTable(table[1] or script.replace("-", "_"))
    if stream is not None:
        return ToStream(stream[1], stream[2])
    if text.startswith("@"):
        return _sink_of(text)
    raise NoOutputError(f"'{text}' is no output", hint=NAMED)


def goes_on(text: str, following: str) -> bool:
    """Whether annotations that began in one line go on in the next one."""
    if not text.startswith("@"):
        return False
    return _open_brackets(text) > 0 or following.startswith("@")


def _open_brackets(text: str) -> int:
    plain = re.sub(r"'[^']*'|\"[^\"]*\"", "", text)
    return plain.count("(") - plain.count(")")


def _sink_of(text: str) -> ToSink:
    """Checked as an app's; the names of columns are taken as they come, as the rows have theirs
    when they are there."""
    try:
        app = parse(_app(text, ()))
        way, definition = _checked_form(app)
        columns = _named(definition)
        check_connectors(check(_app(text, columns)))
    except SiddhiQLError as error:
        raise NoOutputError(error.message, hint=error.hint) from error
    return ToSink(text, way.get("type") or "", columns)


def _checked_form(app: ast.App) -> tuple[ast.Annotation, Definition]:
    if len(app.definitions) != 1 or app.annotations or app.execution:
        raise NoOutputError(_FORM, hint="no definition stands behind it")
    (definition,) = app.definitions
    assert isinstance(definition, ast.StreamDefinition | ast.TableDefinition)
    names = [one.name.lower() for one in definition.annotations]
    allowed = {"sink"} if isinstance(definition, ast.StreamDefinition) else {"store", "primarykey"}
    ways = sum(_is_way_out(one) for one in definition.annotations)
    if ways != 1 or set(names) - allowed:
        raise NoOutputError(_FORM)
    (way,) = [one for one in definition.annotations if _is_way_out(one)]
    if (way.get("on.error") or "").upper() == "STREAM":
        hint = "LOG leaves refused rows out, and says so; without it the run fails"
        raise NoOutputError("a script has no fault stream for on.error='STREAM'", hint=hint)
    if (way.get("mode") or "own").strip().lower() != "own":
        raise NoOutputError("a script writes its table alone", hint="leave 'mode' out")
    return way, definition


def _is_way_out(annotation: ast.Annotation) -> bool:
    return annotation.name.lower() in ("sink", "store")


def _named(definition: Definition) -> tuple[str, ...]:
    """Columns that the annotations speak of."""
    found: list[str] = []
    waiting = list(definition.annotations)
    while waiting:
        one = waiting.pop(0)
        waiting += one.annotations
        for element in one.elements:
            found += _TEMPLATE.findall(element.value)
            if one.name.lower() == "primarykey" or (element.key or "").lower() == "partitionkey":
                found.append(element.value)
    return tuple(dict.fromkeys(found))


def _app(text: str, columns: tuple[str, ...]) -> str:
    kind = "table" if re.match(r"@(store|primarykey)\b", text, re.IGNORECASE) else "stream"
    attributes = ", ".join(f"`{name}` string" for name in columns or (_NO_NAME,))
    return f"{text}\ndefine {kind} {_ROWS} ({attributes});"
