"""What a person does at the console, in a real Chromium, on a suite of processes.

`make e2e SCENARIO=console` writes an app with an error, mends it, tries it with a CSV, saves the
test, deploys, sends events, makes a dashboard of four widgets and shares it, leaves a draft and
finds it again, feeds the app at random, pauses, resumes and stops that, asks the archive by SQL,
runs and pauses a scheduled script, starts and stops an instance of a template, pauses a sink,
upgrades with a preview, sees both versions side by side, mends a refused event, hands over, looks
at figures and failovers, and reads a node's log; each step with a picture, light and dark. Last
line:
`console: ok steps=<n> screenshots=<n> page_errors=0`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite
from lockstep.cli.replay import send_retrying
from lockstep.clock import SystemClock
from lockstep.testing.files import run_file
from tests.browser.chromium import open_page
from tests.browser.suite import browsed
from tests.e2e.console_person import Person

PLAN: Final = (
    ("coordinator", "coordinator"),
    ("processor-1", "processor"),
    ("processor-2", "processor"),
    ("publisher", "publisher"),
    ("presenter", "presenter"),
    ("receiver", "receiver"),
    ("console", "console"),
)
APP: Final = """@app:name('Rooms')
@OnError(action='STORE')
define stream Reading (room string, celsius string);

@info(name='read')
from Reading
select room, math:parseDouble(celsius) as celsius
insert into Measured;

@info(name='mean')
from Measured#window.length(20)
select room, avg(celsius) as mean, count() as readings
group by room
insert into RoomMean;

@info(name='hot')
from RoomMean[mean > 30.0] select room, mean insert into HotRoom;

