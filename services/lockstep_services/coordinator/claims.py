"""What deployed apps have for themselves alone, and which app may not be deployed beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

from lockstep.control import address_of, claims_of, may_claim
from lockstep.frame import Problem
from lockstep.plan import AppPlan, Plans
from lockstep.siddhiql import SiddhiQLError, check_deployed
from lockstep.store import Deployment

NAME: Final = "name for the app or the stream"
"""By what an app has an address at the door, as errors name it."""


class Claims:
    """Of deployed apps. A text is read once, as long as it is deployed: `Plans` forget those of
    many apps."""

    def __init__(self, plans: Plans) -> None:
        self._plans = plans
        self._known: Mapping[str, Mapping[str, str]] = {}
        """By version."""

    def refuse(self, plan: AppPlan, there: Sequence[Deployment]) -> None:
        """Problem where the app newly wants what another deployed one has; which one is said to
        nobody. Blocking while texts are read."""
        claims, addresses = claims_of(plan.checked), _addresses(plan)
        wanted = {**addresses, **claims}
        taken = wanted.keys() & self._claimed(plan.name, there, are_all_read=bool(claims))
        for other in there:
            if other.app != plan.name and any(f"/{other.app}/" in claim for claim in claims):
                taken |= claims.keys() & self._has(other)[0].keys()
        before = next((one for one in there if one.app == plan.name), None)
        if taken and before is not None:
            had = self._has(before)
            taken -= had[0].keys() | had[1].keys()
        if taken:
            claim = min(taken)
            raise Problem(
                HTTPStatus.CONFLICT, f"{claim} belongs to another app",
                hint=f"choose another {wanted[claim]}, or undeploy the app that has it",
            )  # fmt: skip

    def _claimed(self, app: str, there: Sequence[Deployment], *, are_all_read: bool) -> set[str]:
        """What the others claim. Where an app claims nothing but its addresses, only those texts
        are read that name something below it."""
        known, found, claimed = self._known, dict[str, Mapping[str, str]](), set[str]()
        for one in there:
            if one.version in known:
                found[one.version] = known[one.version]
            elif one.app != app and (are_all_read or f"{app}/" in one.text):
                found[one.version] = _claims_in(one.text)
            if one.app != app:
                claimed |= found.get(one.version, {}).keys()
        self._known = found
        return claimed

    def _has(self, one: Deployment) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Addresses and claims of a deployed app; none of a text that is not valid here."""
        try:
            plan = self._plans.of(one.text)
        except SiddhiQLError:
            return {}, {}
        return _addresses(plan), claims_of(plan.checked)


def _claims_in(text: str) -> Mapping[str, str]:
    """Of an app that is deployed; none of a text that is not valid here."""
    if not may_claim(text):
        return {}
    try:
        return claims_of(check_deployed(text))
    except SiddhiQLError:
        return {}


def _addresses(plan: AppPlan) -> Mapping[str, str]:
    """Where the door takes events for the app, whatever its sources say."""
    return {address_of(plan.name, stream): NAME for stream in plan.doors}
