"""Execution plans of CEP 3 with builders and formatters, and buckets of CEP 2."""

from __future__ import annotations

import pytest

from lockstep.migration import Fate, SourceFile, convert, reading
from lockstep.testing import VirtualApp
from tests.older_apps.accounting import unaccounted

STREAMS = """<streamDefinitions>
  <streamDefinition name="sales" version="1.0.0">
    <payloadData>
      <property name="shop" type="STRING"/><property name="cents" type="LONG"/>
    </payloadData>
  </streamDefinition>
  <streamDefinition name="sums" version="1.0.0">
    <payloadData>
      <property name="shop" type="STRING"/><property name="total" type="LONG"/>
    </payloadData>
  </streamDefinition>
</streamDefinitions>"""

PLAN = """<executionPlan name="Sums" statistics="disable" trace="disable"
    xmlns="http://wso2.org/carbon/eventprocessor">
  <description>Sums of shops</description>
  <siddhiConfiguration>
    <property name="siddhi.enable.distributed.processing">false</property>
    <property name="siddhi.persistence.snapshot.time.interval.minutes">0</property>
  </siddhiConfiguration>
  <importedStreams><stream as="sales" name="sales" version="1.0.0"/></importedStreams>
  <queryExpressions><![CDATA[
    from sales[cents > 0]#window.length(10)
    select shop, sum(cents) as total group by shop
    insert into sums for current-events;
  ]]></queryExpressions>
  <exportedStreams><stream name="sums" valueOf="sums" version="1.0.0"/></exportedStreams>
</executionPlan>"""

BUILDER = """<eventBuilder name="salesBuilder" statistics="disable" trace="disable"
    xmlns="http://wso2.org/carbon/eventbuilder">
  <from eventAdaptorName="desk" eventAdaptorType="http"/>
  <mapping customMapping="disable" type="json"/>
  <to streamName="sales" version="1.0.0"/>
</eventBuilder>"""

FORMATTER = """<eventFormatter name="sumsFormatter" statistics="disable" trace="disable"
    xmlns="http://wso2.org/carbon/eventformatter">
  <from streamName="sums" version="1.0.0"/>
  <mapping customMapping="enable" type="text"><inline>{{shop}}: {{total}}</inline></mapping>
  <to eventAdaptorName="queue" eventAdaptorType="mqtt"><property name="topic">sums</property></to>
</eventFormatter>"""

ADAPTORS = (
    '<inputEventAdaptor name="desk" type="http" statistics="disable" trace="disable"/>',
    """<outputEventAdaptor name="queue" type="mqtt" statistics="disable" trace="disable">
  <property name="url">tcp://broker:1883</property><property name="clientId">sums</property>
</outputEventAdaptor>""",
)

BUCKET = """<cep:bucket xmlns:cep="http://wso2.org/carbon/cep" name="Quotes">
  <cep:description>Means of prices</cep:description>
  <cep:engineProviderConfiguration engineProvider="SiddhiCEPRuntime">
    <cep:property name="siddhi.enable.distributed.processing">false</cep:property>
  </cep:engineProviderConfiguration>
  <cep:input topic="AllQuotes" brokerName="localBroker">
    <cep:xmlMapping queryEventType="Tuple" stream="quotes">
      <cep:xpathDefinition prefix="q" namespace="urn:quotes"/>
      <cep:property name="symbol" xpath="//q:quote/q:symbol" type="java.lang.String"/>
      <cep:property name="price" xpath="//q:quote/q:price" type="java.lang.Double"/>
    </cep:xmlMapping>
  </cep:input>
  <cep:query name="Means">
    <cep:expression><![CDATA[from quotes#window.time(120000)
insert into means
symbol, avg(price) as mean
group by symbol;]]></cep:expression>
    <cep:output topic="Means" brokerName="localBroker">
      <cep:xmlMapping><q:mean xmlns:q="urn:quotes">{mean}</q:mean></cep:xmlMapping>
    </cep:output>
  </cep:query>
</cep:bucket>"""


def test_a_plan_of_cep_3() -> None:
    """Builders and formatters find their adaptors; lines are those of the file."""
    texts = {"plan.xml": PLAN, "b.xml": BUILDER, "f.xml": FORMATTER, "a0.xml": ADAPTORS[0],
             "a1.xml": ADAPTORS[1], "stream-definitions.xml": STREAMS}  # fmt: skip
    files = [SourceFile(name, text.encode()) for name, text in texts.items()]
    done = convert(files)
    assert [(app.name, app.valid) for app in done.apps] == [("Sums", True)]
    text = done.apps[0].text
    assert "receiver.url='http://0.0.0.0:9763/endpoints/salesBuilder'" in text
    assert "url='tcp://broker:1883', client.id='sums', topic='sums'" in text
    assert "@app:description('Sums of shops')" in text
    with VirtualApp(text) as app:
        app.send("sales", ["a", 5])
        app.send("sales", ["a", 6])
        assert [tuple(event.data) for event in app.stream("sums")] == [("a", 5), ("a", 11)]
    assert unaccounted(files, done) == []
    changed = [one for one in done.findings if "for current-events" in one.what]
    assert [str(one.place) for one in changed] == ["plan.xml:12"]


def test_a_bucket_of_cep_2() -> None:
    """Its query has the selection behind; brokers are to decide."""
    files = [SourceFile("quotes.xml", BUCKET.encode())]
    done = convert(files)
    assert [(app.name, app.valid) for app in done.apps] == [("Quotes", True)]
    with VirtualApp(done.apps[0].text) as app:
        app.send("quotes", ["x", 2.0])
        app.send("quotes", ["x", 4.0])
        assert [tuple(event.data) for event in app.stream("means")] == [("x", 2.0), ("x", 3.0)]
    found = [one for one in done.findings if one.fate is Fate.TO_DECIDE]
    assert [(one.place.line, "localBroker" in one.what) for one in found] == [(6, True), (18, True)]
    assert unaccounted(files, done) == []


def test_a_description_does_not_end_the_import() -> None:
    """Whatever quotes are in it; the other files are imported, too."""
    hot = PLAN.replace("Sums of shops", 'Tells when it is "hot"')
    odd = PLAN.replace('name="Sums"', 'name="Odd"').replace("Sums of shops", 'a """b""" \'c')
    bucket = BUCKET.replace('name="Means"', 'name=\'a """ b\'')
    done = convert(
        SourceFile(f"{number}.xml", text.encode())
        for number, text in enumerate((STREAMS, hot, odd, bucket))
    )
    apps = {app.name: app.text for app in done.apps}
    assert set(apps) == {"Sums", "Odd", "Quotes"}
    assert '@app:description("""Tells when it is "hot" """)' in apps["Sums"]
    assert "@app:description" not in apps["Odd"]
    assert "@info(name='a_____b')" in apps["Quotes"]
    told = {finding.fate for finding in done.findings if "no string" in finding.why}
    assert told == {Fate.TO_DECIDE, Fate.CHANGED}


def test_a_long_text_comes_in_few_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line would be joined to all before it otherwise, which takes minutes."""
    parts: list[str] = []
    monkeypatch.setattr(reading._Builder, "_characters", lambda _, text: parts.append(text))
    text = "line\n" * 10_000
    reading.parse_xml(SourceFile("long.xml", f"<a>{text}</a>".encode()))
    assert "".join(parts) == text
    assert len(parts) == 1
