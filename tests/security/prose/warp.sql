create table agent_conversations (id, conversation_id, conversation_data);
create table ai_queries (id integer primary key, exchange_id, conversation_id, start_ts, input, working_directory, output_status, model_id);
insert into agent_conversations values (1, 's', 'zebra quill 77');
insert into ai_queries values (1, 'x', 's', '2026-03-05 10:01:00.000001', 'zebra quill 77', '/x', '"Failed"', 'm');
