"""The child process of a workshop: holds one app on a virtual clock and does what it is told.

Told by lines of JSON on its standard input, it answers each with one line on its standard output.
A command that says `"code": false` comes from somebody who may not run code of an app's author.
What an author's code prints goes nowhere. It ends with its input.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Mapping
from typing import Any, Final

from lockstep.events import Fault, LockstepError
from lockstep.execute.observe import StreamChunk
from lockstep.plan import plan_of
from lockstep.siddhiql import SiddhiQLError
from lockstep.testing.play import play
from lockstep.testing.scenario import parse_file, render_file
from lockstep.testing.virtual_app import VirtualApp

MAX_ROWS: Final = 2_000
"""Of an answer; the rest is counted."""
MAX_FILE_BYTES: Final = 67_108_864
Answer = dict[str, Any]


class CodeRefusedError(LockstepError):
    """The text has code of its author, and whoever sent it may not run any."""

    fault = Fault.USER


class Workbench:
    """One app at a time."""

    def __init__(self) -> None:
        self._app: VirtualApp | None = None
        self._seen = 0
        self._faults = 0

    def do(self, told: Mapping[str, Any]) -> Answer:
        """The answer to one command; errors of the language and of events are answers, too."""
        try:
            match told["do"]:
                case "open":
                    _check_code(told)
                    return self._open(told["text"], told.get("start_ms", 0))
                case "send":
                    self._there.send_many(
                        told["stream"], told["rows"], timestamp_ms=told.get("at_ms")
                    )
                case "advance":
                    self._there.advance(told["by_ms"])
                case "query":
                    rows = self._there.on_demand(told["text"])
                    return {**self._news(), "rows": [_plain(row) for row in rows[:MAX_ROWS]]}
                case "explain":
                    return _explained(told["text"], told.get("parallel"))
                case "test":
                    _check_code(told)
                    return _tested(told["text"], told["calls"])
            return self._news()
        except LockstepError as error:
            return {"error": _said(error)}
        except (LookupError, ValueError, TypeError, ArithmeticError) as error:
            return {"error": {"message": f"{error}"}}

    @property
    def _there(self) -> VirtualApp:
        if self._app is None:
            raise LookupError("no app is open")
        return self._app

    def _open(self, text: str, start_ms: int) -> Answer:
        if self._app is not None:
            self._app.close()
        self._app = VirtualApp(text, start_ms=start_ms)
        self._seen = self._faults = 0
        plan = self._app.plan
        schemas = {
            name: [[one.name, one.type.value] for one in schema.attributes]
            for name, schema in plan.checked.streams.items()
            if not name.startswith("!")
        }
        return {
            **self._news(),
            "app": plan.name,
            "inputs": list(plan.doors),
            "tables": [*plan.checked.tables, *plan.checked.windows],
            "schemas": schemas,
        }

    def _news(self) -> Answer:
        """What was carried since the last answer, stream by stream."""
        app = self._there
        streams: dict[str, list[Any]] = {}
        count = 0
        for seen in app.observations[self._seen :]:
            if not isinstance(seen, StreamChunk):
                continue
            for event in seen.events:
                count += 1
                if count <= MAX_ROWS:
                    row = [event.timestamp_ms, *_plain(event.data)]
                    streams.setdefault(seen.stream, []).append(row)
        self._seen = len(app.observations)
        faults = app.faults()
        told = [one.reason for one in faults[self._faults :][:MAX_ROWS]]
        self._faults = len(faults)
        return {
            "clock_ms": app.clock_ms,
            "streams": streams,
            "left_out": max(0, count - MAX_ROWS),
            "faults": told,
        }


def _check_code(told: Mapping[str, Any]) -> None:
    """CodeRefusedError. Before anything is built: so nothing of it has run."""
    functions = () if told.get("code", True) else tuple(plan_of(told["text"]).checked.functions)
    if functions:
        raise CodeRefusedError(
            f"you have not the right to run code (define function {functions[0]})",
            hint="ask an administrator of the suite for the role code",
        )


def _plain(row: Any) -> list[Any]:
    known = (str, int, float, bool, type(None))
    return [one if isinstance(one, known) else repr(one) for one in row]


def _said(error: LockstepError) -> Answer:
    if isinstance(error, SiddhiQLError):
        return {
            "message": error.message,
            "line": error.line,
            "column": error.column,
            "hint": error.hint,
        }
    return {"message": error.message, "hint": error.hint}


def _explained(text: str, parallel: int | None) -> Answer:
    # Columns take seconds to load, and few ask for an explanation.
    from lockstep.testing.explained import explained

    return explained(text, parallel)


def _tested(text: str, calls: str) -> Answer:
    """The calls as a test file, with what each brings."""
    file = parse_file(calls, text)
    return {"file": render_file(file, [play(one) for one in file.scenarios])}


def main(memory_bytes: int, cpu_s: int) -> None:
    """Until the input ends."""
    told, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        if number:
            os.dup2(nowhere, number)
    for what, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_FSIZE, MAX_FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    bench = Workbench()
    answers.write(b'{"ready": true}\n')
    for line in told:
        try:
            answer = bench.do(json.loads(line))
        except MemoryError:
            answer = {"error": {"message": "the app needs more memory than it may have here"}}
        except RecursionError:
            answer = {"error": {"message": "the app recurses too deeply"}}
        answers.write(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
