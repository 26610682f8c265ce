-- Sums by day, for each time zone that was asked for. A day counts as summed while its row in sum_day_v1 is there.
create table if not exists internal.sum_day_v1 (
  timezone varchar not null,
  day date not null,
  ruleset varchar not null
);

-- The callers whose errors without facts were recorded under several rulesets, and where the newest of them begins.
create table if not exists internal.sum_cut_v1 (
  timezone varchar not null,
  caller varchar not null,
  ruleset varchar not null,
  first_at timestamp not null
);

drop table if exists internal.sum_count_v1;

create table if not exists internal.sum_count_v2 (
  timezone varchar not null,
  day date not null,
  caller varchar not null,
  sessions bigint not null,
  groups bigint not null,
  events bigint not null,
  unknown_sessions bigint not null,
  unknown_groups bigint not null,
  unknown_events bigint not null,
  unknown_sessions_replayed bigint not null,
  unknown_groups_replayed bigint not null,
  unknown_events_replayed bigint not null,
  not_replayed bigint not null,
  verdicts bigint not null,
  unknown_verdicts bigint not null,
  unknown_verdicts_replayed bigint not null
);

create table if not exists internal.sum_template_v1 (
  timezone varchar not null,
  day date not null,
  caller varchar not null,
  template varchar not null,
  sessions bigint not null,
  events bigint not null
);

-- Messages with a reason; weak are the sessions where weak evidence decided.
create table if not exists internal.sum_known_template_v1 (
  timezone varchar not null,
  day date not null,
  caller varchar not null,
  template varchar not null,
  reason varchar not null,
  sessions bigint not null,
  weak_sessions bigint not null,
  events bigint not null
);

drop table if exists internal.sum_mix_v1;

create table if not exists internal.sum_repeat_v1 (
  timezone varchar not null,
  day date not null,
  caller varchar not null,
  events bigint not null,
  groups bigint not null
);

create table if not exists internal.sum_loud_v1 (
  timezone varchar not null,
  day date not null,
  caller varchar not null,
  session varchar not null,
  template varchar not null,
  events bigint not null
);

create table if not exists internal.sum_relay_v2 (
  timezone varchar not null,
  day date not null,
  caller varchar not null,
  step varchar not null,
  relays bigint not null,
  sessions bigint not null,
  most bigint not null,
  at_work bigint not null
);

create table if not exists internal.sum_chain_v1 (
  timezone varchar not null,
  day date not null,
  caller varchar not null,
  reason varchar not null,
  chains bigint not null,
  recovered bigint not null,
  untried bigint not null
);

create table if not exists internal.sum_version_v1 (
  timezone varchar not null,
  day date not null,
  caller varchar not null,
  ruleset varchar not null,
  first_at timestamp not null,
  errors bigint not null
);

drop table if exists internal.sum_volume_v1;

drop table if exists internal.sum_volume_v2;

create table if not exists internal.sum_volume_v3 (
  timezone varchar not null,
  day date not null,
  caller varchar not null,
  hour integer not null,
  provider varchar not null,
  model varchar not null,
  project varchar not null,
  host varchar not null,
  reason varchar not null,
  sessions bigint not null,
  groups bigint not null
);

drop table if exists internal.sum_work_v1;

create table if not exists internal.sum_work_v2 (
  timezone varchar not null,
  day date not null,
  caller varchar not null,
  hour integer not null,
  sessions bigint not null,
  observed bigint not null
);

drop table if exists internal.sum_signal_v1;

drop table if exists internal.sum_signal_v2;

-- What no error tells; see detection-signals.
create table if not exists internal.sum_signal_v4 (
  timezone varchar not null,
  day date not null,
  caller varchar not null,
  signal varchar not null,
  name varchar not null,
  level integer not null,
  sessions bigint not null,
  groups bigint not null,
  exposure bigint not null
);

create table if not exists internal.sum_rule_v1 (
  timezone varchar not null,
  day date not null,
  caller varchar not null,
  rule varchar not null,
  reason varchar not null,
  sessions bigint not null
);
