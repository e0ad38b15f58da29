"""Log-ins and sessions of a company with known attacks among them, drawn from a seed.

People have a home town, working hours, devices and typos. They use the company's VPN and now and
then one of their own, they travel by plane, buy laptops and work late. Attackers do what attackers
do, some of it so that it hardly shows: slowly, from around the corner, at noon.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Final

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
MINUTE_MS: Final = 60_000
START_MS: Final = 1_767_571_200_000
"""A Monday, at midnight in UTC."""
LEARNED_AFTER_DAYS: Final = 14
COMPANY_VPN: Final = "192.0.2.1"
APPLICATIONS: Final = ("mail", "wiki", "payroll", "code")
PLANE_KM_PER_HOUR: Final = 800
CITIES: Final = {
    "Bern": (46.95, 7.44), "Oslo": (59.91, 10.75), "Lisbon": (38.72, -9.14), "Rome": (41.90, 12.50),
    "Warsaw": (52.23, 21.01), "Dublin": (53.35, -6.26), "Boston": (42.36, -71.06),
    "Tokyo": (35.68, 139.69), "Lagos": (6.52, 3.38), "Lima": (-12.05, -77.04),
    "Perth": (-31.95, 115.86), "Zurich": (47.38, 8.54),
}  # fmt: skip
HOMES: Final = ("Bern", "Oslo", "Lisbon", "Rome", "Warsaw", "Zurich")
FAR: Final = ("Tokyo", "Lagos", "Lima", "Perth", "Boston")

Event = tuple[str, int, dict[str, object]]
"""Stream, time, values."""


@dataclass
class Person:
    """Somebody who works here."""

    name: str
    home: str
    first_hour: int
    devices: list[str]
    typos: float
    own_vpn: str | None
    late: float
    trip: tuple[int, int, str] | None
    new_device_on: int | None


@dataclass(frozen=True)
class Attack:
    """What really happened, to those whose account was tried or taken. `hidden`: how, if it was
    meant not to show."""

    kind: str
    users: tuple[str, ...]
    ip: str
    start_ms: int
    end_ms: int
    hidden: str


@dataclass
class Traffic:
    """All events in order of time, and the truth about them."""

    logins: list[Event] = field(default_factory=list)
    actions: list[Event] = field(default_factory=list)
    attacks: list[Attack] = field(default_factory=list)

    def in_order(self) -> Traffic:
        """Sorted by time; what came first in a draw stays first."""
        self.logins.sort(key=lambda event: event[1])
        self.actions.sort(key=lambda event: event[1])
        return self


class Company:
    """So many people, drawn, and what they do on so many days."""

    def __init__(self, seed: int, people: int, days: int) -> None:
        self._random = random.Random(seed)
        self._days = days
        self._traffic = Traffic()
        self._addresses = 0
        self._sessions = 0
        self.people = [self._person(number) for number in range(people)]

    def work(self) -> None:
        """Everybody, on all days."""
        for person in self.people:
            for day in range(self._days):
                self._day(person, day)

    def _person(self, number: int) -> Person:
        draw = self._random
        trip = None
        if number % 5 == 0:
            trip = (draw.randrange(3, self._days - 6), draw.randrange(2, 5), draw.choice(FAR))
        return Person(
            name=f"user{number:03}",
            home=HOMES[number % len(HOMES)],
            first_hour=draw.choice((6, 7, 7, 8, 8, 9)),
            devices=[f"laptop-{number}", f"phone-{number}"],
            typos=draw.choice((0.02, 0.05, 0.05, 0.15)),
            own_vpn=draw.choice(("Dublin", "Boston")) if number % 25 == 7 else None,
            late=draw.choice((0.0, 0.0, 0.01, 0.05)),
            trip=trip,
            new_device_on=draw.randrange(self._days) if number % 8 == 3 else None,
        )

    def _address(self) -> str:
        self._addresses += 1
        return f"198.18.{self._addresses // 250}.{self._addresses % 250 + 1}"

    def _day(self, person: Person, day: int) -> None:
        draw = self._random
        if person.new_device_on == day:
            person.devices[0] += "-new"
        at_home = not self._is_away(person, day)
        if (
            not at_home
            and person.trip is not None
            and day in (person.trip[0], sum(person.trip[:2]))
        ):
            return self._flight(person, day)
        if day % 7 >= 5 and draw.random() > 0.08:
            return None
        place = person.home if at_home or person.trip is None else person.trip[2]
        for _ in range(draw.randrange(2, 6)):
            hour = person.first_hour + min(max(draw.gauss(4.5, 2.3), 0), 9.5)
            if draw.random() < person.late:
                hour = draw.uniform(20, 24)
            at_ms = START_MS + day * DAY_MS + int(hour * HOUR_MS)
            self._enter(person, at_ms, place)
        return None

    def _is_away(self, person: Person, day: int) -> bool:
        return person.trip is not None and 0 <= day - person.trip[0] <= person.trip[1]

    def _flight(self, person: Person, day: int) -> None:
        """In at home in the morning, out of the plane as late as it lands; and the same back."""
        assert person.trip is not None
        there = day == person.trip[0]
        places = (person.home, person.trip[2]) if there else (person.trip[2], person.home)
        left_ms = START_MS + day * DAY_MS + person.first_hour * HOUR_MS
        self._enter(person, left_ms, places[0])
        # Way to the airport, the flight over 12,000 km at the most, way from it.
        landed_ms = left_ms + int((4 + 12_000 / PLANE_KM_PER_HOUR) * HOUR_MS)
        if landed_ms < START_MS + (day + 1) * DAY_MS - HOUR_MS:
            self._enter(person, landed_ms, places[1])

    def _enter(self, person: Person, at_ms: int, place: str) -> None:
        """Typos, the log-in, and what is done then."""
        draw = self._random
        device = person.devices[0] if draw.random() < 0.75 else person.devices[1]
        address = (
            f"203.0.113.{HOMES.index(place) + 1}" if place in HOMES else f"198.51.100.{len(place)}"
        )
        seen = place
        if draw.random() < 0.08:
            address, seen = COMPANY_VPN, "Dublin"
        elif person.own_vpn is not None and draw.random() < 0.1:
            address, seen = self._address(), person.own_vpn
        application = draw.choice(APPLICATIONS)
        for _ in range(sum(draw.random() < person.typos for _ in range(3))):
            self._login(person.name, at_ms, address, device, application, seen, success=False)
            at_ms += draw.randrange(4_000, 20_000)
        self._login(person.name, at_ms, address, device, application, seen, success=True)
        self._session(person.name, at_ms, address, device, application, seen)

    def _session(
        self, user: str, at_ms: int, address: str, device: str, application: str, place: str
    ) -> tuple[str, int]:
        """Some actions; a phone changes its address. Gives its name and a time within it."""
        draw = self._random
        self._sessions += 1
        name = f"s{self._sessions}"
        middle_ms = at_ms
        for number in range(draw.randrange(3, 9)):
            at_ms += int(draw.expovariate(1 / (3 * MINUTE_MS))) + 1_000
            if device.startswith("phone") and draw.random() < 0.1:
                address = self._address()
            self._action(user, name, at_ms, address, device, application, place, "read")
            if number == 1:
                middle_ms = at_ms + 500
        if draw.random() < 0.6:
            self._action(user, name, at_ms + 1_000, address, device, application, place, "logout")
        return name, middle_ms

    def _login(
        self,
        user: str,
        at_ms: int,
        ip: str,
        device: str,
        application: str,
        place: str,
        *,
        success: bool,
    ) -> None:
        latitude, longitude = CITIES[place]
        event = {
            "user": user, "ip": ip, "device": device,
            "application": application, "place": place,
            "latitude": latitude, "longitude": longitude, "success": success,
        }  # fmt: skip
        self._traffic.logins.append(("Login", at_ms, event))

    def _action(
        self, user: str, session: str, at_ms: int, ip: str, device: str, application: str,
        place: str, action: str,
    ) -> None:  # fmt: skip
        latitude, longitude = CITIES[place]
        event = {
            "user": user, "session": session, "ip": ip, "device": device,
            "application": application, "place": place,
            "latitude": latitude, "longitude": longitude, "action": action,
        }  # fmt: skip
        self._traffic.actions.append(("Activity", at_ms, event))


class Attacked(Company):
    """The same with attackers."""

    def traffic(self, each: int) -> Traffic:
        """What people do, and `each` attacks of each kind."""
        self.work()
        for number in range(each):
            self._brute_force(hard=number % 4 == 3)
            self._stuffing(hard=number % 4 == 3)
            self._from_afar(hard=number % 4 == 3)
            self._at_night(number % 4)
            self._hijack(number % 4)
        return self._traffic.in_order()

    def _when(self, hours: tuple[float, float] = (0, 24)) -> int:
        """A time when people are known."""
        day = self._random.randrange(LEARNED_AFTER_DAYS, self._days)
        return START_MS + day * DAY_MS + int(self._random.uniform(*hours) * HOUR_MS)

    def _note(
        self, kind: str, users: tuple[str, ...], ip: str, start_ms: int, end_ms: int, hidden: str
    ) -> None:
        self._traffic.attacks.append(Attack(kind, users, ip, start_ms, end_ms, hidden))

    def _brute_force(self, *, hard: bool) -> None:
        """Many passwords for one user; the hard one tries one every six minutes."""
        draw, victim, ip, place = self._random, self._victim(), self._address(), self._place()
        start_ms = at_ms = self._when()
        for _ in range(draw.randrange(8, 40)):
            self._login(victim.name, at_ms, ip, "script", "mail", place, success=False)
            at_ms += 6 * MINUTE_MS if hard else draw.randrange(500, 20_000)
        if draw.random() < 0.5:
            self._login(victim.name, at_ms, ip, "script", "mail", place, success=True)
        self._note(
            "brute force", (victim.name,), ip, start_ms, at_ms, "one try in six minutes" * hard
        )

    def _stuffing(self, *, hard: bool) -> None:
        """A stolen list, a try per user, from one address; the hard one takes a night for it."""
        draw, ip, place = self._random, self._address(), self._place()
        tried = draw.sample(self.people, min(len(self.people), draw.randrange(15, 50)))
        start_ms = at_ms = self._when()
        robbed: tuple[str, ...] = ()
        for person in tried:
            found = draw.random() < 0.04
            robbed += (person.name,) * found
            self._login(person.name, at_ms, ip, "script", "mail", place, success=found)
            at_ms += 12 * MINUTE_MS if hard else draw.randrange(500, 15_000)
        self._note(
            "credential stuffing", robbed, ip, start_ms, at_ms, "one try in twelve minutes" * hard
        )

    def _from_afar(self, *, hard: bool) -> None:
        """A stolen password, used an hour behind its owner; the hard one sits in the same town."""
        victim = self._victim()
        own = [e for e in self._traffic.logins if e[2]["user"] == victim.name and e[2]["success"]]
        own = [
            e
            for e in own
            if e[1] > START_MS + LEARNED_AFTER_DAYS * DAY_MS and e[2]["ip"] != COMPANY_VPN
        ]
        at_ms = self._random.choice(own)[1] + self._random.randrange(20, 90) * MINUTE_MS
        place = victim.home if hard else self._random.choice(FAR)
        ip = self._address()
        self._login(victim.name, at_ms, ip, "stolen", "payroll", place, success=True)
        self._note(
            "impossible travel", (victim.name,), ip, at_ms, at_ms, "from the same town" * hard
        )

    def _at_night(self, form: int) -> None:
        """A stolen password, used from the victim's own town at night; or, hard to see, with a copy
        of the victim's device, or at noon."""
        victim, ip = self._victim(), self._address()
        at_ms = self._when((11, 13) if form == 3 else (0.5, 4))
        device = victim.devices[0] if form == 2 else "stolen"
        self._login(victim.name, at_ms, ip, device, "payroll", victim.home, success=True)
        hidden = ("", "", "with a copy of the device", "at noon")[form]
        self._note("unusual hour", (victim.name,), ip, at_ms, at_ms, hidden)

    def _hijack(self, form: int) -> None:
        """A stolen cookie: with another device, with a copy of it from afar, with a copy nearby."""
        draw, victim, ip = self._random, self._victim(), self._address()
        home_ip = f"203.0.113.{HOMES.index(victim.home) + 1}"
        device = victim.devices[0]
        at_ms = self._when((8, 15))
        self._login(victim.name, at_ms, home_ip, device, "mail", victim.home, success=True)
        session, start_ms = self._session(victim.name, at_ms, home_ip, device, "mail", victim.home)
        place = victim.home if form in (0, 3) else draw.choice(FAR)
        theirs = "stolen" if form in (0, 1) else device
        for number in range(4):
            self._action(
                victim.name,
                session,
                start_ms + number * 20_000,
                ip,
                theirs,
                "mail",
                place,
                "export",
            )
        hidden = "a copy of the device, in the same town" if form == 3 else ""
        self._note("session hijack", (victim.name,), ip, start_ms, start_ms + 80_000, hidden)

    def _victim(self) -> Person:
        return self._random.choice([one for one in self.people if one.trip is None])

    def _place(self) -> str:
        return self._random.choice(FAR)


def drawn(seed: int, *, people: int = 60, days: int = 28, each: int = 8) -> Traffic:
    """The traffic of a seed: always the same."""
    return Attacked(seed, people, days).traffic(each)
