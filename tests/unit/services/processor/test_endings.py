"""Which ends of a fleet's layouts make room."""

from __future__ import annotations

from lockstep.control.endings import Ending, ending_id
from lockstep.events import Life
from lockstep.store import Deployment, Origin, Restoration, Revision
from lockstep_services.processor.revise.forgetting import over

KEEP = 2
ENDINGS = [
    Ending(at, (("main", Revision(f"r{at}", "A", f"main~{at}!end", 0, "v", at, at, 1, True, 1)),))
    for at in (7, 6, 5, 4, 3, 2)
]


def deployed(layout: int, restoration: Restoration | None = None) -> Deployment:
    """A fleet in its layout."""
    life, origin = Life(1, layout), Origin(0, 1, restoration)
    return Deployment("A", "", "v", life, 1, 1, origin=origin, layout=layout)


def test_the_oldest_make_room() -> None:
    """So many stay, and one more; the present layout may be ending, so that does not count."""
    assert [one.layout for one in over(ENDINGS, deployed(8), KEEP)] == [4, 3, 2]
    assert [one.layout for one in over(ENDINGS, deployed(7), KEEP)] == [3, 2]


def test_what_the_app_goes_back_to_stays() -> None:
    """The oldest that was listed is one too many as soon as the layout before has ended: while some
    units of the present one have not begun with it, it is still needed."""
    back = Restoration(ending_id(4), Life(1, 8))
    assert [one.layout for one in over(ENDINGS, deployed(8, back), KEEP)] == [3, 2]
    assert [one.layout for one in over(ENDINGS, deployed(9, back), KEEP)] == [4, 3, 2]
