"""Write: what one can begin with."""

from __future__ import annotations

from lockstep.siddhiql import check
from lockstep_services.console.pages.templates import NEW
from lockstep_services.console.pages.write import BEGUN_APP, begun_with


def test_a_template_becomes_an_app_that_can_be_changed() -> None:
    """With the defaults in place of the parameters; what is no template is left as it is."""
    text = begun_with(NEW)
    assert check(text).name == BEGUN_APP
    assert "'kitchen'" in text
    assert begun_with("define stream S (a ${kind});") == "define stream S (a ${kind});"
