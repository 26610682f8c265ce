-- Tables behind the views. They may change between versions; the views are what users query.
create table if not exists store_v1 (key varchar not null, value varchar);

create table if not exists event_v1 (
  event_id varchar not null,
  type varchar not null,
  occurred_at timestamp not null,
  session_id varchar,
  schema_version integer,
  writer varchar,
  seq bigint,
  host varchar,
  time_source varchar,
  payload varchar not null,
  facts_id varchar,
  source_format varchar,
  source_path varchar,
  source_line bigint,
  ingested_at timestamp not null
);

create table if not exists facts_v1 (facts_id varchar not null, facts varchar not null);

create table if not exists source_v1 (
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
  size bigint,
  mtime_ns bigint,
  state varchar,
  lines bigint not null,
  event_lines bigint not null,
  events bigint not null,
  duplicates bigint not null,
  quarantined bigint not null,
  blank bigint not null,
  skipped bigint not null,
  bytes bigint not null,
  pending_bytes bigint not null,
  first_ingested_at timestamp not null,
  last_ingested_at timestamp not null
);

create table if not exists quarantine_v1 (
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
