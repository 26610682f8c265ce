create table session (id, directory, version, title, time_updated);
create table message (id, session_id, time_updated, data);
create table part (id, message_id, session_id, time_created, time_updated, data);
insert into session values ('ses_1', '/x', '1', 'zebra quill 77', 1772704860000);
insert into message values ('msg_p', 'ses_1', 1772704860000, '{"id": "msg_p", "sessionID": "ses_1", "role": "user", "time": {"created": 1772704860000}, "summary": {"title": "zebra quill 77"}}');
insert into message values ('msg_q', 'ses_1', 1772704860000, '{"id": "msg_q", "sessionID": "ses_1", "role": "assistant", "time": {"created": 1772704860000}, "system": ["zebra quill 77"]}');
insert into part values ('prt_p', 'msg_1', 'ses_1', 1772704860000, 1772704860000, '{"id": "prt_p", "messageID": "msg_1", "sessionID": "ses_1", "type": "text", "text": "zebra quill 77"}');
insert into part values ('prt_q', 'msg_1', 'ses_1', 1772704860000, 1772704860000, '{"id": "prt_q", "messageID": "msg_1", "sessionID": "ses_1", "type": "tool", "tool": "bash", "state": {"status": "completed", "input": {"command": "zebra quill 77"}, "output": "zebra quill 77", "time": {"end": 1772704860000}}}');
insert into part values ('prt_r', 'msg_1', 'ses_1', 1772704860000, 1772704860000, '{"id": "prt_r", "messageID": "msg_1", "sessionID": "ses_1", "type": "tool", "tool": "bash", "state": {"status": "error", "input": {"command": "zebra quill 77"}, "error": "ENOENT\nzebra quill 77", "time": {"end": 1772704860000}}}');
