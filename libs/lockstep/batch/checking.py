"""Whether a script can be taken: its header, then its text. Nothing of it is run."""

from __future__ import annotations

import ast
import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from lockstep.batch.header import SUFFIXES, Header, Language, Mistake, ScriptError, header_of
from lockstep.batch.processes import end_session, surroundings
from lockstep.events import Fault, LockstepError, UnavailableError
from lockstep.events.typed import from_json

ENTRY: Final = "run"
"""The function of a script in Python: gets a `Batch`, gives a DataFrame."""
MAX_ANSWER_BYTES: Final = 4_194_304


class NoLanguageError(LockstepError):
    """A file whose name does not end as a script's."""

    fault = Fault.USER


@dataclass(frozen=True, slots=True)
class Given:
    """A file that somebody wants deployed."""

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Checked:
    """A script that can be taken."""

    header: Header
    text: str


class Misread(msgspec.Struct):
    """What the parser's process says of a text that is no query."""

    line: int
    column: int
    message: str


Misreading = Callable[[Sequence[str]], Awaitable[Sequence[Misread | None]]]
"""Of each text: None where it is one query in Spark SQL."""


def language_of(file: str) -> Language:
    """By the end of its name; NoLanguageError."""
    for suffix, language in SUFFIXES.items():
        if file.endswith(suffix):
            return language
    raise NoLanguageError(f"'{file[:80]}' is neither .sql nor .py", where=file[:80])


async def checked(given: Sequence[Given], misread: Misreading) -> list[Checked]:
    """All, or the error of the first that cannot be taken: ScriptError, NoLanguageError."""
    found = [_read(one) for one in given]
    names: dict[str, str] = {}
    for file, one in zip(given, found, strict=True):
        if one.header.name in names:
            raise ScriptError(one.header.name, [_twice(file.file, names[one.header.name])])
        names[one.header.name] = file.file
    queries = [one for one in found if one.header.language is Language.SQL]
    answers = await misread([body_of(one.text) for one in queries]) if queries else []
    for one, wrong in zip(queries, answers, strict=True):
        if wrong is not None:
            hint = "one query in Spark SQL: select …, or with … select …"
            mistake = Mistake(wrong.line, wrong.message, wrong.column, hint)
            raise ScriptError(one.header.name, [mistake])
    return found


def _twice(file: str, other: str) -> Mistake:
    return Mistake(1, f"{file} and {other} have the same name", hint="-- name: another one")


def _read(given: Given) -> Checked:
    language = language_of(given.file)
    stem = given.file.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    header = header_of(given.text, language, stem)
    if language is Language.PYTHON:
        mistakes = python_mistakes(given.text)
        if mistakes:
            raise ScriptError(header.name, mistakes)
    return Checked(header, given.text)


def body_of(text: str) -> str:
    """A query as the parser wants it: one semicolon at its end is not part of it."""
    plain = text.rstrip()
    return plain.removesuffix(";")


def python_mistakes(text: str) -> list[Mistake]:
    """It is compiled, and has to have its function."""
    try:
        tree = ast.parse(text)
        compile(tree, "script", "exec", dont_inherit=True)
    except SyntaxError as error:
        return [Mistake(error.lineno or 1, f"Python: {error.msg}", error.offset)]
    except ValueError as error:  # a NUL character
        return [Mistake(1, f"Python: {error}")]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == ENTRY:
            if _takes_one(node.args):
                return []
            message = f"'{ENTRY}' has to take one argument"
            return [Mistake(node.lineno, message, hint=f"def {ENTRY}(batch): …")]
    message = f"there is no function '{ENTRY}'"
    return [Mistake(1, message, hint=f"def {ENTRY}(batch): return batch.stream('App', 'Stream')")]


def _takes_one(given: ast.arguments) -> bool:
    positional = len(given.posonlyargs) + len(given.args)
    required = positional - len(given.defaults)
    needed_by_name = sum(one is None for one in given.kw_defaults)
    return (positional >= 1 or given.vararg is not None) and required <= 1 and not needed_by_name


async def misread_elsewhere(texts: Sequence[str], *, timeout_ms: int) -> Sequence[Misread | None]:
    """By Spark's parser in a process of its own, as it takes a JVM. UnavailableError."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "lockstep.batch.parser",
        stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=surroundings(), limit=MAX_ANSWER_BYTES,
        start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            answer, _ = await process.communicate(msgspec.json.encode(list(texts)))
    except TimeoutError as error:
        raise UnavailableError(
            "Spark's parser did not answer in time",
            hint="try again, or raise batch.parse_timeout_ms",
        ) from error
    finally:
        end_session(process.pid)
        await process.wait()
    try:
        return from_json(answer, list[Misread | None])
    except msgspec.DecodeError as error:
        raise UnavailableError(
            "Spark's parser did not start", hint="is there a Java 17 or newer on this machine?"
        ) from error