@info(name='all')
from RoomMean select room, mean, readings insert into Means;
"""
CSV: Final = "room,celsius\nattic,31.5\nhall,20.25\nattic,33.0\n"
ROOMS: Final = {"attic": 33.0, "hall": 21.0, "cellar": 14.0}
PHONE: Final = (390, 844)
STILL_MS: Final = 3_000
"""An app that is fed 50 times a second and has not moved for so long is not fed any more."""
STILL_WITHIN_S: Final = 90
RESTING: Final = """@app:name('Resting') define stream In (n long);
@sink(type='log') define stream Out (n long); from In select n insert into Out;
"""
SCRIPT: Final = """-- name: hottest
-- cron: 0 30 2 * * ? UTC
-- output: table
select room, max(cast(celsius as double)) as hottest from Reading group by room
"""


async def _write_and_try(person: Person, folder: Path) -> None:
    await person.go("/write")
    await person.write(APP.replace("mean > 30.0", "heat > 30.0"))
    await person.see("1 problem")
    await person.see("'heat' is not an attribute")
    await person.step("write-with-an-error")
    await person.write(APP)
    await person.see("valid", within=".problems")
    await person.page.until("document.querySelectorAll('.graph svg .node').length >= 8")
    await person.step("mended-with-its-plan")
    await person.type_at_end("from Measured select room, av")
    await person.page.until("document.querySelector('.cm-tooltip-autocomplete') != null")
    await person.see("avg", within=".cm-tooltip-autocomplete")
    await person.step("completion")
    await person.write(APP)
    await person.see("valid", within=".problems")
    await person.go("/try")
    await person.click("Start")
    await person.see("clock 0 ms")
    await person.click("CSV")
    await person.page.until("document.querySelector('textarea') != null")
    await person.ask("document.querySelector('textarea').focus()")
    await person.page.call("Input.insertText", text=CSV)
    await person.click("Send all")
    await person.see("HotRoom")
    await person.step("tried-with-a-csv")
    await person.page.call(
        "Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder)
    )
    await person.click("Save as a test")
    while not (folder / "app.test").exists():
        await asyncio.sleep(0.1)
    (folder / "app.siddhi").write_text(APP)
    (report,) = run_file(folder / "app.test")
    assert report.passed, report.text()
    await person.step("saved-as-a-test")


async def _deploy_and_watch(person: Person, client: Client) -> None:
    await person.go("/write")
    await person.write(APP)
    await person.see("Rooms:", within=".problems")
    await person.click("Deploy")
    await person.see("There is no app Rooms yet")
    await person.step("deploy-says-what-happens")
    await person.click("Deploy", within=".q-dialog")
    await person.page.until("location.pathname === '/apps/Rooms'")
    await person.see("running")
    for number in range(40):
        await _send(client, {name: mean + number % 5 for name, mean in ROOMS.items()})
    await person.see("leads")
    await person.step("deployed-and-fed")
    await person.go("/apps")
    await person.see("Rooms")
    await person.step("apps")
    await person.go("/watch?new")
    for kind, value, by, width in (
        ("Line", "mean", "room", "two thirds"),
        ("Number", "readings", "", "a third"),
        ("Bars", "mean", "room", "half"),
        ("Table", "", "", "half"),
    ):
        await person.click("Add a widget", within=".page-actions")
        await person.see("Shows as", within=".q-dialog")
        await person.choose("Shows as", kind)
        await person.page.until("document.querySelector('.q-dialog').innerText.includes('Of')")
        await person.choose("Of", "stream Means")
        if value:
            await person.choose("Value", value)
        if by:
            await person.choose("A series for each", by)
        await person.choose("Width", width)
        await person.fill("Title", f"{kind} of {value or 'all'}")
        await person.click("Done", within=".q-dialog")
        await person.page.until("!document.querySelector('.q-dialog .dialog')")
    await _send(client, ROOMS)
    await person.page.until("document.querySelectorAll('.widget canvas').length >= 2")
    await person.click("Save", within=".page-actions")
    await person.fill("Name", "Rooms of the house")
    await person.click("Save", within=".q-dialog")
    await person.page.until("location.pathname === '/watch/Rooms%20of%20the%20house'")
    await person.see("attic", within=".widget-table")
    await person.step("dashboard")


async def _draft(person: Person) -> None:
    """What was changed of a deployed text is there again when its page is, with a way back. The
    graph beside it is dark by the system's wish alone: nobody has chosen."""
    text = "document.querySelector('.editor')?.lockstepEditor?.view?.state.doc.toString()"
    kept = "localStorage.getItem('lockstep-draft:Rooms')"
    await person.go("/write?app=Rooms")
    await person.see("Rooms:", within=".problems")
    await person.type_at_end("-- not deployed yet")
    await person.page.until(kept)
    await person.ask("document.cookie = 'lockstep_theme=; path=/; max-age=0'")
    wish = {"name": "prefers-color-scheme", "value": "dark"}
    await person.page.call("Emulation.setEmulatedMedia", features=[wish])
    await person.go("/write?app=Rooms")
    await person.page.until(f"({text} || '').includes('-- not deployed yet')")
    fills = "[...document.querySelectorAll('.graph svg .node :is(rect, path, polygon)')].map("
    await person.page.until(f"{fills}(e) => getComputedStyle(e).fill).includes('rgb(20, 53, 42)')")
    await person.page.call("Emulation.setEmulatedMedia", features=[])
    await person.step("draft-of-a-deployed-text")
    await person.click("Back to the deployed text")
    await person.page.until(f"{text} === {json.dumps(APP)} && {kept} === null")


async def _flow(person: Person, client: Client) -> None:
    """The graph shows that events come in, while they do, and where they go."""

    async def sending() -> None:
        while True:
            await _send(client, ROOMS)

    async with asyncio.TaskGroup() as group:
        under_way = group.create_task(sending())
        await person.go("/apps/Rooms")
        await person.click("Flow", within=".page-actions")
        await person.page.until("location.pathname === '/apps/Rooms/flow'")
        rates = "[...document.querySelectorAll('.flow-label b')].map((e) => e.innerText)"
        await person.page.until(f"parseFloat({rates}[0]) > 0")
        await person.see("source HTTP, bus", within=".table")
        await person.see("processor-", within=".flow-box")
        await person.step("flow-of-events")
        under_way.cancel()


