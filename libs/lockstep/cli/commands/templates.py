"""templates list, show, put, remove, start, stop: texts with parameters, and their instances."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from lockstep.cli.commands.asking import asking
from lockstep.cli.commands.options import AsJson
from lockstep.cli.output import Exit, console, fail, print_json, show

LISTED: Final = ("template", "about", "parameters", "instances")
PARAMETERS: Final = ("name", "type", "default", "may be", "about")
INSTANCES: Final = ("app", "values")
_NAME: Final = re.compile(r"^--\s*template\s*:\s*(.+?)\s*$", re.MULTILINE)
commands = typer.Typer(
    name="templates",
    no_args_is_help=True,
    help="App texts with parameters, whose instances people start who may not write apps:\nlist, "
    "show, put, remove, start, stop.",
)
Name = Annotated[str, typer.Argument(help="Of the template.")]
Instance = Annotated[str, typer.Argument(help="Of the instance, which is an app.")]


@commands.command("list")
def list_templates(context: typer.Context, as_json: AsJson = False) -> None:
    """List the templates, their parameters and their instances."""
    found = _asked(context, "GET", "")["templates"]
    if not as_json:
        found = [
            {
                **one,
                "parameters": ", ".join(each["name"] for each in one["parameters"]),
                "instances": ", ".join(each["app"] for each in one["instances"]),
            }
            for one in found
        ]
    show(found, LISTED, as_json=as_json, title="templates")


@commands.command("show")
def show_template(
    context: typer.Context,
    name: Name,
    text: Annotated[bool, typer.Option("--text", help="Print its text instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a template's parameters, and its instances with their values."""
    found = _asked(context, "GET", f"/{quote(name, safe='')}")
    if as_json:
        print_json(found)
    elif text:
        console.print(found["text"], markup=False, soft_wrap=True, end="")
    else:
        rows = [{**one, "may be": _range(one)} for one in found["parameters"]]
        show(rows, PARAMETERS, as_json=False, title="parameters")
        made = [{**one, "values": _said(one["values"])} for one in found["instances"]]
        show(made, INSTANCES, as_json=False, title="instances", folded=("values",))


@commands.command()
def put(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Its text.")],
    as_json: AsJson = False,
) -> None:
    """Keep a template, or replace it. Instances go on as they are until they are started anew."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        fail(f"cannot read {path}: {error}", Exit.USAGE)
    name = _NAME.search(text)
    if name is None:
        fail(f"{path} is no template", Exit.USAGE, hint="-- template: Room too hot")
    answer = _asked(context, "PUT", f"/{quote(name[1], safe='')}", {"text": text})
    _tell(answer, f"kept {answer['template']}", as_json=as_json)


@commands.command()
def remove(context: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Forget a template that has no instances."""
    answer = _asked(context, "DELETE", f"/{quote(name, safe='')}")
    _tell(answer, f"removed {name}", as_json=as_json)


@commands.command()
def start(
    context: typer.Context,
    name: Name,
    app: Instance,
    values: Annotated[
        list[str] | None, typer.Argument(help="name=value; those with a default may be left out.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Start an instance; or give one that runs other values, or today's text of its template."""
    pairs = [each.partition("=") for each in values or ()]
    wrong = next((one for one, sign, _ in pairs if not sign), None)
    if wrong is not None:
        fail(f"{wrong!r} is no value", Exit.USAGE, hint="name=value")
    body = {"values": {one: value for one, _, value in pairs}}
    answer = _asked(context, "PUT", _instance(name, app), body)
    said = f"started {app}" if answer["changed"] else f"{app} runs so already"
    _tell(answer, f"{said}: {_said(answer['values'])}", as_json=as_json)


@commands.command()
def stop(context: typer.Context, name: Name, app: Instance, as_json: AsJson = False) -> None:
    """Stop an instance; what it has published stays."""
    _tell(_asked(context, "DELETE", _instance(name, app)), f"stopped {app}", as_json=as_json)


def _instance(name: str, app: str) -> str:
    return f"/{quote(name, safe='')}/instances/{quote(app, safe='')}"


def _asked(context: typer.Context, method: str, path: str, body: Any = None) -> Any:
    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}/v1/templates{path}"
        return suite.request(method, url, json_body=body)


def _tell(answer: Any, said: str, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        console.print(said, markup=False, soft_wrap=True)


def _range(parameter: dict[str, Any]) -> str:
    if parameter["choices"]:
        return ", ".join(map(str, parameter["choices"]))
    if parameter["low"] is not None:
        return f"{parameter['low']:g} to {parameter['high']:g}"
    return "anything"


def _said(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items()) or "no values"
