"""The app of the scenario: a source of each transport, and one stream with a sink of each.

`sources` and `sinks` say which there are on this machine, and of which type each is: what it
promises is what its type declares, where the condition of the promise holds, as it does here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lockstep.databases import datasource_of_url
from lockstep.siddhiql.catalogue import Delivery, ExtensionKind
from lockstep.siddhiql.checking.connectors import find_type
from tests.e2e.connectors_places import Places
from tests.greenmail.server import PASSWORD, USER
from tests.s3.server import ACCESS_KEY, BUCKET, SECRET_KEY

APP: Final = "Connectors"
POISON: Final = "a/*+"
"""A name that no destination takes which can refuse one."""
TABLE: Final = "taken"
CHANGED: Final = "given"
KAFKA_IN, KAFKA_OUT = "given", "taken_ok"
NATS_IN, NATS_OUT = "farin.given", "farout.ok"
MQTT_IN, MQTT_OUT = "in/given", "out/ok"
MAILS: Final = "Given"


@dataclass(frozen=True, slots=True)
class Transport:
    """One way of one type. `name` among those of its way: type, and which of several."""

    kind: ExtensionKind
    name: str
    text: str
    """The annotation."""
    attributes: str = "n long"
    refuses: bool = True
    """A sink whose other side can refuse a message, a source that can meet one it cannot read."""

    @property
    def type(self) -> str:
        return self.name.partition(" ")[0]

    @property
    def delivery(self) -> Delivery:
        """What its type declares."""
        declared = find_type(self.kind, self.type)
        assert declared is not None
        assert declared.promise is not None, f"{self.type} declares no promise"
        return declared.promise.delivery

    @property
    def stream(self) -> str:
        """Of a source."""
        return "In_" + "".join(c if c.isalnum() else "_" for c in self.name)


def _source(
    name: str, options: str = "", mapping: str = "type='json'", more: str = ""
) -> Transport:
    text = f"@source(type='{name.partition(' ')[0]}'{options}, @map({mapping}))"
    return Transport(ExtensionKind.SOURCE, name, text, "n long" + more)


def _sink(
    name: str, options: str, mapping: str = "type='json'", *, refuses: bool = True
) -> Transport:
    text = f"@sink(type='{name.partition(' ')[0]}'{options}, @map({mapping}))"
    return Transport(ExtensionKind.SINK, name, text, refuses=refuses)


def _database(url: str, port: int) -> str:
    """Options that lead to a server through its proxy."""
    found = datasource_of_url("far", url)
    where = f"jdbc:{found.kind}://127.0.0.1:{port}/{found.database}"
    return f"url='{where}', username='{found.username}', password='{found.password}'"


def folder_of(places: Places, name: str) -> Path:
    """Of a file source or sink."""
    found = places.folder / "files" / name
    found.mkdir(parents=True, exist_ok=True)
    return found


def sources(places: Places, database: str, tcp: int, hl7: int) -> Iterator[Transport]:
    """`database`: the suite's own PostgreSQL. `tcp`, `hl7`: where receivers listen."""
    yield _source("http")
    yield Transport(
        ExtensionKind.SOURCE, "http-service", "@source(type='http-service', source.id='ask',"
        " @map(type='json', @attributes(n='$.event.n', id='trp:messageId')))", "n long, id string",
    )  # fmt: skip
    yield _source("http-call-response", ", sink.id='call'")
    yield _source("nats", f", destination='{NATS_IN}', durable.name='given'")
    yield _source("inMemory", ", topic='around'")
    yield _source("file lines", f", file.uri='{folder_of(places, 'lines')}/a.log'")
    yield _source("file folder", f", dir.uri='{folder_of(places, 'drop')}', mode='text.full'")
    yield _source("tcp", f", context='given', port='{tcp}'")
    yield _source("websocket", f", url='ws://127.0.0.1:{places.port('http')}/feed'")
    yield _source(
        "hl7", f", port='{hl7}', hl7.encoding='er7'",
        r"type='text', regex.A='PID\|(-?\d+)', @attributes(n='A')",
    )  # fmt: skip
    changes = f", table.name='{CHANGED}', operation='insert', "
    row = "type='keyvalue', @attributes(n='n')"
    yield _source("cdc PostgreSQL", changes + _database(database, places.port("postgres")), row)
    if places.mariadb is not None:
        where = _database(places.mariadb.url, places.port("mariadb"))
        yield _source("cdc MariaDB", changes + where, row)
    if places.kafka is not None:
        servers = places.kafka.url
        yield _source(
            "kafka", f", bootstrap.servers='{servers}', topic.list='{KAFKA_IN}', group.id='g'"
        )
    if places.mails is not None:
        yield _source(
            "email", f", host='127.0.0.1', port='{places.port('greenmail')}', ssl.enable='false',"
            f" username='{USER}', password='{PASSWORD}', polling.interval='1', folder='{MAILS}'",
        )  # fmt: skip
    if places.mqtt is not None:
        yield _source(
            "mqtt", f", url='tcp://127.0.0.1:{places.port('mqtt')}', topic='{MQTT_IN}',"
            " client.id='given', clean.session='false', quality.of.service='1'",
        )  # fmt: skip