async def _shared(person: Person, folder: Path, base: str) -> Person:
    """The dashboard in somebody else's browser: a phone."""
    (folder / "phone").mkdir()
    width, height = PHONE
    async with open_page(folder / "phone", width=width, height=height) as page:
        other = Person(page, base, person._pictures)
        other.steps = person.steps
        await other.go("/watch/Rooms%20of%20the%20house")
        await other.see("attic", within=".widget-table")
        await other.step("shared-on-a-phone")
        person.steps, person.screenshots = other.steps, person.screenshots + other.screenshots
        person.page.troubles += page.troubles
    return person


async def _run_it(person: Person, client: Client, suite: ProcessSuite) -> None:
    await person.go("/write?app=Rooms")
    await person.write(APP.replace("length(20)", "length(50)"))
    await person.see("Beside what is deployed")
    await person.click("Deploy")
    await person.see("Begins empty")
    await person.step("upgrade-with-a-preview")
    await person.click("Upgrade", within=".q-dialog")
    await person.page.until("location.pathname === '/apps/Rooms'")
    await person.see("running")
    await _versions(person)
    await _send(client, {"attic": "warm"})
    await person.go("/errors?app=Rooms")
    await person.see("warm")
    await person.step("a-refused-event")
    await person.click("Mend")
    await person.see("Mend #")
    await person.fill("Events, as JSON", json.dumps({"room": "attic", "celsius": "36.5"}))
    await person.step("mend-it")
    await person.click("Send", within=".q-dialog")
    await person.see("No errors")
    await person.step("mended-and-gone")
    await _hand_over(person, client)
    await _figures(person)
    await _nodes(person)


async def _figures(person: Person) -> None:
    """The hand-over stands in the list, and each chart has points."""
    await person.click("Figures", within=".page-actions")
    await person.page.until("location.pathname === '/apps/Rooms/figures'")
    await person.see("handed over to", within=".table")
    await person.see("planned", within=".table")
    await person.click("15 min")
    await person.page.until("document.querySelectorAll('.chart canvas').length >= 4")
    said = "[...document.querySelectorAll('.split .card-head .hint')].map((e) => e.innerText)"
    await person.page.until(f"{said}.length === 4 && {said}.every((e) => e.includes('at most'))")
    await person.step("figures-and-failovers")


async def _versions(person: Person) -> None:
    """Both texts side by side; the first goes into the editor, and stands beside the second."""
    await person.click("Versions")
    await person.page.until("location.pathname === '/apps/Rooms/versions'")
    await person.see("1 line on the left alone, 1 on the right alone")
    await person.see("− from Measured#window.length(20)", within=".side.del")
    await person.see("+ from Measured#window.length(50)", within=".side.add")
    await person.step("versions-side-by-side")
    await person.page.evaluate("document.querySelectorAll('.table a')[1].click()")
    await person.page.until("location.pathname === '/write'")
    await person.see("Rooms:", within=".problems")
    await person.click("Versions")
    await person.page.until("location.search === '?right=draft'")
    await person.see("+ from Measured#window.length(20)", within=".side.add")


async def _nodes(person: Person) -> None:
    """What every process takes, and the last lines of one."""
    await person.go("/nodes")
    await person.see("processor-2")
    await person.page.until(
        "[...document.querySelectorAll('.table tbody tr')].every((row) =>"
        " /\\d %/.test(row.children[4].innerText) && /MB/.test(row.children[5].innerText))"
    )
    await person.step("nodes")
    await person.click("processor-1", within=".table")
    await person.page.until("location.pathname === '/nodes/processor-1/log'")
    await person.see("ready", within=".log-lines")
    await person.step("last-log-lines")


