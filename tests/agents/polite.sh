# Hangs, and writes its result record when it is asked to end. A shell is ready at once, also on a busy machine.
trap 'printf "%s\n" "{\"type\":\"result\",\"subtype\":\"error_during_execution\",\"is_error\":true,\"result\":\"$1\",\"session_id\":\"s-polite\"}"; exit 1' TERM
printf '%s\n' '{"type":"system","subtype":"init","session_id":"s-polite","model":"m-1"}'
sleep 600 &
wait
