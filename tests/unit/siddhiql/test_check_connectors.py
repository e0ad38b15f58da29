"""Types and options of sources, sinks, stores and mappers (extensions 12 to 15)."""

from __future__ import annotations

from pkgutil import resolve_name

import pytest

from lockstep.mapping import check_connectors
from lockstep.siddhiql import SiddhiQLError, check
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.catalogue.mappers import MapperExtension
from lockstep.siddhiql.checking.connectors import declared_connector
from lockstep.siddhiql.checking.retired import RETIRED
from tests.unit.siddhiql.refusals import error_of_app, says

OBJECTS = "@sink(type='s3', bucket.name='x', object.path='y'"
GOOGLE = "@sink(type='google-cloud-storage', bucket.name='x', object.name='y'"
SERVED = "@source(type='nats', destination='x', server.urls='nats://y'"
BY_KEYS = "execution.mode='update-or-insert'"
MAILS = "@source(type='email', username='x', password='y'"
MQTT = "@sink(type='mqtt', url='tcp://h'"
MQTT_IN = "@source(type='mqtt', url='tcp://h'"
LOGS = "@sink(type='syslog', url='tcp://h'"
LOGS_IN = "@source(type='syslog', port='5514'"
EVENTS = "@source(type='sse'"
EVENTS_AT = f"{EVENTS}, receiver.url='http://x'"
STATEMENT = "@sink(type='rdbms-call', sink.id='q', statement='select 1'"
S = "define stream S (a int, b string);"
T = "define table T (a int, b string);"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"@sink(type='htpp', publisher.url='http://x') {S}", ("no sink 'htpp'", "'http'")),
        (f"@source(type='natz', destination='x') {S}", ("no source 'natz'", "'nats'")),
        (f"@store(type='rdmbs') {T}", ("no store 'rdmbs'", "'rdbms'")),
        (f"@sink(type='log', @map(type='jsn')) {S}", ("no sink mapper 'jsn'", "'json'")),
        (f"@source(type='http', @map(type='cvs')) {S}", ("no source mapper 'cvs'", "'csv'")),
        (f"@sink(type='pigeon') {S}", ("no sink 'pigeon'", "there is", "grpc")),
        (f"@sink(type='kafka', topic='t') {S}", ("'bootstrap.servers'",)),
        (f"@sink(type='ibmmq') {S}", ("no sink 'ibmmq' here", "STOMP")),
        (f"@source(type='WSO2Event') {S}", ("no source 'WSO2Event' here", "Thrift")),
        (f"@source(type='twitter') {S}", ("no source 'twitter' here", "no more")),
        (f"@source(type='http', @map(type='wso2event')) {S}", ("mapper 'wso2event' here", "json")),
        (f"@sink(type='log', @map(type='wso2event')) {S}", ("Thrift bridge", "use json")),
        (f"@store(type='cassandra') {T}", ("no store 'cassandra' here", "transactions", "rdbms")),
        (f"@store(type='hbase') {T}", ("no store 'hbase' here", "type='rdbms'", "Kafka")),
        (f"@store(type='solr') {T}", ("no store 'solr' here", "no table", "type='http'")),
        (f"@store(type='influxdb') {T}", ("no store 'influxdb' here", "type='http'")),
        (f"@store(type='elasticsearch') {T}", ("no store 'elasticsearch'", "type='rdbms'")),
        (f"@sink(type='jms', destination='t') {S}", ("'jms' needs 'provider.url'",)),
        (f"@sink(type='tcp', url='http://x') {S}", ("'url' is 'http://x'", "tcp://")),
        (
            f"@source(type='mqtt', url='tcp://h', topic='t', clean.session='false') {S}",
            ("kept session", "client.id"),
        ),
        (f"{MQTT}, topic='t', user.properties='a:b') {S}", ("option of MQTT 5", "version='5'")),
        (f"{MQTT}, topic='t', content.type='x') {S}", ("'content.type'", "protocol.version='5'")),
        (f"{MQTT}, topic='t', protocol.version='4') {S}", ("'4'", "3.1.1, 5")),
        (
            f"{MQTT}, topic='t', protocol.version='5', session.expiry.interval='9') {S}",
            ("session that is kept", "clean.session='false'"),
        ),
        (f"{MQTT_IN}, topic='$share/g') {S}", ("no shared subscription", "$share/group/")),
        (f"{MQTT_IN}, topic='a, $share/+/b') {S}", ("'$share/+/b'", "$share/group/")),
        (f"{LOGS_IN}, framing='auto') {S}", ("'framing' means nothing", "transport='tcp'")),
        (f"{LOGS_IN}, max.connections='9') {S}", ("'max.connections' means", "transport='tcp'")),
        (
            f"{LOGS_IN}, transport='tls', receive.buffer.bytes='9') {S}",
            ("'receive.buffer.bytes' means nothing with transport='tls'",),
        ),
        (f"{LOGS_IN}, max.message.bytes='65508') {S}", ("'65508'", "at most 65507")),
        (f"{LOGS_IN}, transport='sctp') {S}", ("'sctp'", "udp, tcp, tls")),
        (f"@source(type='syslog', port='65536') {S}", ("'65536'", "from 1 to 65535")),
        (f"@sink(type='syslog', url='http://h') {S}", ("'http://h'", "tls://host:6514")),
        (f"@sink(type='syslog', url='tcp://h:x') {S}", ("'tcp://h:x'", "tls://host:6514")),
        (
            f"@sink(type='syslog', url='udp://h', framing='octet.counting') {S}",
            ("'framing' means nothing over UDP", "a datagram"),
        ),
        (f"{LOGS}, framing='auto') {S}", ("'auto'", "octet.counting, non.transparent")),
        (f"{LOGS}, max.message.bytes='1048577') {S}", ("'1048577'", "at most 1048576")),
        (f"{LOGS}, format='rfc3164', msg.id='x') {S}", ("no place for 'msg.id'", "rfc5424")),
        (f"{LOGS}, severity='loud') {S}", ("'loud' is none of emerg", "severity='info'")),
        (f"{LOGS}, facility='24') {S}", ("'24' is none of kern", "facility='local0'")),
        (f"{LOGS}, structured.data='room') {S}", ("no structured data", "[room@32473 name=")),
        (f"{LOGS}, structured.data='[a] x') {S}", ("'structured.data' is '[a] x'",)),
        (f"{LOGS}, identity.sd.id='a b') {S}", ("'a' of structured data does not end",)),
        (f"@source(type='sse') {S}", ("'sse' needs 'receiver.url'",)),
        (f"{EVENTS}, receiver.url='tcp://x') {S}", ("'receiver.url' is 'tcp://x'", "http://host")),
        (f"{EVENTS_AT}, consumer.key='k') {S}", ("'token.url' is missing",)),
        (
            f"{EVENTS_AT}, token.url='http://y', basic.auth.username='u') {S}",
            ("exclude each other",),
        ),
        (f"{EVENTS_AT}, resume='false', last.event.id='7') {S}", ("where to go on", "leave one")),
        (f"{EVENTS_AT}, max.event.bytes='16777217') {S}", ("'16777217'", "at most 16777216")),
        (f"{EVENTS_AT}, retry.interval='soon') {S}", ("'soon'", "whole number")),
        (f"@source(type='file') {S}", ("'dir.uri'", "'file.uri'")),
        (f"@source(type='file', dir.uri='/x', tailing='true') {S}", ("lines of one file",)),
        (f"@source(type='file', dir.uri='file:/a%00b') {S}", ("'dir.uri' holds a zero",)),
        (f"@source(type='fileeventlistener', dir.uri='file:/%00') {S}", ("holds a zero",)),
        (f"@source(type='file', dir.uri='/x', buffer.size='9000000') {S}", ("at most 8388608",)),
        (
            f"@source(type='file', dir.uri='/x', file.name.pattern='*.csv') {S}",
            ("'file.name.pattern' is no regular expression", r"'.*\.csv'"),
        ),
        (
            f"@source(type='file', dir.uri='/x', mode='regex', begin.regex='(a') {S}",
            ("'begin.regex' is no regular expression", "parenthesis"),
        ),
        (
            f"@source(type='file', dir.uri='/x', mode='regex', end.regex='a)') {S}",
            ("'end.regex' is no regular expression",),
        ),
        (
            f"@source(type='file', dir.uri='/x', mode='regex', begin.regex='(?P<n>a)') {S}",
            ("joined", "redefinition of group name"),
        ),
        (
            f"@source(type='file', dir.uri='/x', buffer.size='big') {S}",
            ("'buffer.size' is 'big'", "whole number"),
        ),
        (f"@source(type='fileeventlistener') {S}", ("'fileeventlistener' needs 'dir.uri'",)),
        (
            f"@source(type='file', dir.uri='/x', action.after.process='move') {S}",
            ("'move.after.process' is missing",),
        ),
        (f"@source(type='hl7', port='4000', hl7.encoding='json') {S}", ("er7", "xml")),
        (
            f"@sink(type='prometheus', metric.type='gauge', server.url='http://0.0.0.0:9') {S}",
            ("to anybody", "gateway"),
        ),
        (f"@store(type='mongodb', mongodb.uri='mongodb://h/d') {T}", ("'mode'", "type='rdbms'")),
        (f"@sink(ref='known') {S}", ("refers to a configuration", "type='log'")),
        (f"@store(ref='known') {T}", ("refers to a configuration", "type='rdbms'")),
        (f"@sink(type='log', @map(ref='x')) {S}", ("refers to a configuration",)),
    ],
)
def test_unknown_types_are_refused(text: str, parts: tuple[str, ...]) -> None:
    """By name: with the nearest one, or with what to use instead."""
    says(error_of_app(text), *parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"@sink(type='http') {S}", ("needs 'publisher.url'",)),
        (f"@sink(type='http', url='http://x') {S}", ("no option 'url'", "'publisher.url'")),
        (f"@sink(type='http', publisher.url='ftp://x') {S}", ("'ftp://x'", "http://host")),
        (
            f"@sink(type='http', publisher.url='http://x', oauth.username='u') {S}",
            ("'token.url' is missing",),
        ),
        (
            f"@sink(type='http', publisher.url='http://x', socket.idle.timeout='soon') {S}",
            ("'soon'", "whole number"),
        ),
        (f"@source(type='http', receiver.url='8006') {S}", ("'receiver.url'", "http://host")),
        (f"@source(type='http', basic.auth.enabled='maybe') {S}", ("'maybe'", "'true' or 'false'")),
        (f"@sink(type='nats') {S}", ("needs 'destination'",)),
        (f"@sink(type='nats', destination='x', server.urls='y') {S}", ("'y' is no address",)),
        (f"@sink(type='nats', destination='x', server.urls=' , ') {S}", ("0 servers",)),
        (f"@sink(type='nats', destination='x', token='t') {S}", ("none is named", "server.urls")),
        (f"{SERVED}, bootstrap.servers='nats://z') {S}", ("the older name",)),
        (f"{SERVED}, username='u') {S}", ("go together",)),
        (f"{SERVED}, username='u', password='p', token='t') {S}", ("exclude each other",)),
        (f"{SERVED}, keystore.file='x') {S}", ("no 'keystore.file'", "tls.ca.file")),
        (f"@source(type='nats', destination='$x', server.urls='nats://y') {S}", ("suite",)),
        (f"@sink(type='nats', destination='out.x') {S}", ("belongs to the suite",)),
        (f"@sink(type='nats', destination='x.>') {S}", ("one subject",)),
        (f"@sink(type='nats', destination='_INBOX.x') {S}", ("belongs to the suite",)),
        (f"@sink(type='nats', destination='topic.x') {S}", ("in-memory topics", "inMemory")),
        (f"@source(type='nats', destination='>') {S}", ("other apps", "begin with a word")),
        (f"@source(type='nats', destination='*.>') {S}", ("other apps",)),
        (f"@source(type='nats', destination='*.Bank.*') {S}", ("other apps",)),
        (f"@source(type='nats', destination='_INBOX.>') {S}", ("belongs to the suite",)),
        (f"@source(type='nats', destination='a', durable.name='B/S.0') {S}", ("durable.name",)),
        (f"@source(type='nats', destination='a..b') {S}", ("is no subject",)),
        (f'@source(type="nats", destination="""a\tb""") {S}', ("is no subject",)),
        (f"@source(type='nats', destination='{'é' * 513}') {S}", ("'destination' has 1026 bytes",)),
        (f"@sink(type='nats', destination='x.{'a' * 5000}') {S}", ("1024 are possible",)),
        (f"{SERVED}, queue.group.name='{'a' * 5000}') {S}", ("'queue.group.name' has 5000",)),
        (f"@source(type='nats', destination='ingress.A.S') {S}", ("without a source",)),
        (f"@source(type='email', username='x') {S}", ("needs 'password'",)),
        (f"{MAILS}, store='pop3') {S}", ("'pop3'", "imap")),
        (f"{MAILS}, search.term='body:x') {S}", ("'body:x'", "subject:order")),
        (f"{MAILS}, folder='Entwürfe') {S}", ("'folder' is wrong", "modified UTF-7")),
        (f"{MAILS}, action.after.processed='MOVE') {S}", ("folder.to.move", "MOVE")),
        (f"{MAILS}, content.type='image/png') {S}", ("is no text",)),
        (f"{OBJECTS}, aws.access.key='x') {S}", ("'aws.secret.key' is missing",)),
        (f"{OBJECTS}, flush.size='100001') {S}", ("'flush.size' is 100001", "1 to 100000")),
        (f"{OBJECTS}, rotate.interval.ms='500') {S}", ("give a 'flush.size'",)),
        (f"{OBJECTS}, flush.size='3', rotate.interval.ms='99') {S}", ("100 to 3600000",)),
        (f"{OBJECTS}, endpoint='host:9000') {S}", ("'endpoint'", "https://")),
        (f"{OBJECTS}, storage.class='glacier') {S}", ("'glacier'", "standard")),
        (f"{OBJECTS}, bucket.acl='x') {S}", ("no 'bucket.acl' here",)),
        (f"{GOOGLE}, credential.path='/x', credential.json='y') {S}", ("keep one", "secret")),
        (f"{GOOGLE}, rotate.scheduled.interval.ms='3') {S}", ("no 'rotate.sch", "timeBatch")),
        (f"{GOOGLE}, endpoint='host:9000') {S}", ("'endpoint'", "https://")),
        (f"{GOOGLE}, storage.class='regional') {S}", ("'regional'", "nearline")),
        (f"{GOOGLE}, versioning.enabled='true') {S}", ("no 'versioning.enabled' here", "bucket")),
        (f"@sink(type='google-cloud-storage', bucket.name='x') {S}", ("needs 'object.name'",)),
        (f"@sink(type='gcs', bucket.name='x') {S}", ("type='google-cloud-storage'",)),
        (f"@sink(type='file') {S}", ("needs 'file.uri'",)),
        (f"@sink(type='file', file.uri='file:/a%00b') {S}", ("'file.uri' holds a zero",)),
        (f"@sink(type='file', file.uri='{{{{b}}}}') {S}", ("no folder in front",)),
        (f"@sink(type='file', file.uri='file:/{{{{b}}}}/x') {S}", ("no folder in front",)),
        (f"@sink(type='file', file.uri='/x/{{{{b}}}}/../y') {S}", ("'..'", "no dot")),
        (f"@sink(type='file', file.uri='/x/.{{{{b}}}}') {S}", ("'.{{b}}'", "no dot")),
        (f"@source(type='file', file.uri='/{{{{b}}}}') {S}", ("the same for all events",)),
        (f"@sink(type='file', file.uri='x', append='false') {S}", ("there is true",)),
        (f"@sink(type='log', priority='LOUD') {S}", ("'LOUD'", "INFO")),
        (f"@sink(type='log', 'x') {S}", ("'x' has no name",)),
        (f"@sink(type='log', 'prefix=x') {S}", ("'prefix=x' has no name",)),
        (
            f"@store(type='rdbms', jdbc.url='jdbc:h2:mem:y') {T}",
            ("PostgreSQL, MySQL, MariaDB and SQLite",),
        ),
        (
            f"@store(type='rdbms', jdbc.url='jdbc:sqlite:/d/y.db', username='u') {T}",
            ("'username' means nothing with an SQLite file",),
        ),
        (f"@store(type='rdbms', jdbc.url='jdbc:sqlite:y.db') {T}", ("'jdbc:sqlite:y.db'",)),
        (
            "@store(type='rdbms', mode='copy', jdbc.url='jdbc:mysql://x/y', publication='p')"
            f" @PrimaryKey('a') {T}",
            ("'publication'", "PostgreSQL alone"),
        ),
        (
            f"@store(type='rdbms', datasource='D', jdbc.url='jdbc:postgresql://x/y') {T}",
            ("'datasource' and a 'jdbc.url'", "keep one"),
        ),
        (f"@sink(type='rdbms', table.name='lockstep.accounts') {S}", ("no schema", "datasource")),
        (f"@store(type='rdbms', table.name='public.t') {T}", ("no schema", "jdbc.url")),
        (f"@sink(type='rdbms', table.name='accounts') {S}", ("not for apps",)),
        (f"@store(type='redis', table.name='lockstep:lease') {T}", ("are the suite's",)),
        (f"@store(type='redis', table.name='lockstep') {T}", ("are the suite's",)),
        (f"@store(type='rdbms', table.name='pg_authid') {T}", ("not for apps",)),
        (f"@sink(type='rdbms', table.name='Lockstep_sink_cursors') {S}", ("not for apps",)),
        (f"{STATEMENT}, gives='a int') {S}", ("names no database", "datasource")),
        (f"{STATEMENT}) {S}".replace("select 1", "delete from t"), ("names no database",)),
        (f"@sink(type='rdbms', update.keys='a') {S}", ("'update.keys'", "update-or-insert")),
        (f"@sink(type='rdbms', execution.mode='update-or-insert') {S}", ("needs 'update.keys'",)),
        (f"@sink(type='rdbms', execution.mode='upsert') {S}", ("'upsert'", "update-or-insert")),
        (f"@sink(type='rdbms', {BY_KEYS}, update.keys='a, bb') {S}", ("no attribute 'bb'", "'b'")),
        (
            f"@sink(type='rdbms', {BY_KEYS}, update.keys='o') define stream S (o object);",
            ("'o' is an object",),
        ),
        (f"@store(type='rdbms', update.keys='a') {T}", ("no option 'update.keys'",)),
        (f"@store(type='rdbms', jndi.resource='D') {T}", ("'jndi.resource'", "datasource='NAME'")),
        (f"@store(type='rdbms', mode='cache') {T}", ("'cache'", "own, copy")),
        (f"@store(type='rdbms', poll.interval='1 sec') {T}", ("'poll.interval'", "mode='copy'")),
        (f"@store(type='rdbms', mode='copy') {T}", ("no primary key", "@PrimaryKey")),
        (
            f"@store(type='rdbms', mode='copy', columns='c=x') @PrimaryKey('a') {T}",
            ("no attribute 'c'", "there is a, b"),
        ),
        (
            f"@store(type='rdbms', mode='copy', columns='a') @PrimaryKey('a') {T}",
            ("'columns' says a", "attribute=column"),
        ),
        (
            f"@store(type='rdbms', mode='copy') @PrimaryKey('a') {T}"
            " define stream In (a int, b string); from In insert into T;",
            ("is read from a database", "mode='own'"),
        ),
        (f"@store(type='rdbms', tabel.name='x') {T}", ("'tabel.name'", "'table.name'")),
        (
            f"@sink(type='log', @map(type='json', enclosing='$')) {S}",
            ("no option 'enclosing'", "'enclosing.element'"),
        ),
        (
            f"@source(type='http', @map(type='json', fail.on.missing.attribute='no')) {S}",
            ("'no'", "'true' or 'false'"),
        ),
        (
            f'@sink(type="log", @map(type="csv", delimiter="""a"b""")) {S}',
            ("a quote or a line end",),
        ),
        (
            f"@sink(type='http', @distribution(strategy='broadcast', "
            f"@destination(publisher.url='http://x'), @destination(url='http://y'))) {S}",
            ("no option 'url'",),
        ),
        (
            f"@sink(type='http', @distribution(strategy='broadcast', "
            f"@destination(publisher.url='http://x'), @destination(method='PUT'))) {S}",
            ("needs 'publisher.url'",),
        ),
        (
            f"@sink(type='rdbms', @distribution(strategy='broadcast', @destination(username='u')))"
            f" {S}",
            ("takes no @distribution", "one @sink for each"),
        ),
    ],
)
def test_options_are_checked(text: str, parts: tuple[str, ...]) -> None:
    """What a type does not know, what it lacks, and values it cannot use."""
    says(error_of_app(text), *parts)