async def _simulate(person: Person, client: Client) -> None:
    """A random feed runs, stands still while it is paused, goes on, and ends; another one ends with
    its page."""
    await person.go("/apps/Rooms")
    await person.click("Simulate")
    await person.page.until("location.pathname === '/apps/Rooms/simulate'")
    await person.see("Random")
    await person.fill("celsius (string)", "15..35")
    await person.fill("Events per second", "50")
    await person.click("Start")
    said = "document.querySelector('.page-actions .chip').innerText"
    counted = f"({said}.match(/running, ([\\d.,k]+) sent/) || [])[1]"
    first = await person.page.until(counted)
    await person.page.until(f"{counted} && {counted} !== {json.dumps(first)}")
    await person.step("simulation-runs")
    await person.click("Pause")
    stands = await person.page.until(f"{said}.startsWith('paused') && {said}")
    await person.step("simulation-stands-still")
    assert await person.ask(said) == stands
    await person.click("Resume")
    await person.page.until(f"{said}.startsWith('running')")
    await person.page.until(f"{said}.split(', ')[1] !== {json.dumps(stands)}.split(', ')[1]")
    await person.click("Stop")
    await person.see("stopped", within=".page-actions")
    await person.step("simulation-stopped")
    await person.click("Start again")
    await person.see("running", within=".page-actions")
    await person.go("/apps")
    before, clock = -1, SystemClock()
    async with asyncio.timeout(STILL_WITHIN_S):
        while (now := await _position(client)) != before:
            before = now
            await clock.sleep_ms(STILL_MS)


async def _position(client: Client) -> int:
    """How far the furthest replica is."""
    replicas = (await client.status("Rooms"))["replicas"]
    return max(int(one["position"]) for one in replicas)


async def _history(person: Person, folder: Path) -> None:
    """The past is asked, a wrong query is told, an answer is taken along."""
    await person.go("/history?app=Rooms")
    await person.see("Reading__in", within=".table")
    await person.see("Means__out")
    hottest = "max(cast(celsius as double)) as hottest"
    await person.fill("SQL", f"select room, {hottest} from Reading group by room order by room")
    await person.click("Ask")
    await person.see("attic", within=".answer")
    await person.see("rows in")
    await person.step("history-asked")
    await person.click("Export CSV")
    while not (folder / "Rooms.csv").exists():
        await asyncio.sleep(0.1)
    lines = (folder / "Rooms.csv").read_text().splitlines()
    assert lines[0] == "room,hottest"
    assert [one.split(",")[0] for one in lines[1:]] == sorted(ROOMS)
    await person.fill("SQL", "select nothing from Nowhere")
    await person.click("Ask")
    await person.see("Nowhere", within=".answer")
    await person.step("history-refused")


async def _scripts(person: Person, client: Client, suite: ProcessSuite) -> None:
    """A script runs when somebody says so, and rests until somebody says otherwise."""
    await person.go("/scripts")
    await person.see("No script is deployed")
    scripts = {"scripts": [{"file": "hottest.sql", "text": SCRIPT}]}
    await client.request("POST", f"{suite.addresses.coordinator}/v1/batch", json_body=scripts)
    await person.see("never ran")
    await person.click("hottest")
    await person.page.until("location.pathname === '/scripts/hottest'")
    await person.see("It has not run yet.")
    await person.click("Run now")
    await person.see("succeeded", within=".table")
    await person.step("script-ran")
    await person.click("Pause")
    await person.see("Resume")
    await person.go("/scripts")
    await person.see("paused")
    await person.step("scripts")


async def _pausing(person: Person, client: Client) -> None:
    """A sink rests until somebody says otherwise; what that means is said first."""
    await send_retrying(lambda: client.deploy(RESTING))
    await person.go("/apps/Resting")
    await person.see("sink:Out.0.log")
    await person.see("running", within=".table-scroll:has(button)")
    await person.click("Pause")
    await person.see("It gets nothing until it goes on", within=".q-dialog")
    await person.step("pausing-says-what-happens")
    await person.click("Pause", within=".q-dialog")
    await person.see("paused by", within=".table-scroll:has(button)")
    await person.step("paused")
    await person.click("Resume")
    await person.see("running", within=".table-scroll:has(button)")


