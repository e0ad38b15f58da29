SELECT auction, bids FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY bids DESC, auction) AS place FROM (
    SELECT window_start, window_end, auction, COUNT(*) AS bids
    FROM TABLE(HOP(TABLE Bid, DESCRIPTOR(rowtime), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY window_start, window_end, auction
  )
) WHERE place = 1 AND window_end <= {last}