def test_the_place_is_that_of_the_annotation() -> None:
    """Line and column of what has to be changed, also inside."""
    error = error_of_app(f"@app:name('A')\n  @sink(type='log',\n   @map(type='jsn'))\n{S}")
    assert (error.line, error.column) == (3, 4)
    error = error_of_app(f"@app:name('A')\n  @sink(type='htpp')\n{S}")
    assert (error.line, error.column) == (2, 3)


@pytest.mark.parametrize(
    "text",
    [
        f"@sink(type='HTTP', publisher.url='{{{{b}}}}', method='{{{{b}}}}') {S}",
        f"@sink(type='http', publisher.url='http://x', max.pool.active.connections='5') {S}",
        f"@sink(type='rdbms', {BY_KEYS}, update.keys='a, b') {S}",
        f"@sink(type='rdbms', execution.mode='insert', update.keys='a') {S}",
        f"@sink(type='rdbms', table.name='Accounts') {S}",
        f"@sink(type='rdbms', datasource='D', table.name='lockstep.accounts') {S}",
        f"@store(type='rdbms', jdbc.url='jdbc:postgresql://h/d', table.name='sales.t') {T}",
        f"@sink(type='nats', destination='{{{{b}}}}') {S}",
        f"@source(type='nats', destination='>', server.urls='nats://y') {S}",
        f"@sink(type='http', on.error='WAIT', headers='A:b', @distribution("
        f"strategy='roundRobin', @destination(publisher.url='http://x'))) {S}",
        f"@source(type='http', receiver.url='http://0.0.0.0:8006/in', worker.count='2', "
        f"@map(type='text', regex.A='(.*)', @attributes(a='A', b='A'))) {S}",
        f"@source(type='nats', destination='a.*.>', queue.group.name='g', @map(type='json')) {S}",
        f"{SERVED}, cluster.id='c', client.id='d', queue.group.name='g', token='t') {S}",
        f"@sink(type='nats', destination='in.{{{{b}}}}', bootstrap.servers='tls://y, nats://z:1',"
        f" username='u', password='${{secret:p}}', tls.ca.file='x') {S}",
        f"@source(type='nats', destination='ingress.a', server.urls='${{secret:u}}') {S}",
        f"@store(type='rdbms', jdbc.url='jdbc:postgresql://h/d', username='u', password='p', "
        f"jdbc.driver.name='x', pool.properties='a:b', field.length='b:10') {T}",
        f"{GOOGLE}, credential.json='${{secret:g}}', storage.class='ARCHIVE',"
        f" node.id='n', content.type='text/{{{{b}}}}', @map(type='text')) {S}",
        f"@sink(type='inmemory', topic='{{{{a}}}}', @map(type='passThrough')) {S}",
        f"@store(type='rdbms', 'field.length=a:100, b:45') {T}",
    ],
)
def test_what_there_is_is_accepted(text: str) -> None:
    """Types in any case; options that only tuned another product's pools mean nothing."""
    check(text)


