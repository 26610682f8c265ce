create table spans (span_id, trace_id, parent_span_id, name, start_time_ms, end_time_ms, status_code, status_message, operation_name, chat_session_id, tool_name);
create table span_attributes (span_id, key, value);
create table span_events (id, span_id, name, attributes);
insert into spans values ('a', 't', null, 'zebra quill 77', 1772704860000, 1772704860000, 2, 'busy', 'chat', 's', null);
insert into spans values ('b', 't', 'a', 'zebra quill 77', 1772704860000, 1772704860000, 2, 'no such file
zebra quill 77', 'execute_tool', 's', 'run');
insert into span_attributes values ('a', 'gen_ai.input.messages', 'zebra quill 77');
insert into span_attributes values ('b', 'gen_ai.tool.call.arguments', 'zebra quill 77');
insert into span_events values (1, 'a', 'user_message', '{"content": "zebra quill 77"}');
insert into span_events values (2, 'a', 'exception', '{"exception.message": "x", "exception.stacktrace": "zebra quill 77"}');
