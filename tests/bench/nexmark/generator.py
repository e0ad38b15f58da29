"""People, auctions and bids, as NEXMark draws them: 1, 3 and 46 of every 50 events.

Every 10 ms of event time (or as told) bring 1,000 events, in the order people, auctions, bids. Half
of all bids go to one hot auction, three of four come from one hot bidder, three of four auctions
are of one hot seller; the others are spread over what is young. One seller in ten registers only
after its first auction. Money is in cents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lockstep.events import StreamSchema
from lockstep.events.codec import EncodedEntry, encode_batch

ROUND_MS: Final = 10
PEOPLE, AUCTIONS, BIDS = 20, 60, 920
ROUND_EVENTS: Final = PEOPLE + AUCTIONS + BIDS
START_MS: Final = 1_600_000_000_000  # ten seconds begin there
FIRST_ID: Final = 1_000
YOUNG_PEOPLE: Final = 1_000
YOUNG_AUCTIONS: Final = 100
UNREGISTERED: Final = 10
CHANNELS: Final = ("apple", "google", "facebook", "baidu")
STATES: Final = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES: Final = ("Phoenix", "Los Angeles", "Boise", "Portland", "Seattle", "Cheyenne")

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Round:
    """What one moment brings: a batch for each stream, with the attributes of SCHEMA."""

    time_ms: int
    person: pa.RecordBatch
    auction: pa.RecordBatch
    bid: pa.RecordBatch


SCHEMA: Final = """@app:playback
define stream Person (id long, name string, emailAddress string, creditCard string, city string,
  state string, dateTime long, extra string);
define stream Auction (id long, itemName string, description string, initialBid long, reserve long,
  dateTime long, expires long, seller long, category long, extra string);
define stream Bid (auction long, bidder long, price long, channel string, url string,
  dateTime long, extra string);
"""


def rounds(count: int, seed: int = 1, *, round_ms: int = ROUND_MS) -> Iterator[Round]:
    """So many of them, from the first on."""
    random = np.random.default_rng(seed)
    extras = _words(random, 500, 30)
    names, emails, cards = (_words(random, 1_000, size) for size in (12, 20, 16))
    urls = pa.array([f"https://www.nexmark.com/a{n}/b{n % 7}/item.htm?query=1" for n in range(500)])
    urls_of_channels = pa.array(
        [f"https://www.nexmark.com/a{n}/c/item.htm?query=1&channel_id={n}" for n in range(500)]
    )
    channels = pa.array([*CHANNELS, *(f"channel-{n}" for n in range(100))])

    def some(values: pa.Array, count: int) -> pa.Array:
        return values.take(pa.array(random.integers(0, len(values), count)))

    for number in range(count):
        time_ms = START_MS + number * round_ms
        people, auctions = FIRST_ID + number * PEOPLE, FIRST_ID + number * AUCTIONS
        last_person, last_auction = people + PEOPLE - 1, auctions + AUCTIONS - 1
        place = random.integers(0, len(CITIES), PEOPLE)
        person = [
            pa.array(np.arange(people, people + PEOPLE)),
            some(names, PEOPLE),
            some(emails, PEOPLE),
            some(cards, PEOPLE),
            pa.array(CITIES).take(pa.array(place)),
            pa.array(STATES).take(pa.array(place)),
            _same(time_ms, PEOPLE),
            some(extras, PEOPLE),
        ]
        initial = _price(random, AUCTIONS)
        auction = [
            pa.array(np.arange(auctions, auctions + AUCTIONS)),
            some(names, AUCTIONS),
            some(extras, AUCTIONS),
            pa.array(initial),
            pa.array(initial + _price(random, AUCTIONS)),
            _same(time_ms, AUCTIONS),
            pa.array(time_ms + round_ms * random.integers(1, 5, AUCTIONS)),
            pa.array(_sellers(random, last_person)),
            pa.array(random.integers(10, 15, AUCTIONS)),
            some(extras, AUCTIONS),
        ]
        is_named = random.random(BIDS) < 0.5
        channel = np.where(is_named, random.integers(0, 4, BIDS), random.integers(4, 104, BIDS))
        url = pa.array(is_named)
        bid = [
            pa.array(_hot(random, BIDS, 0.5, last_auction, YOUNG_AUCTIONS)),
            pa.array(_hot(random, BIDS, 0.75, last_person, YOUNG_PEOPLE)),
            pa.array(_price(random, BIDS)),
            channels.take(pa.array(channel)),
            pa.compute.if_else(url, some(urls, BIDS), some(urls_of_channels, BIDS)),
            _same(time_ms, BIDS),
            some(extras, BIDS),
        ]
        yield Round(time_ms, *map(_batch, (person, auction, bid)))


class NexmarkLog:
    """The rounds as records of an input log: one of each stream, in order."""

    def __init__(self, schemas: dict[str, StreamSchema]) -> None:
        self._schemas = [schemas[name] for name in ("Person", "Auction", "Bid")]
        self._position = 0

    def records(self, one: Round) -> list[EncodedEntry]:
        """Of one round; each event was sent alone."""
        made = []
        for schema, batch in zip(self._schemas, (one.person, one.auction, one.bid), strict=True):
            self._position += 1
            named = batch.rename_columns(list(schema.names))
            count = batch.num_rows
            stamps = _same(one.time_ms, count)
            ones = np.ones(count, np.int32)
            payload = encode_batch(schema, named, ones, one.time_ms, timestamps_ms=stamps)
            made.append(EncodedEntry(self._position, payload))
        return made


def _batch(columns: list[pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(columns, names=[f"c{n}" for n in range(len(columns))])


def _same(value: int, count: int) -> pa.Array:
    return pa.array(np.full(count, value))


def _words(random: np.random.Generator, count: int, size: int) -> pa.Array:
    letters = random.integers(97, 123, (count, size), np.uint8)
    return pa.array([bytes(row).decode() for row in letters])


def _price(random: np.random.Generator, count: int) -> Longs:
    drawn: Longs = np.rint(10 ** (random.random(count) * 6) * 100).astype(np.int64)
    return drawn


def _hot(random: np.random.Generator, count: int, share: float, last: int, young: int) -> Longs:
    """A share is the hot one, the last of whole hundreds; the others are spread over the young."""
    first = max(FIRST_ID, last - young)
    hot = max(FIRST_ID, last // 100 * 100)
    spread = random.integers(first, last + 1, count)
    return np.where(random.random(count) < share, hot, spread)


def _sellers(random: np.random.Generator, last: int) -> Longs:
    found = _hot(random, AUCTIONS, 0.75, last, YOUNG_PEOPLE)
    ahead = random.integers(1, UNREGISTERED + 1, AUCTIONS)
    return np.where(random.random(AUCTIONS) < 0.1, last + ahead, found)
