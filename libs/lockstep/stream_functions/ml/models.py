"""Models in ONNX, run by onnxruntime: the only door to it and to onnx.

A model is part of the app's text, so every replica, restart and back-test has the same one. It is
run for one event at a time, in one thread, without any rewriting of its graph: what it gives
depends on nothing but the event and the kind of processor.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import onnx
import onnxruntime
from google.protobuf.message import DecodeError
from onnxruntime.capi import onnxruntime_pybind11_state as failures

from lockstep.operators.errors import EventError

BYTES_MAX: Final = 16 * 1024 * 1024
"""Of a model, unpacked."""
KEPT_MAX: Final = 8
"""Models that a process keeps in memory for the next app that has them."""
REFUSED: Final = {
    **dict.fromkeys(("Loop", "Scan"), "may run for ever"),
    **dict.fromkeys(
        (
            "Bernoulli",
            "Multinomial",
            "RandomNormal",
            "RandomNormalLike",
            "RandomUniform",
            "RandomUniformLike",
        ),
        "gives something else each time",
    ),
}
"""Operators, and why no app can have them."""
_ERRORS: Final = (
    failures.EngineError,
    failures.EPFail,
    failures.Fail,
    failures.InvalidArgument,
    failures.InvalidGraph,
    failures.InvalidProtobuf,
    failures.ModelRequiresCompilation,
    failures.NoModel,
    failures.NoSuchFile,
    failures.NotImplemented,
    failures.RuntimeException,
    MemoryError,
    ValueError,
)
_TYPES: Final[dict[str, Any]] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.str_,
}
_HINT: Final = "the model is the base64 of a file .onnx: lockstep deploy --set-file MODEL=a.onnx"


class Model:
    """A model, loaded; EventError for what cannot be one."""

    def __init__(self, content: bytes) -> None:
        _checked(content)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        try:
            self._session = onnxruntime.InferenceSession(
                content, options, providers=["CPUExecutionProvider"]
            )
        except _ERRORS as error:
            raise EventError(f"the model cannot be run: {error}") from error
        self._inputs = self._session.get_inputs()
        for one in (*self._inputs, *self._session.get_outputs()):
            if one.type not in _TYPES:
                raise EventError(
                    f"{one.name!r} of the model is a {one.type}: there is {', '.join(_TYPES)}"
                    " (export classifiers without ZipMap)"
                )

    def takes(self, names: Sequence[str]) -> None:
        """Whether attributes of these names are its features; EventError."""
        if self._is_one_row:
            width = self._inputs[0].shape[1]
            if not isinstance(width, int) or width == len(names):
                return
        elif sorted(one.name for one in self._inputs) == sorted(names):
            return
        wanted = ", ".join(f"{one.name} {one.shape}" for one in self._inputs)
        raise EventError(f"the model's inputs are {wanted}, and the features {', '.join(names)}")

    def run(self, names: Sequence[str], values: Sequence[Any]) -> list[Any]:
        """The values of all outputs for one event, one behind another; EventError."""
        try:
            found = self._session.run(None, self._fed(names, values))
        except (*_ERRORS, OverflowError, TypeError) as error:
            raise EventError(f"the model does not take {list(values)!r:.200}: {error}") from error
        return [value for one in found for value in np.asarray(one).reshape(-1).tolist()]

    def probe(self, names: Sequence[str]) -> list[Any]:
        """What it gives for features that are all 0, false or empty."""
        kinds = {one.name: _TYPES[one.type] for one in self._inputs}
        row = _TYPES[self._inputs[0].type]
        empty = [kinds.get(name, row)() if not self._is_one_row else row() for name in names]
        return self.run(names, [one.item() for one in empty])

    @property
    def _is_one_row(self) -> bool:
        """One input that has all features, in the order of the call; else each by its name."""
        return len(self._inputs) == 1 and len(self._inputs[0].shape) == 2

    def _fed(self, names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
        if self._is_one_row:
            return {self._inputs[0].name: self._tensor(self._inputs[0], [list(values)])}
        by_name = dict(zip(names, values, strict=True))
        fed = {}
        for one in self._inputs:
            value = by_name[one.name]
            fed[one.name] = self._tensor(one, [value]).reshape([1] * len(one.shape))
        return fed

    def _tensor(self, one: Any, rows: list[Any]) -> Any:
        kind = _TYPES[one.type]
        return np.array(rows, dtype=object if kind is np.str_ else kind)


def _checked(content: bytes) -> None:
    """Refuses what reads files of the machine, and what may run for ever."""
    try:
        model = onnx.load_model_from_string(content)
    except DecodeError as error:
        raise EventError(f"the model is no ONNX: {error}; {_HINT}") from error
    if not model.graph.node:
        raise EventError(f"the model is no ONNX: it has no nodes; {_HINT}")
    for node in _nodes(model):
        if node.op_type in REFUSED:
            raise EventError(f"the model has a {node.op_type}, which {REFUSED[node.op_type]}")
    for tensor in _tensors(model):
        if tensor.external_data or tensor.data_location == onnx.TensorProto.EXTERNAL:
            raise EventError("the model keeps values in other files: save it as one file")


def _below(message: Any) -> Iterator[Any]:
    """A message and everything in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for one in value if field.is_repeated else (value,):
                yield from _below(one)


def _nodes(model: Any) -> Iterator[Any]:
    return (one for one in _below(model) if isinstance(one, onnx.NodeProto))


def _tensors(model: Any) -> Iterator[Any]:
    return (one for one in _below(model) if isinstance(one, onnx.TensorProto))


def opened(text: str) -> Model:
    """The model of a literal: base64, packed by gzip or not; EventError."""
    return _opened("".join(text.split()))


@lru_cache(maxsize=KEPT_MAX)
def _opened(text: str) -> Model:
    try:
        content = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise EventError(f"the model is no base64: {error}; {_HINT}") from error
    if content[:2] == b"\x1f\x8b":
        unpacking = zlib.decompressobj(wbits=31)
        try:
            content = unpacking.decompress(content, BYTES_MAX + 1)
        except zlib.error as error:
            raise EventError(f"the model is damaged: {error}") from error
        if len(content) <= BYTES_MAX and not unpacking.eof:
            raise EventError("the model is damaged: its end is missing")
    if len(content) > BYTES_MAX:
        raise EventError(f"the model is larger than {BYTES_MAX} bytes")
    return Model(content)
