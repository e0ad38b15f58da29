"""The `lockstep` command: one sub-command per thing people do; see `lockstep --help`.

The module of a command is imported when that command is called: a short command does not wait for
Spark, Numba and the servers' clients.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperGroup

from lockstep.cli.commands.options import connection_options
from lockstep.cli.output import reported, take_all_characters

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "archive": (
        "archive.commands",
        "What apps took in and gave out, kept for good: list, status, query, erase.",
    ),
    "templates": (
        "templates.commands",
        "App texts with parameters, whose instances people start who may not write apps:\n"
        "list, show, put, remove, start, stop.",
    ),
    "batch": (
        "batch.commands",
        "Scripts in SQL and PySpark over the archive, run at their times: deploy, list, show, run, "
        "history,\npause, resume, remove, cancel.",
    ),
    "backtest": (
        "backtest.run_backtest",
        "Run an app over what was archived, and compare what it gives with what was published.",
    ),
    "run": (
        "run.run",
        "Run the suite in one process, with servers of its own, and the console, until Ctrl-C.",
    ),
    "up": (
        "up.up",
        "Start the suite in the background: one process per service, two processors. Whatever "
        "dies\nis started again until `lockstep down`.",
    ),
    "down": ("up.down", "Stop what `lockstep up` started; its data stays."),
    "demo": (
        "demo.demo",
        "Fly the departures of 2013 and run the pizza shop through the suite, and check every\n"
        "answer.",
    ),
    "validate": (
        "validate.validate",
        "Check app texts; a mistake is shown with its line, column, what is wrong and a hint.",
    ),
    "explain": (
        "explain.explain",
        "Show the plan of an app and what runs each query: columns, or the reference and why.",
    ),
    "import": (
        "importing.import_definitions",
        "Turn plans, streams, receivers and publishers of WSO2 CEP, DAS and Siddhi 2 to 4 into "
        "apps.\n\nNothing is left out silently: the report says what changed, and what has to be "
        "decided.",
    ),
    "format": ("format.format_apps", "Lay app texts out: spaces and line breaks, never a word."),
    "lsp": (
        "lsp.lsp",
        "Serve an editor by the Language Server Protocol on standard input and output.",
    ),
    "test": ("tests.run_tests", "Run the tests beside the apps, on a virtual clock."),
    "samples": (
        "samples.samples",
        "List the sample apps, print one, or copy them with their tests and dashboards.",
    ),
    "observe": (
        "observe.observe",
        "Write Prometheus' settings and alert rules, and Grafana's dashboards.",
    ),
    "deploy": (
        "deploy.deploy",
        "Deploy apps, each from a file of its own. One that replaces the app of that name goes on "
        "with\nits state where that fits; with --from, with one folded from what was archived.",
    ),
    "cancel": (
        "past.cancel",
        "Call off a deployment, or a restore to a time, that still folds its past.",
    ),
    "undeploy": ("apps.undeploy", "Undeploy an app."),
    "list": ("apps.list_apps", "List the deployed apps."),
    "status": (
        "status.status",
        "Show who leads, who stands by, how far each replica is, and what troubles the sinks; "
        "without\nan app also the nodes.",
    ),
    "figures": (
        "figures.figures",
        "Show how an app was doing: rates, lag and latency over time, and who took its lead from\n"
        "whom.",
    ),
    "failovers": (
        "figures.failovers",
        "List who took a lead from whom, when, why, and for how long nobody led; the newest first.",
    ),
    "flow": (
        "flow.flow",
        "Show what passes through a running app: rate, lag and latency of each edge, from the "
        "doors\nto the sinks.",
    ),
    "asyncapi": (
        "apps.asyncapi",
        "Print what an app takes and gives, and where, as an AsyncAPI 3.0 document.",
    ),
    "versions": (
        "versions.versions",
        "List the texts of an app that were deployed, the newest first; show one, show what "
        "differs\nbetween two, or deploy one again.",
    ),
    "query": (
        "apps.query",
        "Ask a table, window or aggregation of a running app, or the past of a stream; or change\n"
        "a table.",
    ),
    "send": (
        "events.send",
        "Send events; returns when they are durable. Exit code 2 when some were refused.",
    ),
    "replay": (
        "replay.replay",
        "Replay a file into a stream in time order, with a progress bar.\n\nRows that are refused "
        "are told with their numbers in the file, and all others are sent. Exit\ncode 2 when some "
        "were refused.\n\nSent again soon, with the same --batch and --time-column and into the "
        "same version of the app,\nthe same file adds only what is not there yet. A file that was "
        "changed is another one: send\nmended rows in a file of their own.",
    ),
    "simulate": (
        "simulate.simulate",
        "Feed a running app until the feed ends or Ctrl-C: at random, from a CSV or from a "
        "database.\n\nA receiver that is busy slows it down. Exit code 2 when some events were "
        "refused.",
    ),
    "tail": (
        "events.tail",
        "Follow a stream's results as they are published, over upgrades and restarts.\n\nRows come "
        "on stdout, all else is said on stderr. Exit code 3 when nobody answers any more.",
    ),
    "errors": (
        "upkeep.errors",
        "List the events that were refused, by a stream or by a sink, and why; send some again, "
        "or\nforget them.",
    ),
    "connectors": (
        "connectors.connectors",
        "Show how the sources and sinks of an app are doing: paused, retrying since when and why.",
    ),
    "pause": (
        "connectors.pause",
        "Take nothing of sources any more, and deliver nothing to sinks, until `lockstep resume`; "
        "what\nis under way ends. Rows for a paused sink wait in the app's output log.",
    ),
    "resume": (
        "connectors.resume",
        "Let paused sources and sinks of an app go on where they stopped.",
    ),
    "handover": ("upkeep.handover", "Let a ready standby lead an app, without a gap."),
    "nodes": (
        "nodes.nodes",
        "List the living processes: version, processor time and memory with their children, and "
        "what\nthey carry.",
    ),
    "logs": (
        "nodes.logs",
        "Show the last log lines of a process, as far as it keeps them in memory; for\n"
        "administrators.",
    ),
    "drain": (
        "nodes.drain",
        "Take everything off a processor, without a gap; `--undo` lets it take replicas again.",
    ),
    "rebalance": (
        "nodes.rebalance",
        "Level the processors now; `--dry-run` shows which replicas and leads would move, and why.",
    ),
    "sources": (
        "sources.sources",
        "List the datasources that apps can name, or try to connect to them.",
    ),
    "snapshot": ("upkeep.snapshot", "Take a revision of an app's state now."),
    "revisions": (
        "upkeep.revisions",
        "List the kept revisions of an app's state, newest first; or delete some. The newest "
        "stays.",
    ),
    "restore": (
        "upkeep.restore",
        "Let an app go on with the state of a revision or a time; what it has published stays.",
    ),
    "users": ("people.users", "List users, add and remove them, give them passwords."),
    "groups": ("people.groups", "List groups, add and remove them, and put users into them."),
    "grant": ("people.grant", "Give a role to a user or a group, on one app or everywhere."),
    "revoke": ("people.revoke", "Take a role back from a user or a group."),
    "tokens": ("people.tokens", "List the tokens of services, create one, revoke one."),
    "nats-users": (
        "nats_users.nats_users",
        "Write accounts for a NATS server: who may send to which apps, or view them, over the bus.",
    ),
    "audit": ("people.audit", "Show who did what, and what was refused, the newest first."),
    "login": (
        "people.login",
        "Log in, without a name at the OpenID Connect provider: later commands are that user's.",
    ),
    "logout": ("people.logout", "Log out: the session ends everywhere."),
}
"""Of every command: its function below `lockstep.cli.commands`, and that function's docstring."""

