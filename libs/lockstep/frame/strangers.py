"""What comes to a door and is no proper request: refused before anybody else looks at it, and told
in one line of the log, without what it held."""

from __future__ import annotations

import logging
import unicodedata
from http import HTTPStatus
from typing import Final

from aiohttp import ClientPayloadError, web, web_response
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler, Middleware

from lockstep.frame.problems import Problem, problem_response
from lockstep.telemetry import get_logger

SERVER_NAME: Final = "Lockstep"
"""Of the header Server: which versions answer is nobody's business."""

_UNREADABLE: Final = (HttpProcessingError, ClientPayloadError, web.RequestPayloadError)
_CONTROL: Final = "Cc"


def refuse_strange(request: web.Request) -> None:
    """Problem 400 for control characters in the address, and for headers that are not UTF-8: no
    name has them, and neither stores nor logs may have to look after them."""
    if has_control(request.path) or has_control(str(request.query_string)):
        raise Problem(
            HTTPStatus.BAD_REQUEST, "the address holds control characters",
            hint="names have none; leave out what %00 to %1f and %7f to %9f stand for",
        )  # fmt: skip
    for name, value in request.headers.items():
        if not value.isascii() and any("\ud800" <= one <= "\udfff" for one in value):
            raise Problem(
                HTTPStatus.BAD_REQUEST, f"the header {name[:60]} is not UTF-8",
                hint="send headers in ASCII",
            )  # fmt: skip


def has_hung_up(request: web.Request) -> bool:
    """Whether nobody is there any more to be answered."""
    return request.transport is None or request.transport.is_closing()


def readable() -> Middleware:
    """Answers 400 to a body that is not as its own headers say, and ends the connection."""

    @web.middleware
    async def read(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except _UNREADABLE:
            response = problem_response(
                HTTPStatus.BAD_REQUEST,
                "the body is not what Content-Encoding and Transfer-Encoding say",
                hint="send it plain, or as gzip",
            )
            response.force_close()  # nobody knows where the next request would begin
            return response

    return read


class _Requests(logging.Filter):
    """Of aiohttp's own lines: what a stranger sends that is no HTTP is no error of ours, and
    neither is one who hangs up in the middle."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Passes everything else on."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, ConnectionError):
            get_logger().info("a caller has hung up")
            return False
        if not isinstance(error, _UNREADABLE):
            return True
        address = record.args[0] if isinstance(record.args, tuple) and record.args else ""
        get_logger().info("a request was no HTTP", address=str(address), why=type(error).__name__)
        return False


_REQUESTS: Final = _Requests()


def keep_to_ourselves() -> None:
    """Of the whole process, once or more: no versions in answers, and no traceback in the log for
    what strangers send. aiohttp has no setting for either."""
    vars(web_response)["SERVER_SOFTWARE"] = SERVER_NAME
    logging.getLogger("aiohttp.server").addFilter(_REQUESTS)


def has_control(text: str) -> bool:
    """Whether a text holds a character that no name has: NUL, ends of lines, escapes."""
    return not text.isprintable() and any(unicodedata.category(one) == _CONTROL for one in text)
