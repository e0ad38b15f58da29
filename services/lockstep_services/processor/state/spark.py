"""The process's Spark: started and warmed before the processor is ready, stopped when it has
drained."""

from __future__ import annotations

from lockstep.embedded import prepare_spark_environment
from lockstep.events import Position
from lockstep.execute.contract import Executor
from lockstep.execute.spark import (
    Rebuilt,
    SparkExecutor,
    SparkOptions,
    close_slices,
    heap_bytes,
)
from lockstep.execute.spark.slots import tasks_max_of
from lockstep.plan import AppPlan, plan_of
from lockstep.settings import Settings
from lockstep.siddhiql.checking.app_annotations import tasks_of
from lockstep.telemetry import Logger, Metrics

WARM_UP_APP = (
    "@app:name('warm-up') define stream S (a string, b double); "
    "from S#window.timeBatch(1 sec) select a, sum(b) as b group by a insert into T;"
)
"""Its rehearsal loads what most apps use."""


class SparkExecutors:
    """Executors that share one Spark; all calls are blocking."""

    def __init__(self, settings: Settings, metrics: Metrics, log: Logger) -> None:
        self._settings = settings
        self._metrics = metrics
        self._log = log
        self._unfit: set[str] = set()
        self._suspected: dict[str, tuple[Position, Position]] = {}

    def open(self) -> None:
        """Java found, Spark started, a worker up: what the first app would wait for. NoJavaError,
        UnavailableError."""
        prepare_spark_environment()
        plan = plan_of(WARM_UP_APP)
        self.make(plan, self._log.bind(app=plan.name)).close()

    def make(self, plan: AppPlan, log: Logger) -> Executor:
        """An executor of the app, whose lines go to `log`; UnavailableError."""
        app, text = plan.name, plan.text

        def on_rebuilt(rebuilt: Rebuilt) -> None:
            self._metrics.count("lockstep_spark_rebuilds_total", app=app)
            log.warning(
                "state rebuilt", why=rebuilt.why, location=str(rebuilt.location),
                position=rebuilt.position, entries=rebuilt.entries,
            )  # fmt: skip

        def on_suspected(first: Position, last: Position) -> None:
            self._suspected[text] = (first, last)
            log.warning("a slice cannot be folded as it is", position=first, last_position=last)

        spark = self._settings.spark
        asked = tasks_of(plan.checked.annotations)
        tasks_max = tasks_max_of(asked, spark.app_max_tasks)
        options = SparkOptions(
            master=spark.master,
            driver_memory=spark.driver_memory,
            executor_memory=spark.executor_memory,
            executor_cores=spark.executor_cores,
            cluster_max_cores=spark.cluster_max_cores,
            local_directory=str(spark.state_directory),
            slots=spark.workers,
        )
        executor = SparkExecutor(
            plan,
            # Folding the log again would come to the same values again.
            columnar=text not in self._unfit,
            dedup_ids_max=self._settings.processor.dedup_max_ids,
            rehearsed=True,
            shards=spark.parallelism if asked is None else asked,
            tasks_max=tasks_max,
            options=options,
            base_max_bytes=self._settings.processor.rebuild_max_bytes,
            on_rebuilt=on_rebuilt,
            on_unfit=lambda: self._unfit.add(text),
            on_suspected=on_suspected,
            careful=self._suspected.get(text),
            memory_max_bytes=_bytes_of(spark.worker_memory),
        )
        places = [str(location) for location in executor.locations]
        log.info("state placed", locations=places, tasks_max=tasks_max)
        return executor

    def show_heap(self) -> None:
        """How full the JVM's heap is."""
        for area, size_bytes in heap_bytes().items():
            self._metrics.set("lockstep_jvm_heap_bytes", size_bytes, area=area)

    def close(self) -> None:
        """Spark is stopped; its workers and their states are gone."""
        close_slices()


def _bytes_of(size: str) -> int:
    return int(size[:-1]) << {"k": 10, "m": 20, "g": 30, "t": 40}[size[-1]]