PANELS: Final[Mapping[str, tuple[str, ...]]] = {
    "Write and try apps": (
        "samples",
        "import",
        "validate",
        "explain",
        "test",
        "format",
        "lsp",
    ),
    "Start the suite": ("run", "up", "down", "demo", "observe"),
    "Apps": (
        "deploy",
        "cancel",
        "undeploy",
        "list",
        "status",
        "versions",
        "flow",
        "connectors",
        "pause",
        "resume",
        "asyncapi",
        "templates",
    ),
    "Events and answers": ("send", "replay", "simulate", "tail", "query", "errors", "sources"),
    "State and machines": (
        "snapshot",
        "revisions",
        "restore",
        "handover",
        "nodes",
        "logs",
        "drain",
        "rebalance",
    ),
    "The past": ("figures", "failovers", "archive", "batch", "backtest"),
    "People": (
        "login",
        "logout",
        "users",
        "groups",
        "grant",
        "revoke",
        "tokens",
        "audit",
        "nats-users",
    ),
}
"""In which order and under which heads `lockstep --help` shows them."""


class Commands(TyperGroup):
    """Lists the commands by the table, and imports the one that is called. Whatever a command does
    not tell of by itself is told here: no error of a file or of Lockstep shows a traceback."""

    def make_context(self, *args: Any, **named: Any) -> Any:
        """Reads the options before the command; `--help` ends here."""
        take_all_characters()
        with reported():
            return super().make_context(*args, **named)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        with reported():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the arguments name, ready to run."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed if name is None else loaded(name), rest


def loaded(name: str) -> Any:
    """A command with its arguments and options."""
    module, _, function = COMMANDS[name][0].partition(".")
    gc.disable()  # imports leave no garbage, and looking for it takes a tenth of their time
    try:
        imported = import_module(f"lockstep.cli.commands.{module}")
    finally:
        gc.enable()
    found = getattr(imported, function)
    if isinstance(found, typer.Typer):  # a command with commands of its own
        return typer.main.get_command(found)
    alone = typer.Typer(add_completion=False)
    alone.command(name)(found)
    return typer.main.get_command(alone)


def _listed() -> None:
    """Stands for a command that is not imported yet."""


app = typer.Typer(
    name="lockstep",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.callback()(connection_options)
for _panel, _names in PANELS.items():
    for _name in _names:
        _help = COMMANDS[_name][1].replace("\n", " ")
        app.command(_name, help=_help, rich_help_panel=_panel)(_listed)
