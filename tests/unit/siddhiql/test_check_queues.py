"""Options of redis-stream, sqs, googlepubsub and the source s3: what is refused."""

from __future__ import annotations

import pytest

from lockstep.siddhiql import check
from tests.unit.siddhiql.refusals import error_of_app, says

S = "define stream S (a int, b string);"
REDIS = "@source(type='redis-stream', stream.name='x', url='redis://h'"
QUEUE = "queue='https://sqs.eu-west-1.amazonaws.com/1/q'"
FIFO = "queue='https://sqs.eu-west-1.amazonaws.com/1/q.fifo'"
TOPIC = "project.id='p', topic.id='topic'"
READ = "@source(type='s3', bucket.name='x', prefix='in/'"
REDIS_SINK = "@sink(type='redis-stream', stream.name='x', url='redis://h'"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"@source(type='redis-stream', stream.name='x') {S}", ("needs 'url'",)),
        (f"@source(type='redis-stream', url='redis://h') {S}", ("needs 'stream.name'",)),
        (f"@source(type='redis-stream', url='h:1', stream.name='x') {S}", ("no address", "redis")),
        (
            f"@sink(type='redis-stream', url='redis://h:port', stream.name='x') {S}",
            ("no address", "rediss://"),
        ),
        (f"{REDIS}, tls.ca.file='/x') {S}", ("has to do with TLS", "rediss://")),
        (f"{REDIS}, username='u') {S}", ("without 'password'",)),
        (f"{REDIS}, group.name=' ') {S}", ("'group.name' is empty",)),
        (f"{REDIS}, start.from='now') {S}", ("'now'", "beginning, end")),
        (f"{REDIS}, delete.after.process='maybe') {S}", ("'maybe'",)),
        (f"{REDIS_SINK}, payload.field='*') {S}", ("one field",)),
        (f"{REDIS_SINK}, payload.field='x', identity.field='x') {S}", ("both 'x'",)),
        (f"{REDIS_SINK}, identity.field='') {S}", ("'identity.field' is empty",)),
        (f"{REDIS_SINK}, max.length='0') {S}", ("from 1 on",)),
        (f"{REDIS_SINK}, max.length.exact='true') {S}", ("without 'max.length'",)),
        (f"{REDIS_SINK}, max.length='{{{{a}}}}') {S}", ("the same for all events",)),
        (f"@source(type='googlepubsub', {TOPIC}) {S}", ("needs 'subscription.id'",)),
        (
            f"@sink(type='googlepubsub', {TOPIC}, credential.path='/x', credential.json='y') {S}",
            ("keep one", "secret"),
        ),
        (f"@sink(type='googlepubsub', {TOPIC}, endpoint='host') {S}", ("'endpoint'", "https://")),
        (f"@sink(type='googlepubsub', project.id='p', topic.id='9') {S}", ("a letter first",)),
        (
            f"@source(type='googlepubsub', {TOPIC}, subscription.id='sub', ack.deadline='5') {S}",
            ("'ack.deadline' is 5", "10 to 600"),
        ),
        (f"@source(type='s3') {S}", ("needs 'bucket.name'",)),
        (f"{READ}, aws.access.key='k') {S}", ("'aws.secret.key' is missing",)),
        (f"{READ}, endpoint='host') {S}", ("'endpoint'", "https://")),
        (f"{READ}, action.after.process='move') {S}", ("goes with", "give both")),
        (f"{READ}, move.after.process='done') {S}", ("goes with", "removed")),
        (
            f"{READ}, action.after.process='move', move.after.process='in/done') {S}",
            ("find them again", "beside 'prefix'"),
        ),
        (f"{READ}, object.name.pattern='(') {S}", ("no regular expression",)),
        (f"{READ}, action.after.process='keep') {S}", ("'keep'", "delete, move")),
        (f"@source(type='sqs') {S}", ("needs 'queue'",)),
        (f"@source(type='sqs', queue='orders') {S}", ("'orders'", "sqs.us-east-1")),
        (f"@sink(type='sqs', queue='https://sqs.x') {S}", ("address of a queue",)),
        (f"@sink(type='sqs', {QUEUE}, secret.key='k') {S}", ("'access.key'", "both, or none")),
        (f"@source(type='sqs', {QUEUE}, visibility.timeout='2') {S}", ("3 to 43200",)),
        (f"@source(type='sqs', {QUEUE}, delete.messages='false') {S}", ("there is true",)),
        (f"@source(type='sqs', {QUEUE}, role.arn='x') {S}", ("no 'role.arn' here", "profile")),
        (f"@sink(type='sqs', {QUEUE}, deduplication.id='x') {S}", ("'.fifo'", "leave it out")),
        (f"@sink(type='sqs', {FIFO}, delay.interval='5') {S}", ("one delay",)),
        (f"@sink(type='sqs', {QUEUE}, delay.interval='901') {S}", ("0 to 900 seconds",)),
    ],
)
def test_what_cannot_be(text: str, parts: tuple[str, ...]) -> None:
    """Each with a place and what to write instead."""
    says(error_of_app(text), *parts)


def test_a_refusal_tells_no_password() -> None:
    """An address may hold one."""
    error = error_of_app(f"@sink(type='redis-stream', stream.name='x', url='//u:word@h') {S}")
    assert "word" not in str(error)


@pytest.mark.parametrize(
    "text",
    [
        f"{REDIS}, payload.field='*', identity.field='k', password='p', start.from='END') {S}",
        f"@source(type='redis-stream', url='${{secret:redis}}', stream.name='x') {S}",
        f"@source(type='googlepubsub', {TOPIC}, subscription.id='sub', ack.deadline='600') {S}",
        f"@sink(type='googlepubsub', {TOPIC}, ordering.key='{{{{b}}}}', attributes='A:x') {S}",
        f"{READ}, action.after.process='move', move.after.process='done', mode='binary.full') {S}",
        f"@source(type='sqs', {QUEUE}, wait.time='2', max.number.of.messages='10') {S}",
        f"@sink(type='sqs', {FIFO}, message.group.id='{{{{b}}}}', deduplication.id='x') {S}",
        f"@sink(type='sqs', {QUEUE}, delay.interval='900', access.key='a', secret.key='b') {S}",
        f"{REDIS_SINK}, max.length='10', max.length.exact='true', fields='A:{{{{b}}}}') {S}",
    ],
)
def test_what_can_be(text: str) -> None:
    """With secrets, too."""
    check(text)
