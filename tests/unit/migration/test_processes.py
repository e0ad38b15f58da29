"""Apps that stand in other files: processes of Siddhi's operator, templates of business rules."""

from __future__ import annotations

import json

from lockstep.migration import Fate, Finding, Imported, SourceFile, convert
from lockstep.testing import VirtualApp

PROCESS = """apiVersion: v1
kind: ConfigMap
metadata:
  name: other
data:
  script: |
    no app
---
apiVersion: siddhi.io/v1alpha2
kind: SiddhiProcess
metadata:
  name: watch
spec:
  apps:
    - script: |
        @App:name("Doubled")
        define stream S (v int);

        -- script: |
        from S select v * 2 as w insert into O;
    -
      script: |
        @App:name('Second')
        define stream S (v int);
        from S select v insert into O;
        from S#nlp:words(v) select v insert into P;
    - configMap: third
    - script: >
        @App:name('Fourth')
  container:
    env:
      - name: WHERE
        value: "http://h"
  messagingSystem:
    type: nats
"""


def _imported(name: str, text: str) -> Imported:
    return convert([SourceFile(name, text.encode())])


def _to_decide(done: Imported) -> list[Finding]:
    return [one for one in done.findings if one.fate is Fate.TO_DECIDE]


def test_the_apps_of_a_process_are_taken_out() -> None:
    """With the places of their lines in the file; other documents of the file are left alone."""
    done = _imported("k8s/process.yaml", PROCESS)
    assert [(app.name, app.valid) for app in done.apps] == [("Doubled", True), ("Second", True)]
    with VirtualApp(done.apps[0].text) as app:
        app.send("S", [4])
        assert [tuple(event.data) for event in app.stream("O")] == [(8,)]
    line = PROCESS.split("\n").index("        from S#nlp:words(v) select v insert into P;") + 1
    found = {str(one.place): one for one in _to_decide(done)}
    assert "nlp:words" in found[f"k8s/process.yaml:{line}"].why


def test_what_of_a_process_is_not_read_is_to_decide() -> None:
    """Each with what to do."""
    told = {one.what: one for one in _to_decide(_imported("p.yml", PROCESS))}
    assert "ConfigMap" in told["configMap: third"].why
    assert "script: |" in told["script: >"].why
    assert "ends with .siddhi" in told["script: >"].suggestion
    assert "--set NAME=VALUE" in told["container of a SiddhiProcess"].suggestion
    assert not any("name" in what for what in told)


def test_other_files_in_yaml_stay_other_files() -> None:
    """Also those that define what a SiddhiProcess is."""
    crd = "kind: CustomResourceDefinition\nspec:\n  names:\n    kind: SiddhiProcess\n"
    for text in (crd, "kind: Service\n", "a: SiddhiProcess"):
        done = _imported("other.yaml", text)
        assert (done.artifacts, done.apps) == (0, ())
        assert [(one.fate, one.what) for one in done.findings] == [(Fate.DROPPED, "other files")]


def test_templates_of_business_rules_are_named() -> None:
    """They are no apps yet: values are missing. The report says which there are, and what to do."""
    contents = ['@App:name("Frequent")\nfrom S[v > ${limit}] …', "@app:name('Slow_${user}')"]
    rules = [{"templates": [{"type": "siddhiApp", "content": one}]} for one in contents]
    group = {"templateGroup": {"uuid": "a", "name": "Alerts", "ruleTemplates": rules}}
    done = _imported("templates/alerts.json", json.dumps(group))
    assert done.artifacts == 1
    assert done.apps == ()
    (found,) = done.findings
    assert found.fate is Fate.TO_DECIDE
    assert found.what == "business rule templates Alerts: Frequent, Slow_${user}"
    assert "lockstep templates put" in found.suggestion
