-- Tables behind the views. They may change between versions; the views are what users query.
create schema if not exists internal;

-- Texts of a payload's numbers and moments: what is out of all bounds is null, so that no sum over it can overflow.
create or replace macro internal.whole(said) as (
  case
    when try_cast(said as bigint) between 0 and 1000000000000 then try_cast(said as bigint)
  end
);

create or replace macro internal.amount(said) as (
  case
    when try_cast(said as double) between 0 and 1000000000000000 then try_cast(said as double)
  end
);

create or replace macro internal.moment(said) as (
  case
    when try_cast(said as timestamptz) between timestamptz '1970-01-01 00:00:00Z' and timestamptz '2200-01-01 00:00:00Z'
    then timezone('UTC', try_cast(said as timestamptz))
  end
);

-- Turns of a session that its user stopped; the payload alone counts them.
create or replace macro internal.aborted(type, payload) as (
  case
    when type = 'session.observed' and contains(payload, '"aborted":')
    then internal.whole(json_extract_string(payload, '$.aborted'))
  end
);

-- Of a failure: did work come to nothing, which nobody refused or stopped?
create or replace macro internal.is_in_vain(tool_kind, reason, detail) as (
  coalesce(tool_kind, '') not in ('refused', 'cancelled')
  and coalesce(reason, '') <> 'tool_not_found'
  and coalesce(detail, '') <> 'aborted'
);

-- Who serves the model. Claude Code names no provider in most of its errors: the form of the model's name tells Bedrock
-- and Vertex apart.
create or replace macro internal.provider_of(provider, agent, model) as (
  coalesce(provider, case
    when agent is distinct from 'claude-code' then null
    when model like '%anthropic.claude%' then 'aws'
    when model like 'claude-%@%' then 'google'
    when coalesce(model, 'claude-') like 'claude-%' then 'anthropic'
  end)
);

create table if not exists internal.store_v1 (key varchar not null, value varchar);

create table if not exists internal.event_v1 (
  event_id varchar not null using compression zstd,
  type varchar not null,
  occurred_at timestamp not null,
  session_id varchar,
  schema_version integer,
  writer varchar,
  seq bigint,
  dropped_before bigint,
  host varchar,
  time_source varchar,
  recognised boolean,
  -- Long texts of one shape: ZSTD makes them smaller than FSST does, in half the time.
  payload varchar not null using compression zstd,
  facts_id varchar using compression zstd,
  source_format varchar,
  source_path varchar,
  source_line bigint,
  ingested_at timestamp not null,
  {typed columns of event_v1}
);

create table if not exists internal.facts_v1 (
  facts_id varchar not null,
  facts varchar not null using compression zstd,
  -- Of unknown errors that a release up to 0.2 read: its proposal, with probability 0 where it had none.
  suggested_reason varchar,
  suggested_probability double,
  {typed columns of facts_v1}
);

create table if not exists internal.verdict_v1 (
  facts_id varchar not null,
  ruleset varchar not null,
  reason varchar not null,
  detail varchar,
  retryable boolean not null,
  action varchar not null,
  rule varchar not null,
  judged_at timestamp not null,
  confidence varchar
);

create table if not exists internal.source_v1 (
  source_id bigint not null,
  path varchar not null,
  format varchar not null,
  status varchar not null,
  detail varchar,
  codec varchar,
  generation integer not null,
  fingerprint varchar,
  fingerprint_length bigint,
  mark varchar,
  mark_length bigint,
  read_bytes bigint not null,
  read_lines bigint not null,
  line_open boolean not null,
  torn_bytes bigint not null,
  size bigint,
  mtime_ns bigint,
  ctime_ns bigint,
  state varchar,
  lines bigint not null,
  event_lines bigint not null,
  events bigint not null,
  duplicates bigint not null,
  quarantined bigint not null,
  blank bigint not null,
  skipped bigint not null,
  bytes bigint not null,
  event_bytes bigint not null,
  duplicate_bytes bigint not null,
  quarantined_bytes bigint not null,
  blank_bytes bigint not null,
  skipped_bytes bigint not null,
  pending_bytes bigint not null,
  incident varchar,
  incident_at timestamp,
  first_ingested_at timestamp not null,
  last_ingested_at timestamp not null,
  batch_id varchar not null
);

create table if not exists internal.quarantine_v1 (
  source_id bigint not null,
  source_path varchar not null,
  line bigint not null,
  byte_offset bigint not null,
  byte_length bigint not null,
  why varchar not null,
  detail varchar,
  text varchar,
  ingested_at timestamp not null
);

-- Whether a log is what is sent of each call to whoever watches, so that an agent's own log may tell the same.
create or replace macro internal.is_watching(format) as (
  format in (
    'otlp', 'gemini_telemetry', 'copilot_spans', 'langfuse', 'langsmith', 'mlflow', 'weave', 'openai_agents'
  )
);

