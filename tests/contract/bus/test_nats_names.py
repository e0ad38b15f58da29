"""Streams of logs whose names need signs that a stream's name may not have."""

from __future__ import annotations

import pytest

from lockstep.bus import Accepted, LogName
from lockstep.bus.nats import NatsBus
from lockstep.bus.nats.jetstream import stream_config
from lockstep.bus.subjects import earlier_stream_name, input_subject, output_subject, stream_name
from lockstep.clock import SystemRandomness
from lockstep.embedded import NatsServer
from lockstep.events import ClaimRecord
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
