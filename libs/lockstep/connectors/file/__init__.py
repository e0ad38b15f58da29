"""@source(type='file'), @source(type='fileeventlistener'), @sink(type='file') (extensions 12.7)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from lockstep.siddhiql.catalogue import (
    Argument,
    Delivery,
    ExtensionKind,
    Overload,
    Promise,
    SignatureError,
)
from lockstep.siddhiql.catalogue.connectors import (
    BOOL,
    INT,
    ConnectorExtension,
    dynamic,
    option,
    options_given,
    without_meaning,
)

MODES = ("line", "text.full", "binary.full", "binary.chunked", "regex")
CHUNK_BYTES_MAX: Final = 8 * 1024 * 1024
"""Of a part of a file."""
ACTIONS = ("delete", "move", "keep", "none")
_PATHS: Final = ("dir.uri", "file.uri", "move.after.process")
_REMOTE: Final = "mount the remote directory, and name it as a local one"
_HINTS: Final = {
    "file.name.pattern": r"'.*' is any text: '.*\.csv' are the names that end in .csv",
    "begin.regex": r"'\(' is a parenthesis, '\{' a brace",
    "end.regex": r"'\)' is a parenthesis, '\}' a brace",
}
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
"""How an address of another machine begins."""
_FLAGS: Final = re.compile(r"(?:\(\?[a-z]+\))*")
"""In front of an expression: for all that follows."""


def message_pattern(begin: str, end: str) -> re.Pattern[bytes]:
    """Of a message in a file, by how it begins and ends; re.error. Without an end it reaches to the
    next begin, or to the end of the file."""
    flags = _FLAGS.match(begin)
    front = flags[0] if flags else ""
    # Groups, so that an alternative in one ends there.
    begin = f"(?:{begin.removeprefix(front)})"
    end = f"(?:{end})" if end else f"(?={begin}|$)"
    return re.compile(f"{front}{begin}.*?{end}".encode(), re.DOTALL)


def _paths(arguments: Sequence[Argument]) -> None:
    """SignatureError for a path that no file of this machine can have."""
    for one in arguments:
        text = str(one.value)
        if one.attribute_name not in _PATHS:
            continue
        if "\0" in unquote(text):
            raise SignatureError(
                f"{one.attribute_name!r} holds a zero", "file:/path, without '%00'"
            )
        scheme = _SCHEME.match(text.strip())
        if scheme is not None and scheme[1].lower() != "file":
            raise SignatureError(f"{one.attribute_name!r} begins with {scheme[0]!r}", _REMOTE)


def _expressions(given: Mapping[str, str]) -> None:
    """SignatureError for what is no regular expression."""
    for name, hint in _HINTS.items():
        try:
            re.compile(given.get(name, ""))
        except re.error as error:
            raise SignatureError(f"{name!r} is no regular expression: {error}", hint) from error
    try:
        message_pattern(given.get("begin.regex", ""), given.get("end.regex", ""))
    except re.error as error:
        raise SignatureError(
            f"'begin.regex' and 'end.regex', joined, are no regular expression: {error}",
            "leave out names of groups, and flags in 'end.regex'",
        ) from error


def _files(arguments: Sequence[Argument]) -> None:
    _paths(arguments)
    _expressions(options_given(arguments))
    given = {one.attribute_name: str(one.value).strip() for one in arguments}
    if ("dir.uri" in given) == ("file.uri" in given):
        raise SignatureError("one of 'dir.uri' and 'file.uri' is needed", "dir.uri='file:/in'")
    tails = given.get("tailing", "").lower() == "true"
    mode = given.get("mode", "line").lower()
    cuts = mode != "line" and (mode != "regex" or bool({"begin.regex", "end.regex"} & set(given)))
    if tails and ("dir.uri" in given or cuts):
        raise SignatureError(
            "only lines of one file can be followed", "file.uri='file:/a.log', mode='line'"
        )
    moves = given.get("action.after.process", "").lower() == "move"
    if moves and "move.after.process" not in given:
        raise SignatureError("'move.after.process' is missing", "move.after.process='file:/done'")
    if int(given.get("buffer.size", 1)) > CHUNK_BYTES_MAX:
        raise SignatureError(
            f"'buffer.size' is {given['buffer.size']}", f"at most {CHUNK_BYTES_MAX} bytes"
        )


def _written(arguments: Sequence[Argument]) -> None:
    _paths(arguments)
    uri = next(str(one.value) for one in arguments if one.attribute_name == "file.uri")
    folder, place, rest = uri.removeprefix("file:").partition("{{")
    if not place:
        return
    folder, slash, begin = folder.rpartition("/")
    if not slash or not folder.strip("/."):
        raise SignatureError(
            "'file.uri' has no folder in front of the first {{…}}", "file.uri='file:/out/{{…}}.txt'"
        )
    for name in f"{begin}{place}{rest}".split("/"):
        if not name or name.startswith("."):
            raise SignatureError(
                f"'file.uri' names {name!r} behind the first {{{{…}}}}: names are not empty there,"
                " and begin with no dot",
                "file.uri='file:/out/{{…}}.txt'",
            )


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "file",
        (
            Overload(
                (
                    option("dir.uri"),
                    option("file.uri"),
                    option("mode", choices=MODES),
                    option("tailing", BOOL),
                    option("action.after.process", choices=ACTIONS),
                    option("move.after.process"),
                    option("begin.regex"),
                    option("end.regex"),
                    option("header.present", BOOL),
                    option("header.line.count", INT),
                    option("file.name.pattern"),
                    option("buffer.size", INT),
                    *without_meaning(
                        "file.polling.interval dir.polling.interval timeout file.read.wait.timeout"
                    ),
                ),
                check=_files,
            ),
        ),
        doc="Lines, parts or whole files of a directory, or the lines of a file as it grows.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="goes on at its note",
            poison="dead letter",
            pressure="stays in the file",
            repeat="known by file and place",
        ),
        retired={
            "action.after.failure": "what cannot be read becomes a dead letter: leave it out",
            "move.after.failure": "what cannot be read becomes a dead letter: leave it out",
            "cron.expression": "files are looked for all the time: leave it out",
            "file.system.options": _REMOTE,
        },
        carrier=f"{__name__}.source:FileSource",
    ),
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "fileeventlistener",
        (
            Overload(
                (
                    option("dir.uri", needed=True),
                    option("file.name.list"),
                    option("monitoring.interval", INT),
                ),
                check=_paths,
            ),
        ),
        doc="What happens to the files of a directory: created, modified, removed.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="goes on at its note",
            poison="dead letter",
            pressure="looks later",
            repeat="known by its number",
        ),
        retired={"file.system.options": _REMOTE},
        carrier=f"{__name__}.listening:FolderSource",
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "file",
        (
            Overload(
                (
                    dynamic("file.uri", needed=True),
                    option("append", BOOL, choices=("true",)),
                    option("add.line.separator", BOOL),
                ),
                check=_written,
            ),
        ),
        doc="A line per message at the end of a file of the publisher's machine.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="goes on at its note",
            poison="on.error",
            pressure="waits for the disk",
            repeat="never: cut back to its note",
        ),
    ),
)
