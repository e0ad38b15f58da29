"""What the player of older apps decides before and after anything runs."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from lockstep.mapping import annotated
from lockstep.siddhiql import check
from tests.older_apps.playing.choosing import choose
from tests.older_apps.playing.inventing import Inventor
from tests.older_apps.playing.judging import message_difference
from tests.older_apps.playing.payloads import NoMessageError, payload_of
from tests.older_apps.playing.repointing import Account, GoogleStore, Places, Repointer
from tests.older_apps.playing.statements import prerequisites

PLACES = Places(
    folder=Path("/tmp/played"), http=1001, https=1002, tcp=1003, websocket=1004, hl7=1005,
    smtp=Account("localhost", 1006, "sender", "pass"), kafka="localhost:1007",
    mysql=Account("localhost", 1008, "lockstep", "secret"), nats="nats://localhost:1009",
    grpc=1010, redis=Account("localhost", 1011, "", "word"),
    google=GoogleStore("http://localhost:1012", "lake", "/tmp/played/google.json"),
)  # fmt: skip
APP = """@App:name('Sweets') -- what stands here, stays: localhost:9092
@source(type = 'kafka', topic.list="sweets", group.id='g', bootstrap.servers = 'localhost:9092',
    partition.no.list='0', threading.option='single.thread', @map(type='json'))
define stream In (name string, amount double);
@sink(type='http', publisher.url="https://shop.example:8005/abc?x=1", method='xxxx',
    @map(type='json'))
define stream Out (name string, amount double);
@sink(type='file', file.uri='{WSO2SPHome}/out/{{name}}.txt', @map(type='json'))
define stream Filed (name string, amount double);
@Store(type="rdbms", jdbc.url="jdbc:mysql://db.example:3306/shop?useSSL=false", username="root",
    password="root", jdbc.driver.name="com.mysql.jdbc.Driver")
define table T (name string, amount double);
from In[amount > 40 and name == 'toffee'] select * insert into Out;
from In select * insert into Filed;
from In select * insert into T;
"""


def test_addresses_credentials_and_paths_change_and_nothing_else() -> None:
    """Put back, the values give the text that was read."""
    found = Repointer(check(APP), PLACES, 7, itertools.count(2000)).done()
    assert {change.key: change.after for change in found.changes} == {
        "topic.list": "a7-sweets",
        "group.id": "a7-g",
        "bootstrap.servers": "localhost:1007",
        "publisher.url": "https://localhost:1002/a7/abc?x=1",
        "method": "POST",
        "file.uri": "/tmp/played/a7/out/{{name}}.txt",
        "jdbc.url": "jdbc:mysql://localhost:1008/a7",
        "username": "lockstep",
        "password": "secret",
    }
    back, there = found.text, APP
    for change in found.changes:
        assert change.before is not None
        back = back.replace(f"'{change.after}'", "?", 1)
        for quote in "'\"":
            there = there.replace(f"{quote}{change.before}{quote}", "?", 1)
    assert back.replace('"root"', "?") == there.replace('"root"', "?")
    check(found.text)


def test_what_is_not_here_is_told() -> None:
    """An app that needs it is not played."""
    text = "@source(type='mqtt', url='tcp://x:1883', topic='t', @map(type='json'))"
    app = check(f"{text} define stream S (a int); from S select a insert into O;")
    assert Repointer(app, PLACES, 1, itertools.count()).done().lacking == ["an MQTT broker"]


CALLED = """/* CREATE TABLE Customers (name VARCHAR(20),amount int));
INSERT INTO Customers VALUES ('David',5000); */
@sink(type='nats', destination='out', bootstrap.servers='nats://x:4222', @map(type='json'))
define stream Told (name string);
@sink(type='grpc-call', publisher.url='grpc://x:8/org.wso2.grpc.EventService/process/seq',
    sink.id='1', @map(type='json'))
define stream Asked (name string);
@source(type='grpc-call-response', sink.id='1', @map(type='json'))
define stream Answered (name string);
@sink(type='snmp', host='x', version='v1', @map(type='keyvalue', @payload('1.3.6.1'='name')))
define stream Set (name string);
@sink(type='google-cloud-storage', credential.path='<path>', bucket.name='<name>',
    object.name='o-{{name}}', @map(type='json'))
