"""The `lockstep` command: one sub-command per thing people do; see `lockstep --help`."""

from __future__ import annotations

import stamina
import typer

from lockstep.cli.commands import apps, demo, events, run, samples, status, texts, up, upkeep
from lockstep.cli.commands.options import connection_options

stamina.instrumentation.set_on_retry_hooks([])  # a progress bar tells enough

app = typer.Typer(
    name="lockstep",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

app.callback()(connection_options)
app.command("run")(run.run)
app.command("up")(up.up)
app.command("down")(up.down)
app.command("demo")(demo.demo)
app.command("validate")(texts.validate)
app.command("explain")(texts.explain)
app.command("test")(texts.run_tests)
app.command("samples")(samples.samples)
app.command("deploy")(apps.deploy)
app.command("undeploy")(apps.undeploy)
app.command("list")(apps.list_apps)
app.command("status")(status.status)
app.command("query")(apps.query)
app.command("send")(events.send)
app.command("replay")(events.replay)
app.command("tail")(events.tail)
app.command("errors")(upkeep.errors)
app.command("handover")(upkeep.handover)
app.command("snapshot")(upkeep.snapshot)
app.command("revisions")(upkeep.revisions)
app.command("restore")(upkeep.restore)
