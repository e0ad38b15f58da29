SELECT bidder, bids FROM (
  SELECT bidder, COUNT(*) AS bids, window_end
  FROM TABLE(TUMBLE(TABLE Bid, DESCRIPTOR(rowtime), INTERVAL '10' SECOND))
  GROUP BY bidder, window_start, window_end
) WHERE window_end <= {last}
