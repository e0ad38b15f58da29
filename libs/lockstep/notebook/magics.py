"""The magics: `%%siddhi` tries an app, `%lockstep` asks and feeds a suite that runs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from lockstep.cli.addresses import Addresses, find_addresses
from lockstep.cli.caller import Caller
from lockstep.events import LockstepError
from lockstep.events.paths import app_path, stream_path
from lockstep.notebook.errors import CellError
from lockstep.notebook.events import events_of
from lockstep.notebook.shown import Shown, shown_outcome
from lockstep.notebook.trial import Outcome, Trial
from lockstep.settings import load_settings
from lockstep.simulating.values import duration_ms, time_ms

USAGE: Final = (
    "%lockstep query APP 'from T select *', or %lockstep send APP STREAM JSON-or-variable"
)
Found = TypeVar("Found")


@magics_class
class SiddhiMagics(Magics):
    """Registered by `%load_ext lockstep.notebook`."""

    @magic_arguments()
    @argument("--events", "-e", help="A .csv or .parquet file, or a variable.")
    @argument("--stream", "-s", help="Where they go; not needed where there is one.")
    @argument("--time-column", default="", help="Holds the time of each; else _timestamp, if any.")
    @argument("--at", default="0", help="The clock's start: milliseconds, or an ISO 8601 time.")
    @argument("--advance", help="Lets time pass after the events: 10s, 5m, 2h.")
    @argument("--rows", type=int, default=20, help="That are shown of each stream.")
    @argument("--into", help="A variable for the rows: pyarrow tables by stream.")
    @argument("--frames", action="store_true", help="DataFrames in it instead.")
    @cell_magic
    def siddhi(self, line: str, cell: str) -> None:
        """Tries the app of the cell on a virtual clock, and shows what its streams carried."""
        options = parse_argstring(self.siddhi, line)
        if options.into and not options.into.isidentifier():
            raise CellError(f"--into {options.into} is no name of a variable")
        outcome = told(lambda: self._tried(options, cell))
        if options.into:
            tables = {one.name: one.table() for one in outcome.streams}
            kept = (
                {name: one.to_pandas() for name, one in tables.items()}
                if options.frames
                else tables
            )
            self._names[options.into] = kept
        display(shown_outcome(outcome, max(0, options.rows)))

    def _tried(self, options: Any, cell: str) -> Outcome:
        with Trial(cell, time_ms(options.at, "--at")) as trial:
            if options.events is not None:
                stream, columns = trial.columns(options.stream)
                source = self._names.get(options.events, options.events)
                trial.feed(stream, events_of(source, columns, options.time_column))
            if options.advance is not None:
                trial.let_pass(duration_ms(options.advance, "--advance"))
            return trial.outcome()

    @line_magic
    def lockstep(self, line: str) -> None:
        """Asks a suite that runs: `query APP 'from T select *'`, `send APP STREAM events`."""
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise CellError(str(error), hint=USAGE) from None
        match words:
            case ["query", app, query]:
                display(told(lambda: _queried(Caller(_suite()), app, query)))
            case ["send", app, stream, given]:
                events = self._names.get(given, given)
                display(told(lambda: _sent(Caller(_suite()), app, stream, events)))
            case _:
                raise CellError("that is no command of %lockstep", hint=USAGE)

    @property
    def _names(self) -> dict[str, Any]:
        """The notebook's variables."""
        assert self.shell is not None, "registered without a shell"
        names: dict[str, Any] = self.shell.user_ns
        return names


def told(work: Callable[[], Found]) -> Found:
    """The result; what Lockstep refuses becomes a message without a traceback."""
    try:
        return work()
    except CellError:
        raise
    except LockstepError as error:
        where = f"{error.where}: " if error.where else ""
        raise CellError(f"{where}{error.message}", hint=error.hint) from None


def _suite() -> Addresses:
    """Where the settings say, as the command finds it."""
    client = load_settings().client
    return find_addresses(
        client.directory,
        url=client.url or None,
        tls=client.tls,
        receiver=client.receiver_url,
        presenter=client.presenter_url,
        coordinator=client.coordinator_url,
        token=client.token.get_secret_value(),
    )


def _queried(suite: Caller, app: str, query: str) -> Shown:
    url = f"{suite.addresses.presenter}{app_path(app)}/query"
    answer = suite.request("POST", url, json_body={"query": query, "details": True})
    found = Shown()
    if "changed" in answer:
        found.note(f"rows changed: {answer['changed']}")
        return found
    names = [one["name"] for one in answer["details"]]
    found.add(f"{app}: {len(answer['records'])} rows", names, answer["records"])
    return found


def _sent(suite: Caller, app: str, stream: str, events: Any) -> Shown:
    body = events.encode() if isinstance(events, str) else _encoded(events)
    path = f"{stream_path(app, stream)}/events"
    url = suite.addresses.receiver + path
    answer = suite.request("POST", url, body=body, headers={"Content-Type": "application/json"})
    found = Shown()
    found.note(f"{stream} has taken {answer['accepted']}")
    return found


def _said(value: Any) -> Any:
    """What is no number is null, and a time has milliseconds, as DataFrames say both."""
    if isinstance(value, Mapping):
        return {key: _said(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_said(each) for each in value]
    if hasattr(value, "isoformat"):
        return time_ms(value.isoformat(), "events") if value == value else None
    return None if isinstance(value, float) and value != value else value


def _encoded(events: Any) -> bytes:
    if hasattr(events, "to_pylist"):
        events = events.to_pylist()
    elif hasattr(events, "to_dict"):
        events = events.to_dict(orient="records")
    try:
        return json.dumps(_said(events), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise CellError(f"the events are no JSON: {error}") from None
