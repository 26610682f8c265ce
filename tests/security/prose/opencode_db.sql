create table session (id, directory, version, title, time_created, time_updated);
create table message (id, session_id, time_created, time_updated, data);
create table part (id, message_id, session_id, time_created, time_updated, data);
insert into session values ('ses_3', '/x', '1', 'zebra quill 77', 1772704860000, 1772704860000);
insert into message values ('msg_dp', 'ses_3', 1772704860000, 1772704860000, '{"id": "msg_dp", "sessionID": "ses_3", "role": "user", "time": {"created": 1772704860000}, "summary": {"title": "zebra quill 77"}}');
insert into message values ('msg_dq', 'ses_3', 1772704860000, 1772704860000, '{"id": "msg_dq", "sessionID": "ses_3", "role": "assistant", "time": {"created": 1772704860000}, "system": ["zebra quill 77"]}');
insert into part values ('prt_dp', 'msg_d1', 'ses_3', 1772704860000, 1772704860000, '{"id": "prt_dp", "messageID": "msg_d1", "sessionID": "ses_3", "type": "text", "text": "zebra quill 77"}');
insert into part values ('prt_dq', 'msg_d1', 'ses_3', 1772704860000, 1772704860000, '{"id": "prt_dq", "messageID": "msg_d1", "sessionID": "ses_3", "type": "tool", "tool": "bash", "state": {"status": "completed", "input": {"command": "zebra quill 77"}, "output": "zebra quill 77", "time": {"end": 1772704860000}}}');
insert into part values ('prt_dr', 'msg_d1', 'ses_3', 1772704860000, 1772704860000, '{"id": "prt_dr", "messageID": "msg_d1", "sessionID": "ses_3", "type": "tool", "tool": "bash", "state": {"status": "error", "input": {"command": "zebra quill 77"}, "error": "ENOENT\nzebra quill 77", "time": {"end": 1772704860000}}}');
