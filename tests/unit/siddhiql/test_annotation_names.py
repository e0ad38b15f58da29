"""Annotations that are nearly right are refused; names of others stay without effect."""

from __future__ import annotations

import pytest

from lockstep.siddhiql import check
from tests.unit.siddhiql.refusals import error_of_app, says

S = "define stream S (k string, v int, ts long);"
T = "define table T (k string, v int);"
QUERY = "from S select k insert into O;"
PART = f"partition with (k of S) begin {QUERY} end;"
FOLD = "define aggregation A from S select k, sum(v) as n group by k aggregate by ts every sec;"
TO = "type='http', publisher.url='http://h:1/x'"
TWO = "@destination(publisher.url='http://h:1/x')"
FROM = "type='inMemory', topic='t'"
STORE = "type='rdbms', jdbc.url='jdbc:mysql://h/db', username='a', password='b'"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (f"@app:playbak {S}", "'@app:playback'"),
        (f"@App:nam('x') {S}", "'@app:name'"),
        (f"@sinks(type='log') {S}", "'@sink'"),
        (f"@sourc({FROM}) {S}", "'@source'"),
        (f"@OnEror(action='STREAM') {S}", "'@OnError'"),
        (f"@OnError(actin='STREAM') {S}", "'action'"),
        (f"@PrimaryKeys('k') {T}", "'@PrimaryKey'"),
        (f"@primary_key('k') {T}", "'@PrimaryKey'"),
        (f"@stor({STORE}) {T}", "'@store'"),
        (f"{S} @info(nam='q') {QUERY}", "'name'"),
        (f"{S} @inf(name='q') {QUERY}", "'@info'"),
        (f"{S} partition with (k of S) begin @info(nam='q') {QUERY} end;", "'name'"),
        (f"{S} @purg(enable='true', idle.period='1 sec') {PART}", "'@purge'"),
        (f"{S} @purge(enable='true', intervall='1 sec', idle.period='1 sec') {PART}", "'interval'"),
        (f"{S} @purge(enabled='false') {FOLD}", "'enable'"),
    ],
)
def test_a_near_miss_is_refused(text: str, meant: str) -> None:
    """It would mean nothing, and the app would answer differently without a word."""
    says(error_of_app(text), "did you mean", meant)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"@source({FROM}, @mapp(type='xml')) {S}", ("takes no @mapp", "'map'")),
        (f"@source({FROM}, @foo(a='b')) {S}", ("@source takes no @foo", "there is map, dist")),
        (f"@source({FROM}, @map(type='json', @attribute('k'))) {S}", ("'attributes'",)),
        (
            f"@source({FROM}, @map(type='json', @payload('k'))) {S}",
            ("@map takes no @payload", "a source has"),
        ),
        (f"@sink({TO}, @map(type='json', @playload('{{{{k}}}}'))) {S}", ("'payload'",)),
        (
            f"@sink({TO}, @map(type='json'), @payload('x')) {S}",
            ("@sink takes no @payload", "a sink @map(…, @payload(…))"),
        ),
        (
            f"@sink(type='http', @distribution(strategy='roundRobin', {TWO},"
            f" @destinations(publisher.url='http://h:2/x'))) {S}",
            ("takes no @destinations", "'destination'"),
        ),
        (f"@store({STORE}, @cahce(size='10')) {T}", ("@store takes no @cahce", "'cache'")),
        (
            f"{S} @purge(enable='true', @retentionPeriods(sec='1 hour')) {FOLD}",
            ("'retentionPeriod'",),
        ),
    ],
)
def test_only_known_annotations_stand_in_others(text: str, parts: tuple[str, ...]) -> None:
    """Inside sources, sinks, maps, stores, distributions and purges the set is closed."""
    says(error_of_app(text), *parts)


def test_the_place_is_that_of_the_annotation() -> None:
    """Line and column of the inner one."""
    error = error_of_app(f"define stream R (v int);\n@source({FROM}, @mapp(type='xml')) {S}")
    assert (error.line, error.column) == (2, len(f"@source({FROM}, ") + 1)


@pytest.mark.parametrize("behind", [QUERY, PART])
@pytest.mark.parametrize("front", ["@sink(type='log')", f"@source({FROM})"])
def test_sources_and_sinks_stand_in_front_of_streams(front: str, behind: str) -> None:
    """In front of a query they would carry nothing."""
    says(error_of_app(f"{S} {front} {behind}"), "in front of no stream", "define stream")
    says(error_of_app(f"{front} {T}"), "in front of no stream")


@pytest.mark.parametrize(
    "text",
    [
        f"@app:whatever('x') @app:description('d') @App:Version('1') {S}",
        f"@foo('x') @Description('d') @config(async='true') @info(name='s') {S}",
        f"@Async(buffer.size='64', batch.size.max='8', worker='2') {S}",
        f"@asinc(buffer.size='64') {S}",
        f"@note(author='me', names='b') {T}",
        f"@primarykey('k') @INDEX('v') {T}",
        f"{S} @synchronized('true') @hello @info('q') {QUERY}",
        f"{S} @Dist(parallel='2', execGroup='g') {QUERY}",
        f"{S} @Info(name='p', description='d') {PART}",
        f"@app:statistics(reporter='jdbc', interval='5', include='*.*') {S}",
        f"@Source({FROM}, @Map(type='json', @Attributes(k='k', v='v', ts='ts'))) {S}",
        f"@sink(type='log', @MAP(type='text', @Payload('{{{{k}}}}'))) {S}",
        f"{S} @purge(enable='true', interval='1 min', @RetentionPeriod(sec='1 hour')) {FOLD}",
    ],
)
def test_foreign_ones_stay_without_effect(text: str) -> None:
    """As in Siddhi; letter case does not count."""
    check(text)
