"""What the suite keeps in files is not for apps: no source, sink or database of theirs opens it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lockstep.bus import BusLimits, ForeignServer, ForeignServers
from lockstep.clock import SystemRandomness, VirtualClock
from lockstep.connectors.file.listening import FolderSource
from lockstep.connectors.file.source import FileSource
from lockstep.connectors.grpc.calling import GrpcCalls
from lockstep.connectors.kafka import refuse_own_files
from lockstep.connectors.rabbitmq.connection import connected
from lockstep.connectors.redis_stream.server import StreamServer
from lockstep.connectors.tls import context_of
from lockstep.databases import (
    DatabaseError,
    DatasourceError,
    datasource_for,
    datasource_of_url,
    mongodb_at,
    read_datasources,
)
from lockstep.databases.mongodb.client import MongoClient
from lockstep.databases.sqlite.files import SqliteFile, SqliteRefusedError
from lockstep.events import UnavailableError
from lockstep.frame.closing import close_own_files
from lockstep.mapping import MessageWriter
from lockstep.secrets import Vault, closed, is_closed
from lockstep.settings import load_settings
from lockstep.sources import Place
from lockstep.store.memory import MemoryStore
from lockstep.tls import TlsError
from lockstep_services.publisher.contract import SinkBinding, SinkSetupError
from lockstep_services.publisher.sinks.file import FileLane
from lockstep_services.publisher.sinks.files import FilesLane
from lockstep_services.publisher.sinks.kafka import KafkaSink
from lockstep_services.receiver.kafka import KafkaMailbox
from lockstep_services.receiver.kafka_options import KafkaOptions
from tests.unit.services.publisher.parts import row, sink_of
from tests.unit.services.test_own_database import factory_of, setup_of

PLACE = Place("Spy", "S", 0, "127.0.0.1", VirtualClock())


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of secrets that the settings name, with one of the app Bank."""
    monkeypatch.setattr(closed, "_closed", frozenset())
    folder = tmp_path / "secrets"
    (folder / "Bank").mkdir(parents=True)
    (folder / "Bank" / "key").write_text("TOP\n")
    (tmp_path / "door.pem").write_text("")
    (tmp_path / "token").write_text("")
    close_own_files(
        load_settings(
            {
                "LOCKSTEP_SECRETS__FOLDER": str(folder),
                "LOCKSTEP_SERVER__TLS_CERTIFICATE_FILE": str(tmp_path / "door.pem"),
                "LOCKSTEP_ARCHIVE__FOLDER": "s3://bucket/prefix",
            }
        ),
        {"LOCKSTEP_SERVER__TOKEN_FILE": str(tmp_path / "token")},
    )
    yield folder
    assert (folder / "Bank" / "key").read_text() == "TOP\n"


def test_what_the_settings_name_is_closed(secrets: Path, tmp_path: Path) -> None:
    """By whatever way; the folders around it stay open."""
    (tmp_path / "link").symlink_to(secrets / "Bank")
    for path in (
        secrets, secrets / "Bank" / "key", tmp_path / "link" / "key", secrets / "new",
        tmp_path / "x" / ".." / "secrets" / "a", tmp_path / "door.pem", tmp_path / "token",
        "/proc/self/environ", f"/proc/{os.getpid()}/environ",
        f"/proc/self/root{secrets}/Bank/key",
    ):  # fmt: skip
        assert is_closed(path), path
    for path in (tmp_path, tmp_path / "secrets.txt", tmp_path / "other", "/proc/loadavg"):
        assert not is_closed(path), path


def test_no_source_reads_it(secrets: Path, tmp_path: Path) -> None:
    """Nor moves something there, nor tells what is in it."""
    with pytest.raises(ValueError, match="not for apps"):
        FileSource({"file.uri": f"file:{secrets}/Bank/key"}, PLACE)
    with pytest.raises(ValueError, match="not for apps"):
        FileSource({"dir.uri": f"file:{secrets}/Bank"}, PLACE)
    with pytest.raises(ValueError, match="not for apps"):
        FileSource({"dir.uri": str(tmp_path), "move.after.process": str(secrets)}, PLACE)
    with pytest.raises(ValueError, match="not for apps"):
        FolderSource({"dir.uri": f"file:{secrets}"}, PLACE)


