SELECT bidder, COUNT(*) AS bids
FROM TABLE(SESSION(TABLE Bid PARTITION BY bidder, DESCRIPTOR(rowtime), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end
