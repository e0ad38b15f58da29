# Everything that is done often. `make` alone lists it.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
WORKERS ?= 2
# Tests wait for a third of their time: for servers, and for what is tried again after a while.
WAITING ?= 3
# Tests are compiled once, also where Python is told to keep nothing.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
FAR = $(foreach server,kafka greenmail mariadb mosquitto rabbitmq rsyslog,scripts/$(server) $(VENV)/$(server);)
# Of the engines beside ours: all of them, or the one of the part that is measured.
BESIDE = $(foreach engine,siddhi flink bytewax,$(if $(findstring --part,$(ARGS)),$(if $(findstring $(engine),$(ARGS)),scripts/$(engine) $(VENV)/$(engine);),scripts/$(engine) $(VENV)/$(engine);))
BROKER = $(if $(findstring kafka,$(BUS)),scripts/kafka $(VENV)/kafka)

.PHONY: help demo unit test check format e2e observe chaos sim bench poison older-apps older-apps-played columns golden up down lock clean

help:  ## what can be done here
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/runtime  ## the whole suite on real input, with its answers checked; KEEP=1 stays up and shows the page
	$(BIN)/lockstep demo $(if $(KEEP),--keep)

unit: $(VENV)/dev  ## what needs no server, no JVM, no process of its own and is no property: about two minutes; WAITING=n processes, ARGS='-k …'
	PYTHONDONTWRITEBYTECODE= scripts/unit $(WAITING) $(BIN)/python $(ARGS)

test: unit  ## these, then all others but e2e, bench and `make check`, on real servers; EXAMPLES=50 tries properties on half as many
	scripts/browser
	scripts/kafka $(VENV)/kafka
	scripts/greenmail $(VENV)/greenmail
	scripts/mariadb $(VENV)/mariadb
	scripts/mongodb $(VENV)/mongodb
	scripts/openid $(VENV)/openid
	scripts/mosquitto $(VENV)/mosquitto
	scripts/rsyslog $(VENV)/rsyslog
	$(PYTEST) tests --ignore=tests/e2e --ignore=tests/bench --ignore=tests/architecture \
	    -m 'not unit' -n $(WAITING) --dist loadgroup $(ARGS) || test $$? = 5

check: $(VENV)/dev  ## format, lint, strict types, layers, sizes
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy & types=$$!; \
	$(BIN)/lint-imports && $(PYTEST) -q tests/architecture && wait $$types

format: $(VENV)/dev  ## lays the source out and mends what can be mended mechanically
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

e2e: $(VENV)/dev  ## separate processes; the active processor is killed three times; nothing lost, nothing twice; SCENARIO=handover, failover, fleet, history, past, batch, console, rights, fuzz, security, pausing, starved, trace, upgrade, connectors, lookups (SIZE=rows); BUS=kafka; ARGS=--tls
	$(BROKER)
	$(if $(findstring connectors,$(SCENARIO)),$(FAR))
	$(if $(findstring lookups,$(SCENARIO)),scripts/mariadb $(VENV)/mariadb)
	$(if $(findstring trace,$(SCENARIO)),scripts/rotel $(VENV)/rotel)
	$(BIN)/python -m tests.e2e.$(or $(SCENARIO),run) $(if $(BUS),--bus $(BUS)) $(if $(SIZE),--size $(SIZE)) $(ARGS)

observe: $(VENV)/dev  ## every expression of dashboards and alerts in a real Prometheus, under load; ARGS="--rate 1000"
	scripts/prometheus $(VENV)/prometheus
	$(BIN)/python -m tests.observing.run $(VENV)/prometheus $(ARGS)

chaos: $(VENV)/dev  ## random faults in real processes and servers under load; MINUTES=20 RATE= SEED= ONLY=a,b EXECUTOR=spark LIST=1 NETWORK=proxies BUS=kafka ARGS=--lenient
	$(BROKER)
	$(BIN)/python -m tests.chaos.run $(if $(LIST),--list) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(FAULTS),--faults $(FAULTS)) \
	  $(if $(RATE),--rate $(RATE)) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY)) $(if $(EXECUTOR),--executor $(EXECUTOR)) \
	  $(if $(NETWORK),--network $(NETWORK)) $(if $(BUS),--bus $(BUS)) $(ARGS)

sim: $(VENV)/dev  ## the services on a virtual clock under seeded faults, every invariant checked; SEEDS=2000 SEED=n BREAK=fencing
	PYTHONHASHSEED=0 $(BIN)/python -m tests.simulation.run --workers $(WORKERS) $(if $(SEED),--seed $(SEED)) $(if $(SEEDS),--seeds $(SEEDS)) \
	    $(if $(BREAK),--break $(BREAK)) $(ARGS)

poison: $(VENV)/dev  ## 200 drawn apps that explode, on both executors and on Spark beside neighbours; APPS=20
	POISON_APPS=$(or $(APPS),200) $(PYTEST) tests/property/test_poison.py
	$(BIN)/python -m tests.property.poison_neighbours --apps $(or $(APPS),200)

bench: $(VENV)/dev  ## throughput, latency and memory of engine and suite; BUS=nats,kafka ARGS='--part suite --only 5,000'
	$(BROKER)
	$(BESIDE)
	$(BIN)/python -m tests.bench.run $(if $(BUS),--bus $(BUS)) $(ARGS)

older-apps: $(VENV)/dev  ## which apps of the older products' collections are valid; DIRS='checkout other.git'; and what an import makes of samples: IMPORT=…
	$(if $(DIRS),$(BIN)/python -m tests.older_apps.run $(DIRS))
	$(if $(IMPORT),$(BIN)/python -m tests.older_apps.importing $(IMPORT))

older-apps-played: $(VENV)/dev  ## the valid ones of them run, events in by their sources and rows out at their sinks; DIRS='…' ARGS='--show --only NAME'
	scripts/kafka $(VENV)/kafka
	scripts/greenmail $(VENV)/greenmail
	scripts/mariadb $(VENV)/mariadb
	scripts/rabbitmq $(VENV)/rabbitmq
	$(BIN)/python -m tests.older_apps.playing.run $(DIRS) $(ARGS)

columns: $(VENV)/dev  ## which queries of many apps run in columns, by what they use; FILES='cases.jsonl apps/' ARGS='--reasons 3'
	$(BIN)/python -m tests.columns.run $(FILES) $(ARGS)

golden: $(VENV)/dev  ## the language's examples on both executors, whole and cut; REWRITE=1 accepts what comes out
	$(PYTEST) tests/golden $(if $(REWRITE),--rewrite) $(ARGS)

up: $(VENV)/runtime  ## one process per service, two processors, in the background
	scripts/up

down: $(VENV)/runtime  ## stops what `make up` started
	scripts/down

lock: $(VENV)/runtime  ## resolves the dependencies of pyproject.toml anew, with hashes
	scripts/lock

clean:  ## removes the environment and all caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; make PYTHON=…")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# The project itself comes last: an editable install, so that the source tree is what runs.
# An app's kernels are compiled when it is deployed, before its first event, and kept.
$(VENV)/runtime: $(VENV)/created requirements.lock pyproject.toml
	scripts/install $(VENV)
	$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# All kernels, and all modules that were left: tests must not wait for a compiler.
$(VENV)/dev: $(VENV)/runtime requirements-dev.lock
	$(PIP) install --quiet --require-hashes -r requirements-dev.lock & pip=$$!; \
	$(BIN)/python -m lockstep.execute.columnar.precompile && wait $$pip
	$(BIN)/python -m compileall -q -j $(WORKERS) $(VENV)/lib/python3*/site-packages libs services
	@touch $@