async def test_no_source_follows_a_link_there(secrets: Path, tmp_path: Path) -> None:
    """A folder may hold one, or get one later."""
    (tmp_path / "in").mkdir()
    source = FileSource({"dir.uri": str(tmp_path / "in")}, PLACE)
    (tmp_path / "in" / "a").symlink_to(secrets / "Bank" / "key")
    with pytest.raises(OSError, match="not for apps"):
        await source.read(max_messages=1, wait_ms=0)


@pytest.mark.parametrize("name", ["Bank/key", "{{k}}/key", "Bank/{{k}}"])
def test_no_sink_writes_there(secrets: Path, name: str) -> None:
    """Whether the row says the file or the text."""
    text = f"@sink(type='file', file.uri='file:{secrets}/{name}') define stream S (k string);"
    with pytest.raises(SinkSetupError, match="not for apps"):
        setup_of(text, Vault(""))


def lane_to(uri: str) -> FileLane | FilesLane:
    """As a sink of such a `file.uri` writes."""
    schema, annotation = sink_of(
        f"@sink(type='file', file.uri='{uri}', @map(type='json'))"
        " define stream S (k string, v int);"
    )
    return (FilesLane if "{{" in uri else FileLane)(
        SinkBinding("Spy", schema, "S.0.file"),
        MessageWriter(schema, annotation),
        {"file.uri": uri},
    )


async def test_no_row_leads_there(secrets: Path, tmp_path: Path) -> None:
    """A name that a row makes is looked at; rows of other files are written."""
    lane = lane_to(f"{tmp_path}/{{{{k}}}}/key")
    await lane.open()
    refused = await lane.send([row(1, "secrets", 1), row(2, "fine", 2)])
    await lane.close()
    assert [(one.row.id.position, "not for apps" in one.reason) for one in refused] == [(1, True)]
    assert (tmp_path / "fine" / "key").is_file()
    assert sorted(os.listdir(secrets)) == ["Bank"]


def test_no_database_is_opened_there(secrets: Path) -> None:
    """Of an app. One that the settings name is its operator's choice."""
    url = f"jdbc:sqlite:{secrets}/Bank/key"
    with pytest.raises(DatasourceError, match="not for apps"):
        datasource_for({"jdbc.url": url}.get, {}, "")
    known = {"own": datasource_of_url("own", url)}
    assert datasource_for({"datasource": "own"}.get, known, "").kind == "sqlite"


async def test_links_are_followed_where_a_file_is_opened(secrets: Path, tmp_path: Path) -> None:
    """A constructor looks at names alone."""
    (tmp_path / "link").symlink_to(secrets / "Bank")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("link/key", "loop", "loop/a"):
        with pytest.raises(SinkSetupError, match="not for apps"):
            await lane_to(f"{tmp_path}/{name}").open()
    for options in (
        {"dir.uri": str(tmp_path / "link")},
        {"dir.uri": str(tmp_path / "in"), "move.after.process": str(tmp_path / "link")},
    ):
        with pytest.raises(OSError, match="not for apps"):
            await FileSource(options, PLACE).read(max_messages=1, wait_ms=0)
    folder = FolderSource({"dir.uri": str(tmp_path / "link")}, PLACE)
    with pytest.raises(OSError, match="not for apps"):
        await folder.read(max_messages=1, wait_ms=0)
    url = f"jdbc:sqlite:{tmp_path}/link/key"
    file = SqliteFile(datasource_for({"jdbc.url": url}.get, {}, ""))
    with pytest.raises(SqliteRefusedError, match="not for apps"):
        await file.change(lambda _: None, may_make=True)
    file.close()
    assert sorted(os.listdir(secrets / "Bank")) == ["key"]


@pytest.mark.parametrize(
    "uri", ["file:/tmp/a%00b", "file://[a", "file:/", "file:/tmp/a?{{k}}", "file:/tmp/a#{{k}}"]
)
def test_a_path_that_is_none_stops_its_sink_alone(tmp_path: Path, uri: str) -> None:
    """Also where only a secret says it, which no check of the text sees."""
    (tmp_path / "uri").write_text(uri)
    text = "@sink(type='file', file.uri='${secret:uri}') define stream S (k string);"
    with pytest.raises(SinkSetupError):
        setup_of(text, Vault(str(tmp_path)))