CALL = "@sink(type='http-call', sink.id='c', publisher.url='http://x'"
ANSWER = "@source(type='http-call-response', sink.id='c'"
SERVICE = "@source(type='http-service', source.id='s'"
SAID = "@sink(type='http-service-response', source.id='s', message.id='{{b}}'"
R = "define stream R (a int, b string);"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"{CALL}) {S}", ("sink.id='c'", "no source takes its answers", "http-call-response")),
        (f"{CALL}) {S} @source(type='http-response', sink.id='d') {R}", ("no source takes",)),
        (f"{ANSWER}) {S}", ("no sink calls", "@sink(type='http-call'")),
        (f"{SERVICE}) {S}", ("no sink answers", "http-service-response")),
        (f"{SAID}) {S}", ("no source takes requests", "http-service")),
        (f"{CALL}, downloading.enabled='true') {S} {ANSWER}) {R}", ("no file is written",)),
        (f"{CALL}, download.path='x') {S} {ANSWER}) {R}", ("no file is written",)),
        (f"{CALL}) {S} {ANSWER}, http.status.code='(2') {R}", ("'(2'", "2\\d+")),
        (f"{CALL}, oauth.username='u') {S} {ANSWER}) {R}", ("'token.url' is missing",)),
        (f"{SERVICE}, connection.timeout='0') {S} {SAID}) {R}", ("whole number from 1",)),
        (
            f"{SERVICE}) {S} {SAID}, @distribution(strategy='broadcast', "
            f"@destination(headers='a:b'))) {R}",
            ("no @distribution", "whoever asked"),
        ),
    ],
)
def test_halves_of_calls_and_services(text: str, parts: tuple[str, ...]) -> None:
    """Each needs the other, in the same app."""
    with pytest.raises(SiddhiQLError) as caught:
        check_connectors(check(text))
    says(caught.value, *parts)