define stream Stored (name string);
@store(type='redis', host='x', port='6379', table.name='Kept') @PrimaryKey('name')
define table T (name string);
define stream In (name string);
from In insert into T;
from In#rdbms:query('Customers', 'amount int', 'select amount from Customers where name=?', name)
select name, amount insert into Rich;
"""


def test_servers_that_an_app_calls_are_those_that_are_here() -> None:
    """Each with the app's mark, wherever the protocol has a place for it."""
    found = Repointer(check(CALLED), PLACES, 7, itertools.count(2000)).done()
    assert not found.lacking
    assert {change.key: change.after for change in found.changes} == {
        "destination": "a7-out",
        "bootstrap.servers": "nats://localhost:1009",
        "publisher.url": "grpc://localhost:1010/org.wso2.grpc.EventService/process/a7-seq",
        "host": "localhost",
        "agent.port": "2000",
        "endpoint": "http://localhost:1012",
        "credential.path": "/tmp/played/google.json",
        "bucket.name": "lake",
        "object.name": "a7/o-{{name}}",
        "port": "1011",
        "password": "word",
        "table.name": "a7-Kept",
        "datasource": "a7",
    }
    check(found.text)


def test_what_a_sample_wants_before_it_is_run_is_done() -> None:
    """Its tables, and rows of its own name and of those that are drawn."""
    assert list(prerequisites(CALLED)) == [
        "CREATE TABLE Customers (name VARCHAR(20),amount int)",
        "INSERT INTO Customers VALUES ('David',5000)",
        "INSERT INTO Customers VALUES ('alpha',5000)",
        "INSERT INTO Customers VALUES ('beta',5000)",
    ]


FORMS = (
    "@map(type='json')",
    "@map(type='json', @attributes(name='$.item.id', amount='$.item.amount'))",
    "@map(type='xml')",
    "@map(type='xml', @attributes(name='item/id', amount='item/amount'))",
    "@map(type='xml', namespaces='n=urn:x', @attributes(name='n:a/n:b', amount='n:c'))",
    "@map(type='csv', delimiter='|', @attributes(amount='0', name='2'))",
    "@map(type='text')",
    r"@map(type='text', regex.A='(id):(.*)', regex.B='(amount):([-.0-9]+)', "
    "@attributes(name='A[2]', amount='B[2]'))",
    r"@map(type='text', regex.A='name:(\w+),amount:(\d+\.\d+)', "
    "@attributes(name='A[1]', amount='A[2]'))",
    "@map(type='keyvalue')",
    "@map(type='binary')",
)


@pytest.mark.parametrize("form", FORMS)
def test_a_message_brings_its_row(form: str) -> None:
    """`payload_of` gives nothing that the source's mapper does not read back."""
    app = check(f"@source(type='http', {form}) define stream S (name string, amount double);")
    ((schema, _, source),) = annotated(app, "source")
    assert payload_of(schema, source, ("toffee", 2.5))


def test_a_form_that_nobody_here_can_write_is_told() -> None:
    """It is no message that brings another row."""
    form = "@map(type='text', regex.A='(never this)', @attributes(name='A', amount='A'))"
    app = check(f"@source(type='http', {form}) define stream S (name string, amount double);")
    ((schema, _, source),) = annotated(app, "source")
    with pytest.raises(NoMessageError):
        payload_of(schema, source, ("toffee", 2.5))


def test_events_are_chosen_that_bring_rows_to_every_sink() -> None:
    """A filter by two constants, a pattern that rises, a table that an operator fills."""
    text = """define stream In (name string, amount double);
    define table Known (name string, limit double);
    @sink(type='log') define stream Filtered (name string);
    @sink(type='log') define stream Rising (name string);
    @sink(type='log') define stream Over (name string);
    from In[name == 'toffee' and amount > 4711.0] select name insert into Filtered;
    from every e1=In -> e2=In[name == e1.name and amount > e1.amount + 5] select e1.name
    insert into Rising;
    from In join Known on In.name == Known.name select In.name insert into Over;"""
    app = check(text)
    chosen = choose(text, app)
    assert chosen.missed == frozenset()
    assert any(step.write for step in chosen.steps)
    one, other = (Inventor(app, 3).row(app.streams["In"]) for _ in range(2))
    assert one == other, "the same seed draws the same"


def test_a_time_that_is_not_waited_is_told() -> None:
    """A row would come, but an hour later."""
    text = """define stream In (a int); @sink(type='log') define stream Out (n long);
    from In#window.timeBatch(40 min) select count() as n insert into Out;"""
    chosen = choose(text, check(text))
    assert (chosen.reached, chosen.needs_ms) == (frozenset(), 3_600_000)


def test_messages_are_compared_by_how_often_they_came() -> None:
    """Neither fewer nor more; line ends of mails are none of the sender's."""
    assert message_difference([b"a", b"b\n"], [b"b\r\n", b"a"]) is None
    assert message_difference([b"a", b"a"], [b"a"]) == "1 missing [b'a']"
    assert message_difference([b"a"], [b"a", b"c"]) == "1 unexpected [b'c']"