-- Failures and hand-offs of a session that both the agent's own log and its telemetry tell: the ids of the events that say less. Of
-- logs that keep every retry these are the telemetry's, of others their own. Both tell one where they are five seconds apart at most,
-- and neither names another status or tool than the other one.
--
-- Each event asks for one at most five seconds away. Those that may answer are gathered by slots of five seconds, of which the first
-- and the last count: whoever asks lies in the same slot, and then any of them is near enough, or in the one before or behind it. What
-- an event does not name ('-') fits whatever is asked for, and whatever is named ('*') fits who does not name it.
create or replace view internal.told_by_both as
with teller as (
  select
    e.event_id,
    e.session_id,
    e.type,
    e.occurred_at,
    time_bucket(interval 5 second, e.occurred_at) as slot,
    case
      when internal.is_watching(e.source_format) then 'watching'
      when e.source_format in ('claude_code', 'claude_print', 'qwen') then 'keeping'
      else 'own'
    end as kind,
    coalesce(f.status::varchar, '-') as status,
    coalesce('=' || e.seen[1].tool, '-') as tool
  from internal.event_v1 as e
  left join internal.facts_v1 as f
    on e.facts_id = f.facts_id
  where e.type in ('error.classified', 'tool.failed', 'relay.triggered')
    and e.source_format is not null
    and e.session_id in (select session_id from internal.event_v1 where internal.is_watching(source_format))
),

answer as (
  select
    session_id,
    type,
    kind,
    slot,
    named,
    min(occurred_at) as first_at,
    max(occurred_at) as last_at
  from (
    select
      *,
      unnest([status || tool, status || '*', '*' || tool, '**']) as named
    from teller
    where kind <> 'own'
  )
  group by all
),

question as (
  select
    *,
    unnest([slot - interval 5 second, slot, slot + interval 5 second]) as near
  from (
    select
      *,
      unnest(case
        when status = '-' and tool = '-' then ['**']
        when tool = '-' then [status || '*', '-*']
        when status = '-' then ['*' || tool, '*-']
        else [status || tool, status || '-', '-' || tool, '--']
      end) as named
    from teller
    where kind <> 'keeping'
  )
)

select q.event_id
from question as q
semi join answer as a
  on q.session_id = a.session_id
  and q.type = a.type
  and case when q.kind = 'watching' then 'keeping' else 'watching' end = a.kind
  and q.near = a.slot
  and q.named = a.named
  and a.last_at >= q.occurred_at - interval 5 second
  and a.first_at <= q.occurred_at + interval 5 second
union all
-- The agent's own log states the tokens of all its requests.
select event_id
from internal.event_v1
where type = 'usage.recorded'
  and internal.is_watching(source_format)
  and session_id in (
    select session_id
    from internal.event_v1
    where type = 'usage.recorded'
      and not internal.is_watching(source_format)
  );

-- Records that a fork copied out of a session which is there, too: the same type, moment and content in another session, which is no
-- copy itself or the first one.
create or replace view internal.copied as
with record as (
  select
    event_id,
    session_id,
    work[1].forked_from is not null as is_copy,
    concat_ws(
      '/',
      type,
      epoch_us(occurred_at),
      facts_id,
      message,
      attempt,
      seen[1].tool,
      seen[1].pre_tokens,
      used[1].input_tokens,
      used[1].output_tokens
    ) as content
  from internal.event_v1
  where type <> 'session.observed'
)

select c.event_id
from record as c
semi join record as r
  on c.content = r.content
  and c.session_id <> r.session_id
  and (not r.is_copy or r.event_id < c.event_id)
where c.is_copy;

-- Both; none until a first watching log or fork is there (`leave_out_told_twice`), as most stores have none, and to plan the others takes
-- a third of the time that a question takes.
create or replace view internal.told_twice as
select event_id
from internal.event_v1
where false;

-- Each request to a model once, of those that were recorded in a window; null asks for all. The sum of a whole run is there only if no single
-- request of its session is.
create or replace macro internal.requests(since, until) as table
with told as (
  select
    e.event_id,
    occurred_at,
    session_id,
    coalesce(caller, '(none)') as caller,
    work[1].agent as agent,
    work[1].agent_version as agent_version,
    work[1].project as project,
    provider,
    model,
    used[1] as one,
    e.answered[1] as answered
  from internal.event_v1 as e
  anti join internal.told_twice as w
    on e.event_id = w.event_id
  where type = 'usage.recorded'
    and (since is null or occurred_at >= since)
    and (until is null or occurred_at < until)
)

select *
from told
where one.whole_run is not true
  or not exists (
    from told as t
    where t.session_id = told.session_id and t.one.whole_run is not true
  )
qualify row_number() over (
  partition by coalesce(one.request, event_id)
  order by one.output_tokens desc nulls last, occurred_at, event_id
) = 1;

-- Errors with their facts and the active verdict, without what became of them.
create or replace view internal.error as
with active as (
  select v.*
  from internal.verdict_v1 as v
  inner join internal.store_v1 as s
    on s.key = 'active_ruleset'
    and v.ruleset = s.value
)

select
  e.*,
  e.facts_id is not null as has_facts,
  f.status,
  f.code,
  f.error_type,
  f.provider as seen_provider,
  f.model as seen_model,
  f.request_id as seen_request_id,
  coalesce(f.message, e.message) as said,
  coalesce(f.template, e.template) as masked,
  coalesce(f.fingerprint, e.fingerprint) as mask_id,
  v.reason as judged_reason,
  v.retryable as judged_retryable,
  v.action as judged_action,
  v.rule as judged_rule,
  v.confidence as judged_confidence,
  v.ruleset as judged_ruleset,
  f.suggested_reason,
  f.suggested_probability,
  coalesce(v.reason, e.reason, 'unknown') as shown_reason,
  case
    when v.reason is null then e.detail
    else v.detail
  end as shown_detail
from internal.event_v1 as e
anti join internal.told_twice as w
  on e.event_id = w.event_id
left join internal.facts_v1 as f
  on e.facts_id = f.facts_id
left join active as v
  on e.facts_id = v.facts_id
where e.type = 'error.classified';
