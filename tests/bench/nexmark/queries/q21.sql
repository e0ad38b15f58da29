select auction, bidder, price, channel, case channel when 'apple' then '0' when 'google' then '1' when 'facebook' then '2'
  when 'baidu' then '3' else regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) end
from bid where channel in ('apple', 'google', 'facebook', 'baidu') or contains(url, 'channel_id=')
