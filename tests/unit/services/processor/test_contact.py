"""When a processor takes itself for cut off."""

from __future__ import annotations

from lockstep.clock import VirtualClock
from lockstep.telemetry import get_logger
from lockstep_services.processor.contact import Contact


async def test_a_processor_that_reaches_nobody_for_its_limit() -> None:
    """Its units stop once, and begin once when somebody is reached again."""
    clock, reached, told = VirtualClock(), [True], list[str]()

    async def reaches() -> bool:
        return reached[0]

    async def lost() -> None:
        told.append("lost")

    async def back() -> None:
        told.append("back")

    contact = Contact(reaches, clock, get_logger(), limit_ms=1_000, on_lost=lost, on_back=back)
    await contact.look()
    reached[0] = False
    await clock.advance_ms(1_000)
    await contact.look()
    assert (told, contact.is_lost) == ([], False)
    await clock.advance_ms(1)
    await contact.look()
    await contact.look()
    assert (told, contact.is_lost) == (["lost"], True)
    reached[0] = True
    await contact.look()
    await contact.look()
    assert (told, contact.is_lost) == (["lost", "back"], False)
