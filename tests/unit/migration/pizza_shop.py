"""A pizza shop as it ran on WSO2 CEP 4: streams, receivers, an execution plan, publishers.

Written for these tests, in the formats of the older product.
"""

from __future__ import annotations

from typing import Final

from lockstep.migration import SourceFile

ORDERS: Final = """{
  "name": "pizza.orders", "version": "1.0.0", "nickName": "orders",
  "description": "what is asked for",
  "metaData": [{"name": "orderId", "type": "LONG"}],
  "correlationData": [{"name": "branch", "type": "STRING"}],
  "payloadData": [
    {"name": "pizza", "type": "STRING"}, {"name": "quantity", "type": "INT"},
    {"name": "price", "type": "DOUBLE"}
  ]
}"""

TOTALS: Final = """{
  "name": "pizza.totals", "version": "1.2.0",
  "payloadData": [{"name": "branch", "type": "STRING"}, {"name": "total", "type": "DOUBLE"}]
}"""

PLAN: Final = """/* The shop's till. */
@Plan:name('PizzaTill')
@Plan:description('What each branch has sold')
@Plan:trace('false')

@Import('pizza.orders:1.0.0')
define stream orders (meta_orderId long, correlation_branch string, pizza string,
    quantity int, price double);

@Export('pizza.totals:1.2.0')
define stream totals (branch string, total double);

@From(eventtable='hazelcast', cluster.name='shop', cluster.password='hz-pass')
@IndexedBy('branch')
define table Branches (branch string, total double);

-- the last twenty orders of each branch
@name('till') @dist(parallel='2')
from orders[quantity > 0]#window.length(20)
select correlation_branch as branch, sum(price * quantity) as total
group by correlation_branch
insert into totals;

from totals select branch, total insert overwrite Branches on branch == Branches.branch;
"""

RECEIVER: Final = """<?xml version="1.0" encoding="UTF-8"?>
<eventReceiver name="orderDesk" statistics="disable" trace="enable"
    xmlns="http://wso2.org/carbon/eventreceiver">
  <from eventAdapterType="http">
    <property name="transports">all</property>
    <property name="basicAuthEnabled">false</property>
  </from>
  <mapping customMapping="disable" type="json"/>
  <to streamName="pizza.orders" version="1.0.0"/>
</eventReceiver>
"""

PAPER: Final = """<eventReceiver name="paperDesk" xmlns="http://wso2.org/carbon/eventreceiver">
  <from eventAdapterType="mqtt">
    <property name="topic">desk/paper</property>
    <property name="url">tcp://broker:1883</property>
    <property name="clientId">desk</property>
    <property name="username">cook</property>
    <property encrypted="true" name="password">U2VjcmV0VmFsdWU=</property>
    <property name="cleanSession">false</property>
  </from>
  <mapping customMapping="enable" type="xml">
    <xpathDefinition prefix="p" namespace="urn:pizza"/>
    <property><from xpath="/p:order/p:id"/><to name="meta_orderId" type="long"/></property>
    <property><from xpath="/p:order/p:where"/>
      <to name="correlation_branch" type="string"/></property>
    <property><from xpath="/p:order/p:what"/><to name="pizza" type="string"/></property>
    <property><from xpath="/p:order/p:many"/><to name="quantity" type="int" default="1"/></property>
    <property><from xpath="/p:order/p:each"/><to name="price" type="double"/></property>
  </mapping>
  <to streamName="pizza.orders" version="1.0.0"/>
</eventReceiver>
"""

LOGGER: Final = """<eventPublisher name="tillLog" statistics="disable" trace="disable"
    xmlns="http://wso2.org/carbon/eventpublisher">
  <from streamName="pizza.totals" version="1.2.0"/>
  <mapping customMapping="enable" type="json">
    <inline>{"till": {"branch": {{branch}}, "total": {{total}}}}</inline>
  </mapping>
  <to eventAdapterType="logger"><property name="uniqueId">till</property></to>
</eventPublisher>
"""

OFFICE: Final = """<eventPublisher name="office" xmlns="http://wso2.org/carbon/eventpublisher">
  <from streamName="pizza.totals" version="1.2.0"/>
  <mapping customMapping="disable" type="xml"/>
  <to eventAdapterType="http">
    <property name="http.url">https://office:9443/totals</property>
    <property name="http.username">till</property>
    <property name="http.password">plain-pass</property>
    <property name="http.client.method">HttpPut</property>
    <property name="http.headers">X-Shop: pizza, Accept: text/xml</property>
  </to>
</eventPublisher>
"""

TEXTING: Final = """<eventPublisher name="texting" xmlns="http://wso2.org/carbon/eventpublisher">
  <from streamName="pizza.totals" version="1.2.0"/>
  <mapping customMapping="enable" type="text"><inline>{{branch}} sold {{total}}</inline></mapping>
  <to eventAdapterType="sms"><property name="sms.no">+94000000</property></to>
</eventPublisher>
"""

FILES: Final = {
    "eventstreams/orders_1.0.0.json": ORDERS,
    "eventstreams/totals_1.2.0.json": TOTALS,
    "executionplans/PizzaTill.siddhiql": PLAN,
    "eventreceivers/orderDesk.xml": RECEIVER,
    "eventreceivers/paperDesk.xml": PAPER,
    "eventpublishers/tillLog.xml": LOGGER,
    "eventpublishers/office.xml": OFFICE,
    "eventpublishers/texting.xml": TEXTING,
}

SECRETS: Final = ("hz-pass", "U2VjcmV0VmFsdWU", "plain-pass")


def files() -> list[SourceFile]:
    """The deployment."""
    return [SourceFile(name, text.encode()) for name, text in FILES.items()]
