create table sessions (id, title, model, cwd_at_start, updated_at);
create table tool_calls (id integer primary key, session_id, tool_name, args_json, started_at);
create table tool_results (id integer primary key, tool_call_row_id, output_json, success, created_at);
create table usage_events (id integer primary key, session_id, model, input_tokens, output_tokens, created_at);
create table compactions (id integer primary key, session_id, tokens_before, summary, created_at);
insert into sessions values ('s', 'zebra quill 77', 'm', '/x', '2026-03-05T10:01:00.000Z');
insert into tool_calls values (1, 's', 'bash', '{"command": "zebra quill 77"}', '2026-03-05T10:01:00.000Z');
insert into tool_results values (1, 1, '{"error": "ENOENT\nzebra quill 77", "value": "zebra quill 77"}', 0, '2026-03-05T10:01:00.000Z');
insert into compactions values (1, 's', 900, 'zebra quill 77', '2026-03-05T10:01:00.000Z');
