-- view writers: One row a process that wrote events of its own, with the gaps in its count.
-- column writer VARCHAR: The process, as host:pid:random.
-- column host VARCHAR: Its machine.
-- column events BIGINT: Events of it in this store.
-- column last_seq BIGINT: The highest number it gave; numbers begin at 0.
-- column missing BIGINT: Numbers below the highest that no event here carries: an estimate of what was lost. Those below the lowest are left out once the store was pruned.
-- column dropped BIGINT: How many events it said itself that it could not write; most of them are missing, too.
-- column lost BIGINT: The larger of the two, as an estimate; what a killed writer lost behind its last event shows nowhere.
-- column first_at TIMESTAMP: Its first event, UTC.
-- column last_at TIMESTAMP: Its last event, UTC.
select
  writer,
  min(host) as host,
  count(*) as events,
  max(seq) as last_seq,
  max(seq) + 1 - count(distinct seq)
  - case
    when exists (from internal.store_v1 where key = 'horizon') then min(seq)
    else 0
  end as missing,
  coalesce(sum(dropped_before), 0)::bigint as dropped,
  greatest(
    max(seq) + 1 - count(distinct seq)
    - case
      when exists (from internal.store_v1 where key = 'horizon') then min(seq)
      else 0
    end,
    coalesce(sum(dropped_before), 0)::bigint
  ) as lost,
  min(occurred_at) as first_at,
  max(occurred_at) as last_at
from internal.event_v1
where writer is not null
  and seq is not null
group by writer
