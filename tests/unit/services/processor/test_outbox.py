"""The outbox: what is held back, what may go out, what is known to be published."""

from lockstep.events import Event, OutputId, OutputRow
from lockstep.execute.contract import EventFault
from lockstep_services.processor.state.outbox import Outbox


def row(position: int, ordinal: int = 0) -> OutputRow:
    """A row."""
    return OutputRow(OutputId(position, ordinal), "Out", 0, (position,))


def fault(position: int) -> EventFault:
    """A dead letter to be."""
    return EventFault(position, "In", (Event(0, (1,)),), "q", "why")


def held(
    *rows: OutputRow, position: int | None = None, faults: tuple[EventFault, ...] = ()
) -> Outbox:
    """An outbox with one slice."""
    outbox = Outbox()
    outbox.add(position or rows[-1].id.position, rows, faults)
    return outbox


def test_rows_come_out_in_order_and_bounded() -> None:
    """Across slices, at most as many as asked for."""
    outbox = held(row(1), row(1, 1))
    outbox.add(2, (row(2),))
    assert [r.id for r in outbox.next_rows(2)] == [OutputId(1, 0), OutputId(1, 1)]
    assert len(outbox) == 3


def test_published_rows_go_and_settle_their_position() -> None:
    """Half a slice does not settle it; the whole does."""
    outbox = held(row(1), row(1, 1))
    outbox.published(OutputId(1, 0))
    assert (len(outbox), outbox.settled) == (1, 0)
    outbox.published(OutputId(1, 1))
    assert (len(outbox), outbox.settled, outbox.is_empty) == (0, 1, True)


def test_rows_known_to_be_published_are_not_held_when_they_come() -> None:
    """A replica that is behind the output log drops what the log has."""
    outbox = Outbox()
    outbox.published(OutputId(5, 0))
    outbox.add(5, (row(4), row(5), row(5, 1)))
    assert [r.id for r in outbox.rows()] == [OutputId(5, 1)]


def test_what_will_be_settled_with_the_next_rows() -> None:
    """Slices whose rows are all among them, and those without rows behind those; a dead letter, or
    a row that is left, ends it."""
    outbox = Outbox()
    outbox.add(3, (row(2), row(3)))
    outbox.add(4, ())
    outbox.add(6, (row(5), row(6)))
    outbox.add(8, (row(8),), (fault(7),))
    for last, settled in ((row(2), 0), (row(3), 4), (row(5), 4), (row(6), 6), (row(8), 6)):
        assert outbox.settled_with(last.id) == settled
    outbox.published(OutputId(5, 0))
    assert outbox.settled_with(OutputId(6, 0)) == 6
    outbox.published(OutputId(6, 0))
    assert outbox.settled == 6


def test_an_empty_slice_settles_at_once_unless_others_wait() -> None:
    """Nothing to publish means nothing to wait for, in order."""
    outbox = Outbox()
    outbox.add(1, ())
    assert outbox.settled == 1
    outbox.add(2, (row(2),))
    outbox.add(3, ())
    assert outbox.settled == 1
    outbox.published(OutputId(2, 0))
    assert outbox.settled == 3


def test_dead_letters_go_before_the_rows_of_their_slice_and_later_ones() -> None:
    """No row passes a dead letter that is not durable."""
    outbox = held(row(1))
    outbox.add(3, (row(2), row(3)), (fault(2),))
    assert [r.id.position for r in outbox.next_rows(10)] == [1]
    assert outbox.next_faults() == ()
    outbox.published(OutputId(1, 0))
    faults = outbox.next_faults()
    assert [f.position for f in faults] == [2]
    assert outbox.next_rows(10) == []
    outbox.faults_done(faults)
    assert [r.id.position for r in outbox.next_rows(10)] == [2, 3]


def test_a_published_row_proves_the_dead_letters_up_to_its_position() -> None:
    """A standby forgets faults that the leader must have written."""
    outbox = held(row(3), position=4, faults=(fault(2), fault(4)))
    outbox.published(OutputId(3, 0))
    assert [f.position for f in outbox.faults()] == [4]


def test_the_leaders_word_settles_slices_without_rows() -> None:
    """Dead letters of a quiet app go by the settled position that leaders tell."""
    outbox = Outbox()
    outbox.add(7, (), (fault(7),))
    outbox.published(None, settled=6)
    assert not outbox.is_empty
    outbox.published(None, settled=7)
    assert outbox.is_empty
