"""A real Kafka broker that takes rights away, and gives them back."""

from __future__ import annotations

import asyncio

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not in its __all__
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from tests.contract.patience import PATIENCE_S
from tests.kafka.broker import KafkaBroker

_AUTHORIZER = """\
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
"""
_EVERYBODY = "User:ANONYMOUS"


class GuardedBroker(KafkaBroker):
    """Without rules, everybody may do everything."""

    async def deny(self, operation: AclOperation, topics: str) -> None:
        """Nobody may do this to the topics that begin so."""
        own, kind = ResourcePatternType.PREFIXED, ResourceType.TOPIC
        rules = [
            # A topic with any rule has to have one for all else.
            AclBinding(
                kind, topics, own, _EVERYBODY, "*", AclOperation.ALL, AclPermissionType.ALLOW
            ),
            AclBinding(kind, topics, own, _EVERYBODY, "*", operation, AclPermissionType.DENY),
        ]
        admin = AdminClient({"bootstrap.servers": self.url})
        futures = admin.create_acls(rules, request_timeout=PATIENCE_S).values()
        await asyncio.gather(*(asyncio.wrap_future(each) for each in futures))

    async def allow_all(self) -> None:
        """No rules are left."""
        every = AclBindingFilter(
            ResourceType.ANY,
            None,  # type: ignore[arg-type]  # of any name; the client's own types know of no such
            ResourcePatternType.ANY,
            None,  # type: ignore[arg-type]
            None,  # type: ignore[arg-type]
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
        admin = AdminClient({"bootstrap.servers": self.url})
        futures = admin.delete_acls([every], request_timeout=PATIENCE_S).values()
        await asyncio.gather(*(asyncio.wrap_future(each) for each in futures))

    def _configuration(self) -> str:
        return super()._configuration() + _AUTHORIZER
