"""A real Kafka broker that lets in only who may: by certificate, or by password over TLS."""

from __future__ import annotations

from pathlib import Path

from lockstep.embedded import free_port
from tests.kafka.broker import KafkaBroker

CERTIFICATES = Path(__file__).with_name("certificates")
USER = "lock step"
PASSWORD = "p@ss:w/rd"  # with all that a URL has to escape
_SECURITY = """\
listeners={listeners},TLS://localhost:{tls_port},SASL://localhost:{sasl_port}
advertised.listeners={advertised},TLS://localhost:{tls_port},SASL://localhost:{sasl_port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TLS:SSL,SASL:SASL_SSL
inter.broker.listener.name=PLAINTEXT
ssl.keystore.type=PEM
ssl.keystore.location={certificates}/broker.pem
ssl.truststore.type=PEM
ssl.truststore.location={certificates}/ca.pem
listener.name.tls.ssl.client.auth=required
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.sasl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule \
required "user_{user}"="{password}";
listener.name.sasl.scram-sha-256.sasl.jaas.config={scram} required;
listener.name.sasl.scram-sha-512.sasl.jaas.config={scram} required;
"""
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


class SecuredBroker(KafkaBroker):
    """`tls` asks for a client's certificate, `sasl` for a password. It trusts `ca.pem` in
    `certificates` and shows `broker.pem`, as they are when it starts."""

    certificates = CERTIFICATES

    @property
    def tls(self) -> str:
        """Host and port."""
        return f"localhost:{self._tls_port}"

    @property
    def sasl(self) -> str:
        """Host and port."""
        return f"localhost:{self._sasl_port}"

    async def _prepare(self) -> None:
        if not hasattr(self, "_tls_port"):
            self._tls_port, self._sasl_port = free_port(), free_port()
        await super()._prepare()

    def _configuration(self) -> str:
        plain = super()._configuration()
        given = dict(line.split("=", 1) for line in plain.splitlines())
        return plain + _SECURITY.format(
            listeners=given["listeners"],
            advertised=given["advertised.listeners"],
            tls_port=self._tls_port,
            sasl_port=self._sasl_port,
            certificates=self.certificates,
            user=USER,
            password=PASSWORD,
            scram=_SCRAM,
        )

    def _format_options(self) -> list[str]:
        return [
            option
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
            for option in (
                "--add-scram",
                f"{mechanism}=[name={USER},password={PASSWORD}]",
            )
        ]