def test_what_cannot_be_looked_at_is_closed(tmp_path: Path) -> None:
    """No path makes the look fail."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in ("/tmp/a\0b", tmp_path / "loop", tmp_path / "loop" / "a"):
        assert is_closed(path), path


def test_a_file_that_the_settings_name_is_opened_for_itself(tmp_path: Path) -> None:
    """An app that writes its path gets no connection of the operator's."""
    url = f"jdbc:sqlite:{tmp_path}/a.db"
    own, apps = datasource_of_url("own", url), datasource_for({"jdbc.url": url}.get, {}, "")
    factory = factory_of(Vault(""))
    assert factory._file_of(own) is factory._file_of(own)
    assert factory._file_of(own) is not factory._file_of(apps)


async def test_no_event_loop_waits_for_a_file_system(
    secrets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mount that hangs stops the thread that looks, and nothing else."""
    asked: list[threading.Thread] = []
    real = os.lstat

    def lstat(*given: Any, **named: Any) -> os.stat_result:
        asked.append(threading.current_thread())
        return real(*given, **named)

    monkeypatch.setattr(os, "lstat", lstat)
    setup_of(
        f"@sink(type='file', file.uri='file:{tmp_path}/out') define stream S (k string);", Vault("")
    )
    for uri in (f"{tmp_path}/out", f"{tmp_path}/{{{{k}}}}.txt"):
        lane = lane_to(uri)
        await lane.open()
        assert list(await lane.send([row(1, "a", 1)])) == []
        await lane.close()
    for source in (
        FileSource({"dir.uri": str(tmp_path / "in")}, PLACE),
        FolderSource({"dir.uri": str(tmp_path)}, PLACE),
    ):
        await source.read(max_messages=1, wait_ms=0)
        await source.close()
    url = f"jdbc:sqlite:{tmp_path}/a.db"
    file = SqliteFile(datasource_for({"jdbc.url": url}.get, {}, ""))
    await file.change(lambda _: None, may_make=True)
    file.close()
    assert asked
    assert threading.main_thread() not in asked


def test_a_renewed_key_is_closed_too(secrets: Path, tmp_path: Path) -> None:
    """As Kubernetes renews one: a link leads to another folder from now on."""
    for name in ("1", "2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tls.key").write_text("")
    (tmp_path / "..data").symlink_to("1")
    (tmp_path / "tls.key").symlink_to("..data/tls.key")
    closed.close_to_apps([tmp_path / "tls.key"])
    assert is_closed(tmp_path / "1" / "tls.key")
    (tmp_path / "new").symlink_to("2")
    (tmp_path / "new").replace(tmp_path / "..data")
    assert is_closed(tmp_path / "2" / "tls.key")
    assert is_closed(tmp_path / "..data" / "tls.key")


def test_the_password_of_a_datasource_is_closed(secrets: Path, tmp_path: Path) -> None:
    """The file is named by another file."""
    (tmp_path / "shop.pw").write_text("TOP")
    (tmp_path / "ds.toml").write_text(
        f"[shop]\nurl = 'postgresql://h/d'\npassword_file = '{tmp_path}/shop.pw'\n"
    )
    assert not is_closed(tmp_path / "shop.pw")
    assert read_datasources(str(tmp_path / "ds.toml"))["shop"].password == "TOP"
    assert is_closed(tmp_path / "shop.pw")


@pytest.mark.parametrize("name", ["tls.certificate.file", "tls.key.file"])
async def test_no_app_speaks_with_a_key_of_the_suite(
    secrets: Path, tmp_path: Path, name: str
) -> None:
    """Whom the suite trusts an app may trust, too."""
    (tmp_path / "link.pem").symlink_to(tmp_path / "door.pem")
    options = {"tls.certificate.file": str(tmp_path / "x.pem"), name: str(tmp_path / "link.pem")}
    with pytest.raises(OSError, match="not for apps"):
        context_of(options)
    calls = GrpcCalls({"publisher.url": "grpc://h:1/S/m", "enable.ssl": "true", **options})
    with pytest.raises(OSError, match="not for apps"):
        calls._open()
    with pytest.raises(OSError, match="not for apps"):
        await StreamServer({"url": "rediss://h", **options}).step("", (), ())
    servers = ForeignServers(BusLimits(), SystemRandomness(), "test")
    server = ForeignServer.of(["tls://127.0.0.1:9"], options)
    assert server is not None
    with pytest.raises(TlsError, match="not for apps"):
        await servers.borrow(server)
    with pytest.raises(OSError, match=r"door\.pem") as refused:
        context_of({"tls.ca.file": str(tmp_path / "door.pem")})
    assert isinstance(refused.value.__cause__, TlsError)


@pytest.mark.parametrize("name", ["certfile", "keyfile"])
async def test_no_address_names_a_key_of_the_suite(
    secrets: Path, tmp_path: Path, name: str
) -> None:
    """Clients take files from the options of an address, too."""
    (tmp_path / "link.pem").symlink_to(tmp_path / "door.pem")
    named = f"{name}={tmp_path}%2Flink.pem"
    with pytest.raises(OSError, match="not for apps"):
        await StreamServer({"url": f"rediss://127.0.0.1:9/0?ssl_{named}"}).step("", (), ())
    with pytest.raises(OSError, match="not for apps"):
        await connected({"uri": f"amqps://127.0.0.1:9/?a=b&{named}"})


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://h/d?sslmode=require&sslkey={}",
        "postgresql://h/d?sslcert={}",
        "postgresql://h/d?passfile={}",
        "mysql://h/d?sslmode=verify-full&sslcert={}",
        "mysql://h/d?sslmode=verify-full&sslcert=/x.pem&sslkey={}",
    ],
)
def test_no_database_is_asked_with_a_key_of_the_suite(
    secrets: Path, tmp_path: Path, url: str
) -> None:
    """By an app. Databases that the settings name may have keys that they name."""
    (tmp_path / "link.pem").symlink_to(tmp_path / "door.pem")
    own = url.format(tmp_path / "door.pem")
    for named in (own, url.format(tmp_path / "link.pem"), url.format(f"{secrets}%2FBank%2Fkey")):
        with pytest.raises(DatasourceError, match="not for apps"):
            datasource_for({"jdbc.url": f"jdbc:{named}"}.get, {}, "")
    known = {"own": datasource_of_url("own", own)}
    assert datasource_for({"datasource": "own"}.get, known, "").host == "h"
    none: dict[str, str] = {}
    assert datasource_for(none.get, {}, own).host == "h"
    trusted = f"postgresql://h/d?sslrootcert={tmp_path}/door.pem"
    assert datasource_for({"jdbc.url": trusted}.get, {}, "").host == "h"


@pytest.mark.parametrize("name", ["tlsCertificateKeyFile", "TLSCERTIFICATEKEYFILE"])
@pytest.mark.parametrize("before", ["tls=true&", "tls=true;", ""])
async def test_no_mongodb_is_asked_with_a_key_of_the_suite(
    secrets: Path, tmp_path: Path, name: str, before: str
) -> None:
    """However the uri writes it."""
    uri = f"mongodb://127.0.0.1:9/shop?{before}{name}={tmp_path}/door.pem"
    client = MongoClient(mongodb_at(uri, "shop"))
    with pytest.raises(DatabaseError, match="not for apps"):
        await client.find("things", {}, ("a",), 1)


@pytest.mark.parametrize(
    "name", ["ssl.certificate.location", "ssl.key.location", "ssl.keystore.location"]
)
async def test_no_kafka_is_reached_with_a_key_of_the_suite(
    secrets: Path, tmp_path: Path, name: str
) -> None:
    """Neither by a source nor by a sink."""
    (tmp_path / "link.pem").symlink_to(tmp_path / "door.pem")
    settings = {"security.protocol": "SSL", name: str(tmp_path / "link.pem")}
    options = KafkaOptions({"group.id": "g", **settings}, ("t",), (), {}, is_numbered=False)
    mailbox = KafkaMailbox(options, VirtualClock())
    with pytest.raises(UnavailableError, match="not for apps"):
        await mailbox.read(max_messages=1, wait_ms=0)
    await mailbox.close()
    given = ",".join(f"{key}:{value}" for key, value in settings.items())
    schema, annotation = sink_of(
        "@sink(type='kafka', bootstrap.servers='127.0.0.1:9', topic='t',"
        f" optional.configuration='{given}', @map(type='json')) define stream S (k string);"
    )
    sink = KafkaSink(SinkBinding("Spy", schema, "S.0.kafka"), annotation, MemoryStore().cursors)
    with pytest.raises(SinkSetupError, match="not for apps"):
        await sink.open()


def test_all_files_of_a_kafka_client_are_looked_at(secrets: Path, tmp_path: Path) -> None:
    """But those of whom it trusts."""
    own = str(tmp_path / "door.pem")
    for name in ("sasl.kerberos.keytab", "sasl.oauthbearer.assertion.private.key.file"):
        with pytest.raises(OSError, match="not for apps"):
            refuse_own_files({name: own})
    refuse_own_files({"ssl.ca.location": own, "https.ca.location": own, "client.id": own})
