create table sessions (id, title, updated_at);
create table files (id, content);
create table goose_db_version (id);
create table messages (id, session_id, role, parts, updated_at);
insert into sessions values ('s', 'zebra quill 77', 1772704860);
insert into files values ('f', 'zebra quill 77');
insert into messages values ('m', 's', 'assistant', '[{"type": "text", "data": {"text": "zebra quill 77"}}, {"type": "reasoning", "data": {"thinking": "zebra quill 77"}}, {"type": "tool_call", "data": {"id": "c", "name": "bash", "input": "zebra quill 77"}}, {"type": "tool_result", "data": {"tool_call_id": "c", "name": "bash", "content": "zebra quill 77"}}, {"type": "tool_result", "data": {"tool_call_id": "c", "content": "ENOENT\nzebra quill 77", "is_error": true}}, {"type": "finish", "data": {"reason": "end_turn", "time": 1772704860}}]', 1772704860);
