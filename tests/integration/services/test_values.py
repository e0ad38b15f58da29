"""Values and files that the command puts into a text, in a running suite: they are its version."""

from __future__ import annotations

import asyncio
from pathlib import Path

import onnx
from onnx import TensorProto, helper
from typer.testing import CliRunner, Result

from lockstep.cli.command import app as commands
from tests.integration.services.cluster import Cluster
from tests.integration.services.conftest import Start

TEXT = """@app:name('Valued') define stream In (a double, b double);
@sink(type='log', prefix='${PLACE}') define stream Told (a double, y double);
@info(name='told') from In#ml:predict('${MODEL}', 'y double', a, b)[y > ${LIMIT}]
select a, y insert into Told;
"""


def line() -> bytes:
    """y = 0.5 a + 2 b."""
    weights = helper.make_tensor("w", TensorProto.DOUBLE, [2, 1], [0.5, 2.0])
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "line",
        [helper.make_tensor_value_info("x", TensorProto.DOUBLE, [None, 2])],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, [None, 1])],
        [weights],
    )
    made: onnx.ModelProto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8
    )
    content: bytes = made.SerializeToString()
    return content


async def deploy(cluster: Cluster, *words: str) -> Result:
    """`lockstep deploy …` in this process."""
    services = ("receiver", "presenter", "coordinator")
    where = [f"--{service}={cluster.url(service)}" for service in services]
    return await asyncio.to_thread(
        CliRunner().invoke, commands, [*where, "deploy", *words, "--no-wait"]
    )


async def test_what_the_command_puts_in_is_part_of_the_version(
    cluster_of: Start, tmp_path: Path
) -> None:
    """A model and a limit, whoever folds the app; without them it is refused."""
    app, model, values = tmp_path / "a.siddhi", tmp_path / "line.onnx", tmp_path / "values"
    app.write_text(TEXT)
    model.write_bytes(line())
    values.write_text("PLACE=hall\nLIMIT=100.0\n")
    async with cluster_of("coordinator", "processor-1", "receiver", "presenter") as cluster:
        given = ("--set", "LIMIT=6.0", "--set-file", f"MODEL={model}")
        refused = await deploy(cluster, str(app), *given)
        assert (refused.exit_code, "no value is given for ${PLACE}" in refused.output) == (2, True)
        done = await deploy(cluster, str(app), *given, "--values", str(values))
        assert done.exit_code == 0, done.output
        await cluster.settled("Valued", 1)
        for a, b in ((2.0, 3.0), (2.0, 1.0), (-2.0, 4.0)):
            await cluster.send("Valued", "In", {"a": a, "b": b})
        rows = await cluster.published_count("Valued", 2)
        assert [row.data for row in rows] == [(2.0, 7.0), (-2.0, 7.0)]
        _, version = await cluster.call("GET", "coordinator", "/v1/apps/Valued/versions/1")
        assert "prefix='hall'" in version["text"]
        assert "[y > 6.0]" in version["text"]
