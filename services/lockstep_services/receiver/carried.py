"""Sources that are a class of their own: of the connectors' folders, or of installed packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pkgutil import resolve_name

from lockstep.bus import Mail
from lockstep.events import Fault, LockstepError, UnavailableError, describe
from lockstep.events.packages import to_install
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.catalogue.connectors import ConnectorExtension
from lockstep.siddhiql.catalogue.installed import modules, unmade
from lockstep.siddhiql.checking.connectors import find_type
from lockstep.sources import Place, Received, Source, SourceMaker


class SourceSetupError(LockstepError):
    """A source that cannot be made here."""

    fault = Fault.USER


def carrier_of(kind: str) -> SourceMaker | None:
    """What makes sources of a type; None: the receiver reads them by itself."""
    declared = find_type(ExtensionKind.SOURCE, kind)
    if declared is None:
        return None
    if isinstance(declared, ConnectorExtension) and declared.carrier:
        try:
            found: SourceMaker = resolve_name(declared.carrier)
        except ImportError as error:
            raise SourceSetupError(
                f"sources of type '{kind}' need a package that is not installed: {error.name}",
                hint=to_install(declared.extra, "beside every receiver"),
            ) from error
        return found
    makers = (getattr(module, "SOURCES", {}).get(declared.name) for module in modules())
    made = next((maker for maker in makers if maker is not None), None)
    wrong = unmade(declared) if made is None else None
    if wrong is not None:
        raise SourceSetupError(wrong[0], hint=wrong[1])
    return made


def is_shared(maker: SourceMaker) -> bool:
    """Whether several receivers may read such a source side by side."""
    return bool(getattr(maker, "shared", Source.shared))


class SourceFailedError(LockstepError):
    """A source whose code fails: who wrote it mends it."""

    fault = Fault.USER


class CarriedMailbox:
    """A source as a mailbox. Errors: UnavailableError, SourceSetupError, SourceFailedError."""

    def __init__(self, maker: SourceMaker, options: Mapping[str, str], place: Place) -> None:
        self._name = f"{place.app}/{place.stream}.{place.number}"
        try:
            with _typed(self._name):
                self._source = maker(options, place)
        except SourceFailedError as error:
            raise SourceSetupError(f"it does not take its options: {error.__cause__}") from error

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Mail]:
        with _typed(self._name):
            found = await self._source.read(max_messages=max_messages, wait_ms=wait_ms)
            return [self._mail(message) for message in found]

    async def close(self) -> Sequence[Mail]:
        with _typed(self._name):
            return [self._mail(message) for message in await self._source.close()]

    def _mail(self, message: Received) -> Mail:
        return Mail(
            self._name, message.payload, message.properties, message.id, message.acknowledge,
            message.refused,
        )  # fmt: skip


@contextmanager
def _typed(name: str) -> Iterator[None]:
    """What the code of a source raises leaves as an error of ours: `status` tells those, and
    secrets are hidden in them."""
    try:
        yield
    except LockstepError:
        raise
    except OSError as error:
        raise UnavailableError(describe(error), where=name) from error
    except Exception as error:
        # Of others' code, or of a library that it uses: any class. None of them is swallowed.
        raise SourceFailedError(
            f"the source's code fails: {describe(error)}",
            where=name,
            hint="the mistake is in the connector, not in the app; it is tried again",
        ) from error
