"""The app of the scenario: a source of each transport, and one stream with a sink of each.

`sources` and `sinks` say which there are on this machine, and of which type each is: what it
promises is what its type declares, where the condition of the promise holds, as it does here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lockstep.siddhiql.catalogue import ExtensionKind
from tests.e2e.connectors_transport import (
    APP,
    Around,
    Transport,
    database_options,
    folder_of,
    sink,
    source,
    unmapped,
)
from tests.greenmail.server import PASSWORD, USER
from tests.s3.server import ACCESS_KEY, BUCKET, SECRET_KEY

TABLE: Final = "taken"
CALLED: Final = "called"
CHANGED: Final = "given"
KAFKA_IN, KAFKA_OUT = "given", "taken_ok"
NATS_IN, NATS_OUT = "farin.given", "farout.ok"
MQTT_IN, MQTT_OUT = "in/given", "out/ok"
MAILS: Final = "Given"


def sources(around: Around) -> Iterator[Transport]:
    """Of the protocols that were here first; others stand in modules of their own."""
    places, database, doors = around.places, around.database, around.doors
    yield source("http")
    yield Transport(
        ExtensionKind.SOURCE, "http-service", "@source(type='http-service', source.id='ask',"
        " @map(type='json', @attributes(n='$.event.n', id='trp:messageId')))", "n long, id string",
    )  # fmt: skip
    yield source("http-call-response", ", sink.id='call'")
    yield source("nats", f", destination='{NATS_IN}', durable.name='given'")
    yield source("inMemory", ", topic='around'")
    yield source("file lines", f", file.uri='{folder_of(places, 'lines')}/a.log'")
    yield source("file folder", f", dir.uri='{folder_of(places, 'drop')}', mode='text.full'")
    yield source("tcp", f", context='given', port='{doors.tcp}'")
    yield source("websocket", f", url='ws://127.0.0.1:{places.port('http')}/feed'")
    yield source(
        "hl7", f", port='{doors.hl7}', hl7.encoding='er7'",
        r"type='text', regex.A='PID\|(-?\d+)', @attributes(n='A')",
    )  # fmt: skip
    changes = f", table.name='{CHANGED}', operation='insert', "
    row = "type='keyvalue', @attributes(n='n')"
    where = database_options(database, places.port("postgres"))
    yield source("cdc PostgreSQL", changes + where, row)
    if places.mariadb is not None:
        where = database_options(places.mariadb.url, places.port("mariadb"))
        yield source("cdc MariaDB", changes + where, row)
    if places.kafka is not None:
        servers = places.kafka.url
        yield source(
            "kafka", f", bootstrap.servers='{servers}', topic.list='{KAFKA_IN}', group.id='g'"
        )
    if places.mails is not None:
        yield source(
            "email", f", host='127.0.0.1', port='{places.port('greenmail')}', ssl.enable='false',"
            f" username='{USER}', password='{PASSWORD}', polling.interval='1', folder='{MAILS}'",
        )  # fmt: skip
    if places.mqtt is not None:
        yield source(
            "mqtt", f", url='tcp://127.0.0.1:{places.port('mqtt')}', topic='{MQTT_IN}',"
            " client.id='given', clean.session='false', quality.of.service='1'", step=1,
        )  # fmt: skip


def sinks(around: Around) -> Iterator[Transport]:
    """All of the one stream, but the last one."""
    places, database = around.places, around.database
    web, files = f"http://127.0.0.1:{places.port('http')}", folder_of(places, "out")
    yield sink("http", f", publisher.url='{web}/in'")
    yield sink("http-call", f", publisher.url='{web}/call', sink.id='call'")
    yield sink("nats", ", destination='farout.{{name}}'")
    yield sink("inMemory", ", topic='around'", refuses=False)
    yield sink("file one", f", file.uri='{files}/one'", refuses=False)
    yield sink("file each", f", file.uri='{files}/{{{{name}}}}.lines'")
    yield sink("tcp", f", url='tcp://127.0.0.1:{places.port('tcp')}/taken'", refuses=False)
    yield sink("websocket", f", url='ws://127.0.0.1:{places.port('http')}/sink'", refuses=False)
    yield sink(
        "hl7", f", uri='127.0.0.1:{places.port('hl7')}', hl7.encoding='er7'",
        "type='text', @payload('MSH|^~.&|A|{{name}}|B|B|||ADT|{{n}}|P|2.3')",
    )  # fmt: skip
    yield sink(
        "email", f", address='app@example.org', host='127.0.0.1', port='{places.port('smtp')}',"
        " ssl.enable='false', auth='false', subject='s', to='{{name}}@example.org'",
    )  # fmt: skip
    yield sink(
        "s3", f", bucket.name='{BUCKET}', object.path='taken/{{{{name}}}}',"
        f" endpoint='http://127.0.0.1:{places.port('s3')}', aws.access.key='{ACCESS_KEY}',"
        f" aws.secret.key='{SECRET_KEY}'",
    )  # fmt: skip
    rows = f", table.name='{TABLE}', jdbc."
    yield unmapped("rdbms PostgreSQL", rows + database_options(database, places.port("postgres")))
    if places.mariadb is not None:
        where = database_options(places.mariadb.url, places.port("mariadb"))
        yield unmapped("rdbms MariaDB", rows + where)
    if places.kafka is not None:
        yield sink("kafka", f", bootstrap.servers='{places.kafka.url}', topic='taken_{{{{name}}}}'")
    if places.mqtt is not None:
        where = f", url='tcp://127.0.0.1:{places.port('mqtt')}', topic='out/{{{{name}}}}'"
        yield sink("mqtt", where, step=1)

    yield Transport(
        ExtensionKind.SINK, "http-service-response",
        "@sink(type='http-service-response', source.id='ask', message.id='{{id}}',"
        " @map(type='json')) define stream Reply (n long, id string);", refuses=False,
        asked="http-service", filled="from In_http_service select n, id insert into Reply;",
    )  # fmt: skip


def text_of(incoming: Sequence[Transport], outgoing: Sequence[Transport], version: int = 0) -> str:
    """`version`: another text, which means the same."""
    lines = [f"@app:name('{APP}')", "define stream Feed (n long, name string);"]
    lines += [one.text for one in outgoing if not one.is_apart]
    lines += ["define stream Out (n long, name string);"]
    for one in incoming:
        lines += [one.text, f"define stream {one.stream} ({one.attributes});"]
    lines += [one.text for one in outgoing if one.is_apart]
    lines += [f"define stream Version{version} (n long);", "from Feed select * insert into Out;"]
    lines += [one.filled for one in outgoing if one.is_apart]
    lines += [one.query for one in incoming]
    return "\n".join(lines) + "\n"
