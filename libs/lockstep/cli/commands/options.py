"""Arguments and options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from lockstep import __version__
from lockstep.cli.addresses import DEFAULT_DIRECTORY, NO_TLS
from lockstep.cli.refusals import has_control
from lockstep.tls import TlsFiles

AppName = Annotated[str, typer.Argument(help="Name of the app.")]
StreamName = Annotated[str, typer.Argument(help="Name of the stream.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the suite is, as far as the command line and the environment say."""

    directory: Path
    url: str | None = None
    receiver: str | None = None
    presenter: str | None = None
    coordinator: str | None = None
    token: str | None = None
    tls: TlsFiles = NO_TLS


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lockstep {__version__}")
        raise typer.Exit


def connection_options(
    context: typer.Context,
    directory: Annotated[
        Path,
        typer.Option(
            envvar="LOCKSTEP_CLIENT__DIRECTORY",
            help="The suite's data folder; `lockstep run` leaves its addresses there.",
        ),
    ] = DEFAULT_DIRECTORY,
    url: Annotated[
        str | None,
        typer.Option(
            envvar="LOCKSTEP_CLIENT__URL",
            help="Where a suite answers that stands behind one proxy: Compose, an Ingress.",
        ),
    ] = None,
    receiver: Annotated[str | None, typer.Option(envvar="LOCKSTEP_CLIENT__RECEIVER_URL")] = None,
    presenter: Annotated[str | None, typer.Option(envvar="LOCKSTEP_CLIENT__PRESENTER_URL")] = None,
    coordinator: Annotated[
        str | None, typer.Option(envvar="LOCKSTEP_CLIENT__COORDINATOR_URL")
    ] = None,
    token: Annotated[
        str | None, typer.Option(envvar="LOCKSTEP_CLIENT__TOKEN", help="Bearer token of the suite.")
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            envvar="LOCKSTEP_CLIENT__TOKEN_FILE",
            exists=True,
            dir_okay=False,
            help="It is in there.",
        ),
    ] = None,
    ca: Annotated[
        str, typer.Option(envvar="LOCKSTEP_CLIENT__TLS_CA_FILE", help="Authorities of https doors.")
    ] = "",
    certificate: Annotated[
        str,
        typer.Option(
            envvar="LOCKSTEP_CLIENT__TLS_CERTIFICATE_FILE", help="For doors that ask for one."
        ),
    ] = "",
    key: Annotated[
        str, typer.Option(envvar="LOCKSTEP_CLIENT__TLS_KEY_FILE", help="Of the certificate.")
    ] = "",
    server_name: Annotated[
        str,
        typer.Option(
            envvar="LOCKSTEP_CLIENT__TLS_SERVER_NAME", help="What the doors' certificates say."
        ),
    ] = "",
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Streaming SQL (SiddhiQL) that loses nothing and publishes nothing twice."""
    if token_file is not None and token is None:
        try:
            token = token_file.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise typer.BadParameter(f"{token_file} is no text in UTF-8") from None
    if token is not None:
        token = token.strip()
        if has_control(token):
            raise typer.BadParameter("the token has a line end or a control character in it")
    tls = TlsFiles(ca, certificate, key, server_name)
    context.obj = Connection(directory, url, receiver, presenter, coordinator, token, tls)
