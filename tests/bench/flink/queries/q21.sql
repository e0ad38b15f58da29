SELECT auction, bidder, price, channel,
  CASE channel WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
  ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END AS `number`
FROM Bid WHERE channel IN ('apple', 'google', 'facebook', 'baidu') OR POSITION('channel_id=' IN url) > 0