def sinks(places: Places, database: str) -> Iterator[Transport]:
    """All of the one stream."""
    web, files = f"http://127.0.0.1:{places.port('http')}", folder_of(places, "out")
    yield _sink("http", f", publisher.url='{web}/in'")
    yield _sink("http-call", f", publisher.url='{web}/call', sink.id='call'")
    yield _sink("nats", ", destination='farout.{{name}}'")
    yield _sink("inMemory", ", topic='around'", refuses=False)
    yield _sink("file one", f", file.uri='{files}/one'", refuses=False)
    yield _sink("file each", f", file.uri='{files}/{{{{name}}}}.lines'")
    yield _sink("tcp", f", url='tcp://127.0.0.1:{places.port('tcp')}/taken'", refuses=False)
    yield _sink("websocket", f", url='ws://127.0.0.1:{places.port('http')}/sink'", refuses=False)
    yield _sink(
        "hl7", f", uri='127.0.0.1:{places.port('hl7')}', hl7.encoding='er7'",
        "type='text', @payload('MSH|^~.&|A|{{name}}|B|B|||ADT|{{n}}|P|2.3')",
    )  # fmt: skip
    yield _sink(
        "email", f", address='app@example.org', host='127.0.0.1', port='{places.port('smtp')}',"
        " ssl.enable='false', auth='false', subject='s', to='{{name}}@example.org'",
    )  # fmt: skip
    yield _sink(
        "s3", f", bucket.name='{BUCKET}', object.path='taken/{{{{name}}}}',"
        f" endpoint='http://127.0.0.1:{places.port('s3')}', aws.access.key='{ACCESS_KEY}',"
        f" aws.secret.key='{SECRET_KEY}'",
    )  # fmt: skip
    rows = f", table.name='{TABLE}', jdbc."
    yield _table("rdbms PostgreSQL", rows + _database(database, places.port("postgres")))
    if places.mariadb is not None:
        where = _database(places.mariadb.url, places.port("mariadb"))
        yield _table("rdbms MariaDB", rows + where)
    if places.kafka is not None:
        yield _sink(
            "kafka", f", bootstrap.servers='{places.kafka.url}', topic='taken_{{{{name}}}}'"
        )
    if places.mqtt is not None:
        where = f", url='tcp://127.0.0.1:{places.port('mqtt')}', topic='out/{{{{name}}}}'"
        yield _sink("mqtt", where)


def _table(name: str, options: str) -> Transport:
    return Transport(ExtensionKind.SINK, name, f"@sink(type='rdbms'{options})")


ANSWER: Final = Transport(ExtensionKind.SINK, "http-service-response", "", refuses=False)
"""It has a stream of its own."""


def text_of(incoming: list[Transport], outgoing: list[Transport], version: int = 0) -> str:
    """`version`: another text, which means the same."""
    lines = [f"@app:name('{APP}')", "define stream Feed (n long, name string);"]
    lines += [one.text for one in outgoing if one is not ANSWER]
    lines += ["define stream Out (n long, name string);"]
    for one in incoming:
        lines += [one.text, f"define stream {one.stream} ({one.attributes});"]
    lines += [
        "@sink(type='http-service-response', source.id='ask', message.id='{{id}}',"
        " @map(type='json'))", "define stream Reply (n long, id string);",
        f"define stream Version{version} (n long);",
        "from Feed select * insert into Out;",
        "from In_http_service select n, id insert into Reply;",
    ]  # fmt: skip
    lines += [f"from {one.stream} select n insert into Got_{one.stream};" for one in incoming]
    return "\n".join(lines) + "\n"