@pytest.mark.parametrize("table", ["levels", "audit", "lockstep_x"])
@pytest.mark.parametrize(
    "kind", ["@store(type='rdbms') define table", "@sink(type='rdbms') define stream"]
)
def test_a_table_of_the_suite_by_what_is_defined(kind: str, table: str) -> None:
    """Without a `table.name` the definition's name is the table's."""
    with pytest.raises(SiddhiQLError) as caught:
        check_connectors(check(f"{kind} {table} (a int);"))
    says(caught.value, f"the table '{table}' is not for apps", "another 'table.name'")
    own = kind.replace("'rdbms'", "'rdbms', table.name='mine'")
    check_connectors(check(f"{own} {table} (a int);"))
    for elsewhere in ("datasource='shop'", "jdbc.url='${secret:url}'"):
        other = kind.replace("'rdbms'", f"'rdbms', {elsewhere}")
        check_connectors(check(f"{other} {table} (a int);"))


@pytest.mark.parametrize("call", ["http-call", "HTTP-Request"])
@pytest.mark.parametrize("answer", ["http-call-response", "http-response"])
def test_calls_under_either_name(call: str, answer: str) -> None:
    """The older products had two names for each half."""
    check_connectors(
        check(
            f"@sink(type='{call}', publisher.url='http://x', blocking.io='true', @distribution("
            f"strategy='roundRobin', @destination(sink.id='c'), @destination(sink.id='c'))) {S}"
            f" @source(type='{answer}', sink.id='c', http.status.code='2\\\\d+') {R}"
        )
    )


