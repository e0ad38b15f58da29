"""`ml:predict` (extensions 29): models in ONNX, made with onnx's own helper."""

from __future__ import annotations

import base64
import gzip
import re
from typing import Any

import pytest
from onnx import TensorProto, helper

from lockstep.operators.errors import EventError
from lockstep.siddhiql import SiddhiQLError, check
from lockstep.stream_functions.ml.models import BYTES_MAX, opened
from lockstep.testing import VirtualApp

DOUBLE, FLOAT, INT64, STRING = (
    TensorProto.DOUBLE, TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING,
)  # fmt: skip


def model(
    nodes: list[Any],
    inputs: list[Any],
    outputs: list[Any],
    values: tuple[Any, ...] = (),
    *,
    packed: bool = False,
) -> str:
    """A literal of a graph."""
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(values))
    versions = [helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.ml", 3)]
    made = helper.make_model(graph, opset_imports=versions, ir_version=8)
    content: bytes = made.SerializeToString()
    return base64.b64encode(gzip.compress(content, mtime=0) if packed else content).decode()


def value(name: str, type_: int, *shape: int | None) -> Any:
    """Of an input or an output."""
    return helper.make_tensor_value_info(name, type_, shape)


def line(*, packed: bool = False) -> str:
    """x = 0.5 a + 2 b."""
    weights = helper.make_tensor("w", DOUBLE, [2, 1], [0.5, 2.0])
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    return model(
        [node], [value("x", DOUBLE, None, 2)], [value("y", DOUBLE, None, 1)], (weights,),
        packed=packed,
    )  # fmt: skip


def tree(zipped: bool = False) -> str:
    """'hot' above 30, with what it is sure of."""
    node = helper.make_node(
        "TreeEnsembleClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml",
        nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0],
        nodes_values=[30.0, 0.0, 0.0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
        nodes_hitrates=[1.0, 1.0, 1.0], nodes_missing_value_tracks_true=[0, 0, 0],
        class_treeids=[0] * 6, class_nodeids=[1, 1, 1, 2, 2, 2], class_ids=[0, 1, 2] * 2,
        class_weights=[0.75, 0.25, 0.0, 0.125, 0.0, 0.875],
        classlabels_strings=["cold", "mild", "hot"], post_transform="NONE",
    )  # fmt: skip
    outputs = [value("label", STRING, None), value("scores", FLOAT, None, 3)]
    nodes = [node]
    if zipped:
        nodes.append(
            helper.make_node(
                "ZipMap", ["scores"], ["map"], domain="ai.onnx.ml",
                classlabels_strings=["cold", "mild", "hot"],
            )
        )  # fmt: skip
        outputs[1] = helper.make_value_info(
            "map",
            helper.make_sequence_type_proto(
                helper.make_map_type_proto(STRING, helper.make_tensor_type_proto(FLOAT, []))
            ),
        )
    return model(nodes, [value("x", FLOAT, None, 1)], outputs)


def by_name() -> str:
    """A text and a number, each an input of its own."""
    codes = helper.make_node(
        "LabelEncoder", ["room"], ["code"], domain="ai.onnx.ml",
        keys_strings=["attic", "hall"], values_int64s=[10, 20], default_int64=-1,
    )  # fmt: skip
    both = helper.make_node("Add", ["code", "floor"], ["sum"])
    return model(
        [codes, both], [value("room", STRING, None, 1), value("floor", INT64, None, 1)],
        [value("sum", INT64, None, 1)],
    )  # fmt: skip


def test_a_label_and_scores() -> None:
    """All outputs one behind another, with the types that the call says."""
    found = opened(tree()).run(["x"], [31.5])
    assert found == ["hot", 0.125, 0.0, 0.875]
    assert opened(tree()).run(["x"], [30]) == ["cold", 0.75, 0.25, 0.0]


def test_inputs_by_name() -> None:
    """In any order; a text may be one."""
    encoder = opened(by_name())
    encoder.takes(["floor", "room"])
    assert encoder.run(["floor", "room"], [3, "hall"]) == [23]
    assert encoder.run(["room", "floor"], ["what", 3]) == [2]
    with pytest.raises(EventError, match=re.escape("inputs are room [None, 1], floor [None, 1]")):
        encoder.takes(["room", "height"])
    with pytest.raises(EventError, match="does not take"):
        encoder.run(["room", "floor"], ["hall", 2**70])


def test_packed_or_not() -> None:
    """The same model; blanks in the literal mean nothing."""
    for text in (line(), line(packed=True), line()[:20] + "\n " + line()[20:]):
        assert opened(text).run(["a", "b"], [2.0, 3.0]) == [7.0]
    assert opened(line()) is opened(line())


def refused_operator(kind: str) -> str:
    """A graph with an operator of that kind, at the second level."""
    inner = helper.make_graph(
        [helper.make_node(kind, [], ["r"], shape=[1])], "inner", [], [value("r", FLOAT, 1)]
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
    return model([node], [value("c", TensorProto.BOOL, 1)], [value("y", FLOAT, 1)])


def elsewhere() -> str:
    """A model whose values are in a file of the machine."""
    weights = helper.make_tensor("w", DOUBLE, [1], [1.0])
    weights.ClearField("double_data")
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value="../secret")
    node = helper.make_node("Add", ["x", "w"], ["y"])
    return model([node], [value("x", DOUBLE, 1)], [value("y", DOUBLE, 1)], (weights,))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("?", "no base64"),
        (base64.b64encode(b"\x1f\x8bx").decode(), "damaged"),
        (base64.b64encode(b"what").decode(), "no ONNX"),
        (base64.b64encode(gzip.compress(bytes(BYTES_MAX + 1))).decode(), "larger than"),
        (refused_operator("RandomNormal"), "RandomNormal, which gives something else"),
        (refused_operator("Loop"), "Loop, which may run for ever"),
        (elsewhere(), "in other files"),
        (tree(zipped=True), "without ZipMap"),
    ],
)
def test_what_is_no_model_for_replicas_is_refused(text: str, reason: str) -> None:
    """Damaged ones, those that draw, run for ever or read files, and other types."""
    with pytest.raises(EventError, match=reason):
        opened(text)


@pytest.mark.parametrize(
    ("outputs", "features", "reason"),
    [
        ("label string", "x", "gives 4 values, and outputs names 1"),
        ("label int, a float, b float, c float", "x", "gives 'cold' for 'label', which is no int"),
        ("label string, a float, b float, c float", "x, y", "inputs are x"),
    ],
)
def test_an_app_that_does_not_fit_its_model_is_refused(
    outputs: str, features: str, reason: str
) -> None:
    """When it starts, before any event comes."""
    call = f"#ml:predict('{tree()}', '{outputs}', {features})"
    text = f"define stream S (x double, y double); from S{call} select x insert into O;"
    with pytest.raises(SiddhiQLError, match=reason) as caught:
        VirtualApp(text)
    assert caught.value.column > 1


@pytest.mark.parametrize("outputs", ["", "label", "label text", "a int, a int", "1a int"])
def test_outputs_are_names_and_types(outputs: str) -> None:
    """The checker says so."""
    call = f"#ml:predict('x', '{outputs}', a)"
    with pytest.raises(SiddhiQLError, match="outputs") as caught:
        check(f"define stream S (a int); from S{call} select a insert into O;")
    assert "label string" in (caught.value.hint or "")
