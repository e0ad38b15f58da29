"""Streams of logs whose names need signs that a stream's name may not have."""

from __future__ import annotations

import pytest

from lockstep.bus import Accepted, LogName
from lockstep.bus.nats import NatsBus
from lockstep.bus.nats.jetstream import stream_config
from lockstep.bus.subjects import earlier_stream_name, input_subject, output_subject, stream_name
from lockstep.clock import SystemRandomness
from lockstep.embedded import NatsServer
from lockstep.events import ClaimRecord, LockstepError
from tests.contract.bus.carriers import LIMITS, fresh_log, one_event
from tests.contract.patience import read_on

pytestmark = pytest.mark.servers


async def _streams(bus: NatsBus) -> set[str]:
    answer = await bus._jetstream.call("STREAM.NAMES")
    return set(answer["streams"] or ())


async def test_streams_that_were_named_otherwise_are_gone_on_with(server: NatsServer) -> None:
    """Their records are read, new ones come behind them, and they are removed with the app. Other
    logs get names without `%`, which every server lets people read."""
    bus = await NatsBus.connect(server.url, LIMITS, SystemRandomness())
    app = f"{fresh_log().app} é."
    before, after = LogName(app, "main", 0), LogName(app, "", 1)
    old = [earlier_stream_name(subject(before)) for subject in (input_subject, output_subject)]
    new = [stream_name(subject(after)) for subject in (input_subject, output_subject)]
    for name, subject in zip(old, (input_subject, output_subject), strict=True):
        config = stream_config(name, subject(before), LIMITS, max_bytes=None, forgets=False)
        await bus._jetstream.ensure_stream(config)
    for log in (before, after):
        written = await bus.input_log(log)
        await written.append(one_event(1))
        again = await bus.input_log(log, make=False)
        await again.append(one_event(2))
        entries = await read_on(again.read, 0, 2)
        assert [each.record for each in entries] == [one_event(1), one_event(2)]
        claimed = await bus.output_log(log)
        assert await claimed.append(ClaimRecord(1, "a", 5), expected_sequence=0) == Accepted(1)
    assert list(await bus.logs(app)) == [after, before]
    assert await _streams(bus) >= {*old, *new}
    assert not any("%" in name for name in new)
    for log in (before, after):
        await bus.remove_logs(log)
    assert not await _streams(bus) & {*old, *new}
    await bus.close()


@pytest.mark.parametrize("subject", ["x." + "a" * 5_000, "x a", "x\r\nHELP"])
async def test_a_subject_that_the_server_cannot_read_costs_nobody_the_connection(
    server: NatsServer, subject: str
) -> None:
    """It is refused for good, in whatever way it is used, and all others go on."""
    bus = await NatsBus.connect(server.url, LIMITS, SystemRandomness())
    heard = await bus.topics.subscribe("y")
    generation = bus._jetstream.connection.generation
    for use in (
        bus.topics.publish(subject, b""),
        bus.topics.publish_kept(subject, b""),
        bus.topics.request(subject, b"", timeout_ms=1_000),
        bus.topics.subscribe(subject),
        bus.mailbox(subject, "name"),
    ):
        with pytest.raises(LockstepError) as caught:
            await use
        assert not caught.value.retryable
    await bus.topics.publish("y", b"here")
    assert (await anext(aiter(heard)))[1] == b"here"
    assert bus._jetstream.connection.generation == generation
    await bus.close()