@pytest.mark.parametrize("source", ["http-service", "http-request"])
@pytest.mark.parametrize("sink", ["http-service-response", "http-response"])
def test_services_under_either_name(source: str, sink: str) -> None:
    """Likewise."""
    check_connectors(
        check(
            f"@source(type='{source}', source.id='s', receiver.url='http://x:1/p') {S}"
            f" @sink(type='{sink}', source.id='s', message.id='{{{{b}}}}') {R}"
        )
    )


def test_nothing_is_both_there_and_retired() -> None:
    """A type or an option that came back must leave the list of what to use instead."""
    catalogue = default_catalogue()
    for kind, names in RETIRED.items():
        there = {name.lower() for name in catalogue.names(kind)}
        assert not there & {name.lower() for name in names}, kind
    for kind in (ExtensionKind.SOURCE, ExtensionKind.SINK, ExtensionKind.STORE):
        for each in catalogue.of(kind):
            known = {parameter.name.lower() for parameter in each.overloads[0].parameters}
            assert not known & set(declared_connector(each).retired), each.name


def test_each_mapper_reads_and_writes() -> None:
    """What a mapper declares is there."""
    catalogue = default_catalogue()
    for kind, does in (
        (ExtensionKind.SOURCE_MAPPER, "read"),
        (ExtensionKind.SINK_MAPPER, "write"),
    ):
        declared = catalogue.of(kind)
        assert len(declared) >= 7
        for mapper in declared:
            assert isinstance(mapper, MapperExtension)
            assert callable(getattr(resolve_name(mapper.mapper), does))
