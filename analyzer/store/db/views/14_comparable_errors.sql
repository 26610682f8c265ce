-- view comparable_errors(digest VARCHAR, until TIMESTAMP): Those of errors_under before a moment whose verdicts may be held against each other, which is what detection is judged from. Errors without facts take part from the first one of their caller's newest recorded ruleset on, and before it where they have the same one; null asks for all of history.
-- column event_id VARCHAR: Unique id of the event.
-- column occurred_at TIMESTAMP: When it happened, UTC.
-- column caller VARCHAR: Who made the call that failed; (none) where the log does not say.
-- column session VARCHAR: What counts as one session: the agent's session, else the retry chain, else the file.
-- column operation VARCHAR: Its retry chain.
-- column template VARCHAR: Fingerprint of the message; empty without a message.
-- column message VARCHAR: What the error said, redacted and capped.
-- column reason VARCHAR: The verdict; the recorded reason where the ruleset gave none; unknown without either.
-- column detail VARCHAR: The finer cause.
-- column rule VARCHAR: The rule that matched; null where none did.
-- column counted BOOLEAN: Whether it takes part in the unknown share: neither aborted nor an unknown error without any detail.
-- column recorded_reason VARCHAR: The reason that the producer wrote; null where it wrote none.
-- column recorded_as_unknown BOOLEAN: Whether it counts as unknown by what the producer wrote.
-- column judged BOOLEAN: Whether the ruleset gave the verdict; false where what was recorded is kept.
-- column has_facts BOOLEAN: Whether it carries what the classifier saw, and so can be judged again.
-- column recorded_ruleset VARCHAR: Digest of the rules that the producer judged by; empty where the log does not say.
-- column provider VARCHAR: Whose API failed; null where the log does not say.
-- column model VARCHAR: The model that was asked; null where the log does not say.
-- column project VARCHAR: The last name of the working directory; null where the log does not say.
-- column host VARCHAR: The machine that wrote it; null where the log does not say.
-- column confidence VARCHAR: strong, or weak where a bare status or exit code or weak words decided; null where no rule matched, or nobody said.
-- column status INTEGER: HTTP status.
-- column suggested_reason VARCHAR: What a release up to 0.2 proposed for an unknown error; null for errors read since.
-- column suggested_probability DOUBLE: Share of such proposals that were held to be right, 0..1; null likewise.
with version as (
  -- Verdicts of different rules are not comparable, and without facts they cannot be made so.
  select
    caller,
    recorded_ruleset as ruleset,
    min(occurred_at) as first_at
  from errors_under(null)
  where not has_facts
    and (until is null or occurred_at < until)
  group by all
),

newest as (
  select
    caller,
    arg_max(ruleset, (first_at, ruleset)) as ruleset,
    max(first_at) as first_at
  from version
  group by caller
)

select e.*
from errors_under(digest) as e
left join newest as n
  on e.caller = n.caller
where (until is null or e.occurred_at < until)
  and (e.has_facts or e.occurred_at >= n.first_at or e.recorded_ruleset = n.ruleset)
