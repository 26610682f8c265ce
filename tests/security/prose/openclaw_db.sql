create table session_windows (id, title);
create table transcript_events (session_id, seq, event_json);
insert into session_windows values (1, 'zebra quill 77');
insert into transcript_events values ('o-1', 0, '{"type": "session", "id": "o-1", "timestamp": "2026-03-05T10:01:00.000Z", "cwd": "/x/shop"}');
insert into transcript_events values ('o-1', 1, '{"type": "message", "id": "e1", "timestamp": "2026-03-05T10:01:00.000Z", "message": {"role": "user", "content": [{"type": "text", "text": "zebra quill 77"}]}}');
insert into transcript_events values ('o-1', 2, '{"type": "message", "id": "e2", "timestamp": "2026-03-05T10:01:00.000Z", "message": {"role": "assistant", "content": [{"type": "text", "text": "zebra quill 77"}, {"type": "thinking", "thinking": "zebra quill 77"}], "stopReason": "error", "errorMessage": "529 overloaded", "provider": "x", "model": "m"}}');
insert into transcript_events values ('o-1', 3, '{"type": "message", "id": "e3", "timestamp": "2026-03-05T10:01:00.000Z", "message": {"role": "toolResult", "toolName": "bash", "isError": true, "content": [{"type": "text", "text": "zebra quill 77\n\nCommand exited with code 1"}]}}');
insert into transcript_events values ('o-1', 4, '{"type": "compaction", "id": "e4", "timestamp": "2026-03-05T10:01:00.000Z", "summary": "zebra quill 77", "tokensBefore": 900}');
