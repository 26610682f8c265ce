# Starts a child, ignores SIGTERM as its child does, and hangs; writes the ids of both to the file it is given.
trap '' TERM
sleep 600 &
printf '%s %s' "$$" "$!" >"$1"
printf '%s\n' '{"type":"system","subtype":"init","session_id":"s-hang","model":"m-1"}' \
    '{"type":"assistant","message":{"id":"msg_1","model":"m-1","content":[{"type":"text","text":"Waiting for a lock."}],"usage":{"input_tokens":10,"cache_read_input_tokens":49940,"output_tokens":50}},"session_id":"s-hang"}'
wait
