"""A server that speaks MongoDB's protocol, for tests: mongo-java-server, brought by
`scripts/mongodb`. What it holds survives a kill."""

from __future__ import annotations

import sys
from pathlib import Path

from pymongo import AsyncMongoClient, errors

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import Server, java_home
from lockstep.embedded.process import Command
from lockstep.embedded.server import HOST
from tests.needed import lacking

HERE = Path(__file__).parent
JARS = Path(sys.prefix) / "mongodb"
PATIENCE_MS = 500


class MongoServer(Server):
    """Anybody may in."""

    name = "mongodb"

    def __init__(self, directory: Path) -> None:
        lines = (HERE / "jars.lock").read_text().splitlines()
        jars = [JARS / line.split("/")[-1] for line in lines if not line.startswith("#")]
        if not all(jar.is_file() for jar in jars):
            lacking("no MongoDB: scripts/mongodb fetches it from Maven Central")
        if not (java_home() / "bin" / "javac").is_file():
            lacking("no Java compiler: the MongoDB of the tests is started by a file of source")
        super().__init__(directory, clock=SystemClock(), randomness=SystemRandomness())
        self._jars = jars

    @property
    def url(self) -> str:
        return f"mongodb://{HOST}:{self.port}/shop"

    async def _prepare(self) -> None:
        """It has no settings but those of its command."""

    def _command(self) -> Command:
        classes = ":".join(map(str, self._jars))
        java = [str(java_home() / "bin" / "java"), "-Xmx128m", "-XX:TieredStopAtLevel=1"]
        start = [str(HERE / "Start.java"), str(self.port), str(self.directory / "data")]
        return Command([*java, "-cp", classes, *start], self.directory / "log")

    async def _answers(self) -> bool:
        client: AsyncMongoClient[dict[str, object]] = AsyncMongoClient(
            self.url, serverSelectionTimeoutMS=PATIENCE_MS
        )
        try:
            await client.admin.command("ping")
        except errors.PyMongoError:
            return False
        finally:
            await client.close()
        return True
