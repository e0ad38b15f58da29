"""Real servers without an installation: NATS, Redis, PostgreSQL and Java from PATH or from wheels.

For the command line, the demo and the tests; a cluster is given addresses instead.
"""

from lockstep.embedded.errors import DirectoryInUseError, NoServerError, ServerStartError
from lockstep.embedded.java import NoJavaError, java_home, prepare_spark_environment
from lockstep.embedded.nats_server import NatsServer
from lockstep.embedded.ports import free_port
from lockstep.embedded.postgres_server import PostgresServer
from lockstep.embedded.process import THIS_MACHINE, Machine, tied_to_parent
from lockstep.embedded.redis_server import RedisServer
from lockstep.embedded.server import Server
from lockstep.embedded.servers import ALL_SERVERS, EmbeddedServers, ServerName

__all__ = [
    "ALL_SERVERS",
    "THIS_MACHINE",
    "DirectoryInUseError",
    "EmbeddedServers",
    "Machine",
    "NatsServer",
    "NoJavaError",
    "NoServerError",
    "PostgresServer",
    "RedisServer",
    "Server",
    "ServerName",
    "ServerStartError",
    "free_port",
    "java_home",
    "prepare_spark_environment",
    "tied_to_parent",
]
