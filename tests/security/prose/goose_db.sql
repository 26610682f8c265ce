create table schema_version (version);
create table sessions (id, description, working_dir, updated_at);
create table messages (id, session_id, role, content_json, created_timestamp, metadata_json);
insert into sessions values ('s', 'zebra quill 77', '/x', '2026-03-05 10:00:00');
insert into messages values (0, 's', 'user', '[{"type": "text", "text": "zebra quill 77"}]', 1772704860, 'zebra quill 77');
insert into messages values (1, 's', 'assistant', '[{"type": "text", "text": "Well: zebra quill 77"}]', 1772704860, 'zebra quill 77');
insert into messages values (2, 's', 'assistant', '[{"type": "thinking", "thinking": "zebra quill 77"}, {"type": "toolRequest", "id": "g", "toolCall": {"value": {"name": "shell", "arguments": {"c": "zebra quill 77"}}}}]', 1772704860, 'zebra quill 77');
insert into messages values (3, 's', 'user', '[{"type": "toolResponse", "id": "g", "toolResult": {"status": "error", "error": "ENOENT\nzebra quill 77"}}, {"type": "toolResponse", "id": "h", "toolResult": {"value": {"content": [{"text": "zebra quill 77"}]}}}]', 1772704860, 'zebra quill 77');
