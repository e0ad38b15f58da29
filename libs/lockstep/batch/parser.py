"""The process that reads queries: texts as JSON come in, and what is wrong with each goes out."""

from __future__ import annotations

import os
import sys

import msgspec

from lockstep.embedded import prepare_spark_environment
from lockstep.events.typed import from_json
from lockstep.execute.spark.parsing import misread


def main() -> None:
    """What others print goes to the standard error: the standard output is the answer."""
    answer = os.dup(1)
    os.dup2(2, 1)
    texts = from_json(sys.stdin.buffer.read(), list[str])
    prepare_spark_environment()
    with os.fdopen(answer, "wb") as out:
        out.write(msgspec.json.encode(misread(texts)))


if __name__ == "__main__":
    main()
