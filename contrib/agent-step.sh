#!/bin/sh
# One step of a pipeline that runs an agent: agent-step.sh COMMAND...
#
# It skips while a usage limit holds that an earlier run noted, tries again where the provider failed for a moment, and
# ends with the exit code of `analyzer verdict`: 0 passed, 10 failed, 11 retry, 12 wait, 13 blocked, 14 hollow.
#
# AGENT_STATE  the folder that is kept from run to run; default .agent
# AGENT_TRIES  calls in all; default 2
# AGENT_NAME   who prints a plain text, such as claude; JSON lines need none
set -u
state=${AGENT_STATE:-.agent}
tries=${AGENT_TRIES:-2}
case $tries in *[!0-9]*)
  echo "AGENT_TRIES is no number: $tries" >&2
  exit 2
  ;;
esac
answer=$state/verdict.json
mkdir -p "$state"

field() { sed -n "s/.*\"$1\": \"\{0,1\}\([^\",}]*\).*/\1/p" "$answer"; }

reset=$(cat "$state/reset_at" 2> /dev/null || true)
case $reset in [0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*) ;; *) reset= ;; esac
if expr "x$(date -u +%Y-%m-%dT%H:%M:%S)" \< "x$reset" > /dev/null; then
  echo "skipped: the agent's limit resets at $reset UTC" >&2
  exit 12
fi
rm -f "$state/reset_at"

try=1
while :; do
  analyzer verdict --json --output "$answer" --junit "$state/junit.xml" ${AGENT_NAME:+--agent "$AGENT_NAME"} --run -- "$@"
  code=$?
  case $code in
    0 | 10 | 11 | 12 | 13 | 14) sed -n 's/.*"sentence": "\([^"]*\).*/\1/p' "$answer" >&2 ;;
    *) exit "$code" ;;
  esac
  if [ "$code" -eq 12 ] && [ "$(field reset_at)" != null ]; then
    field reset_at | cut -c 1-19 > "$state/reset_at"
  fi
  if [ "$code" -ne 11 ] || [ "$try" -ge "$tries" ]; then
    exit "$code"
  fi
  try=$((try + 1))
  sleep "$(field retry_after_seconds | cut -d . -f 1)"
done
