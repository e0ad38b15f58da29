SELECT auction, price, bidder, `dateTime` FROM (
  SELECT *, ROW_NUMBER() OVER (
    PARTITION BY window_start, window_end ORDER BY price DESC, auction, bidder, `dateTime`) AS place
  FROM TABLE(TUMBLE(TABLE Bid, DESCRIPTOR(rowtime), INTERVAL '10' SECOND))
) WHERE place = 1 AND window_end <= {last}