async def _templates(person: Person) -> None:
    """A rule is started by a form, refused with a reason, given another value, and stopped."""
    await person.go("/templates")
    await person.see("No template yet")
    await person.click("New template")
    written = "document.querySelector('.q-dialog textarea')?.value || ''"
    await person.page.until(f"({written}).includes('-- template: Room too hot')")
    await person.step("template-text")
    await person.click("Keep", within=".q-dialog")
    await person.see("Nobody has started it.")
    await person.click("Start")
    await person.fill("Name of the instance", "Cellar")
    await person.fill("room", "cellar")
    await person.fill("limit", "180")
    await person.step("template-form")
    await person.click("Start", within=".q-dialog")
    await person.see("from 0 to 100", within=".q-notifications")
    await person.fill("limit", "18")
    await person.click("Start", within=".q-dialog")
    await person.see("room = cellar, limit = 18")
    await person.click("Change")
    await person.fill("limit", "20")
    await person.click("Change", within=".q-dialog")
    await person.see("room = cellar, limit = 20")
    await person.step("template-runs")
    await person.click("Stop")
    await person.step("template-stop-says-what-happens")
    await person.click("Stop", within=".q-dialog")
    await person.see("Nobody has started it.")


async def _hand_over(person: Person, client: Client) -> None:
    await person.go("/apps/Rooms")
    await person.see("ready")
    before = await _leader(client)
    await person.click("Hand over")
    await person.see("A ready standby leads from the next event on")
    await person.step("hand-over-says-what-happens")
    await person.click("Hand over", within=".q-dialog")
    async with asyncio.timeout(90):
        while await _leader(client) in (before, None):
            await asyncio.sleep(0.2)
    await person.see("leads")
    await person.step("handed-over")


async def _leader(client: Client) -> str | None:
    replicas = (await client.status("Rooms"))["replicas"]
    return next((one["node"] for one in replicas if one["role"] == "active"), None)


async def _send(client: Client, rooms: Mapping[str, object]) -> None:
    events = [{"room": room, "celsius": str(celsius)} for room, celsius in rooms.items()]
    body = json.dumps(events).encode()
    await send_retrying(lambda: client.send("Rooms", "Reading", body))


async def _scenario(pictures: Path) -> bool:
    pictures.mkdir(parents=True, exist_ok=True)
    overrides = {
        "LOCKSTEP_ARCHIVE__BY_DEFAULT": "true",
        "LOCKSTEP_ARCHIVE__INTERVAL_MS": "500",
        "LOCKSTEP_COORDINATOR__FIGURES_EVERY_MS": "1000",
    }
    async with browsed(PLAN, overrides) as there:
        folder, suite, client, page = there.folder, there.suite, there.client, there.page
        base = suite.of("console")[0].url
        person = Person(page, base, pictures)
        await _write_and_try(person, folder)
        await _deploy_and_watch(person, client)
        await _draft(person)
        await _flow(person, client)
        await _shared(person, folder, base)
        await _simulate(person, client)
        await _history(person, folder)
        await _scripts(person, client, suite)
        await _templates(person)
        await _pausing(person, client)
        await _run_it(person, client, suite)
        print(f"first content, ms: {person.first_content_ms}")
        outside = [url for url in page.requested if not url.startswith((base, "data:", "blob:"))]
        for each in (*page.troubles, *outside):
            print(f"page error: {each}")
        errors = len(page.troubles) + len(outside)
        word = "ok" if not errors else "failed"
        told = f"steps={person.steps} screenshots={person.screenshots} page_errors={errors}"
        print(f"pictures are in {pictures}")
        print(f"console: {word} {told}")
        return not errors


def main() -> int:
    """0 when all went well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, default=Path(".lockstep/console-pictures"))
    options = parser.parse_args()
    return 0 if asyncio.run(_scenario(options.pictures)) else 1


if __name__ == "__main__":
    sys.exit(main())
