"""The pizza shop's orders and deliveries: made up, the same every time; and who should be
counted."""

from __future__ import annotations

from collections import Counter

from lockstep.cli.demo.feed import TimedEvent

CUSTOMERS = ("Alba", "Bruno", "Carla", "Dario", "Elena")
PIZZAS = ("Margherita", "Marinara", "Quattro formaggi")
ORDERS = 500
START_MS = 1_700_000_000_000
ORDER_EVERY_MS = 2_000
OVERDUE_MS = 30_000
SLOWEST_MS = 45_000
DELIVERIES_KEPT = 100


def pizza_events() -> list[TimedEvent]:
    """Orders every two seconds; every seventh is never delivered, the others after 5 to 45 s."""
    events: list[TimedEvent] = []
    for i in range(ORDERS):
        ordered_ms = START_MS + i * ORDER_EVERY_MS
        order = {
            "order_id": f"o{i}",
            "customer_name": CUSTOMERS[i * i % len(CUSTOMERS)],
            "pizza": PIZZAS[i % len(PIZZAS)],
        }
        events.append(("Orders", ordered_ms, order))
        if i % 7:
            delivered_ms = ordered_ms + 5_000 + i * 7_919 % (SLOWEST_MS - 5_000)
            events.append(
                ("Deliveries", delivered_ms, {"order_id": f"o{i}", "courier": f"c{i % 3}"})
            )
    # Time has to pass for the last orders to become overdue: in playback events move the clock.
    closing_ms = START_MS + ORDERS * ORDER_EVERY_MS + SLOWEST_MS + OVERDUE_MS
    events.append(("Deliveries", closing_ms, {"order_id": "closing", "courier": "c0"}))
    return sorted(events, key=lambda event: event[1])


def pizza_answer(events: list[TimedEvent]) -> list[tuple[str, int]]:
    """(customer, orders that were delivered by the time they became overdue), worked out by hand.

    An order is overdue thirty seconds after it came. At that moment it is looked up among the last
    hundred deliveries before it.
    """
    counts: Counter[str] = Counter()
    deliveries = [
        (ts, values["order_id"]) for stream, ts, values in events if stream == "Deliveries"
    ]
    for stream, ts, values in events:
        if stream == "Orders":
            due_ms = ts + OVERDUE_MS
            before = [order_id for at_ms, order_id in deliveries if at_ms < due_ms]
            if values["order_id"] in before[-DELIVERIES_KEPT:]:
                counts[values["customer_name"]] += 1
    return sorted(counts.items())
