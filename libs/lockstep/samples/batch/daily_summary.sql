-- name: daily_summary
-- cron: 0 0 6 * * ? Europe/Berlin
-- output: table daily_summary
-- missed: each
-- time-limit: 10 min
-- keep: 2 years

-- Every morning: what was clicked since the summary before, page by page. The sample app `visits` takes the clicks in;
-- @app:archive in its text has them archived. `new_Click` holds each click in exactly one summary.
select page,
       count(*)                as clicks,
       count(distinct visitor) as visitors,
       min(_time)              as first_click,
       max(_time)              as last_click,
       :due                    as summed_up_at
from new_Click
group by page
order by clicks desc, page
