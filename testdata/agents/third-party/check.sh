#!/usr/bin/env bash
# Records and replays agents of others, installed as their users install them.
#
#     check.sh EMPTY_FOLDER HARNESSBENCH [AGENT...]
#
# .ci/run does not call this: the installs are large. Every agent that is found is
# checked: claude, codex, mini and aider on the PATH; Python SDKs in the Python that
# PYTHON names (default python3); those for Node on NODE_PATH. README.md says how they were installed. Where Linux
# lets us, all of it runs in a network of its own that holds nothing but loopback.
# For each agent:
#
#   record                            ends well, after a 429; total.txt is right
#   replay                            EXACT or NORMALISED, exit 0; total.txt is right
#   replay in another folder and home EXACT or NORMALISED, exit 0
#   replay with another task          diverges at turn 1, at the task, exit 1
#   replay with another file          diverges where the agent says what it read, exit 1
set -euo pipefail
export LC_ALL=C CI=true

[ $# -ge 2 ] || { echo "usage: check.sh EMPTY_FOLDER HARNESSBENCH [AGENT...]" >&2; exit 2; }
if [ -z "${ALONE:-}" ] && command -v unshare ip >/dev/null && unshare -rn true 2>/dev/null; then
  ALONE=1 exec unshare -rn bash -c 'ip link set lo up && exec "$@"' x "$0" "$@"
fi
if [ -n "${ALONE:-}" ]; then echo "network: nothing but loopback"; else echo "network: this machine's"; fi
mkdir -p "$1"
tmp=$(cd "$1" && pwd)
bin=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3}
task="Add up the amounts in orders.csv and write the sum to total.txt."

unset OPENAI_BASE_URL OPENAI_API_BASE OPENAI_API_KEY ANTHROPIC_BASE_URL ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN
# What keeps each agent to its model: no telemetry, no updates, no price lists.
export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1
export MSWEA_CONFIGURED=true MSWEA_COST_TRACKING=ignore_errors MSWEA_SILENT_STARTUP=1 MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT=2
export LITELLM_LOCAL_MODEL_COST_MAP=True OPENAI_AGENTS_DISABLE_TRACING=1

all=(claude-code claude-subagents codex mini-swe-agent mini-anthropic aider openai-agents openai-agents-chat
  pydantic-chat pydantic-responses pydantic-anthropic langchain-openai langchain-anthropic ai-sdk-responses ai-sdk-chat ai-sdk-anthropic)

# agent NAME: sets cmd, its scenario and normalisers, and where the two edits must
# show. Fails when the agent is not installed.
agent() {
  scenario=function-tools normalise=default at_task=/messages/0/content at_file=/messages/
  case $1 in
    claude-*)
      command -v claude >/dev/null || return
      scenario=$1 normalise=claude-code at_task=/messages/0/content/1/text
      cmd=(claude -p "$task" --allowedTools Bash,Agent)
      ;;
    codex)
      # It does not read OPENAI_BASE_URL, so its own settings name the endpoint.
      command -v codex >/dev/null || return
      scenario=$1 normalise=codex at_task=/input/3/content/0/text at_file=/input/
      # shellcheck disable=SC2016
      cmd=(sh -c 'exec codex exec --skip-git-repo-check --sandbox danger-full-access --disable apps --disable plugins \
        -c check_for_update_on_startup=false -c analytics.enabled=false \
        -c model_provider=local -c model_providers.local.name=local -c model_providers.local.wire_api=responses \
        -c model_providers.local.env_key=OPENAI_API_KEY -c model_providers.local.base_url="$OPENAI_BASE_URL" \
        -m sim/oracle "$1"' codex "$task")
      ;;
    mini-swe-agent | mini-anthropic)
      command -v mini >/dev/null || return
      scenario=mini-swe-agent at_task=/messages/1/content
      cmd=(mini -m openai/sim/oracle -t "$task" -y --exit-immediately -o "$tmp/trajectory.json")
      [ "$1" = mini-swe-agent ] || { cmd[2]=anthropic/sim-oracle at_task=/messages/0/content; }
      ;;
    aider)
      # It has no tools: the second turn is its test that failed.
      command -v aider >/dev/null || return
      scenario=$1 at_task=/messages/7/content at_file=/messages/11/content
      cmd=(aider --model openai/sim-oracle --no-git --yes-always --no-check-update --no-show-model-warnings --no-show-release-notes
        --no-analytics --map-tokens 0 --auto-test --test-cmd 'grep -qx 42.50 total.txt || { echo the total is wrong; cat orders.csv; exit 1; }'
        --message "$task" total.txt)
      ;;
    openai-agents*)
      "$python" -c 'import agents' 2>/dev/null || return
      at_task=/input/0/content at_file=/input/
      cmd=("$python" "$here/orders_openai_agents.py" "$task")
      [ "$1" = openai-agents ] || { cmd=("${cmd[@]:0:2}" --chat --stream "$task") at_task=/messages/1/content at_file=/messages/; }
      ;;
    pydantic-*)
      "$python" -c 'import pydantic_ai' 2>/dev/null || return
      case $1 in
        *-chat) at_task=/messages/1/content cmd=(--stream openai-chat:sim-oracle) ;;
        *-responses) at_task=/input/0/content at_file=/input/ cmd=(openai-responses:sim-oracle) ;;
        *-anthropic) cmd=(anthropic:sim-oracle) ;;
      esac
      cmd=("$python" "$here/orders_pydantic_ai.py" "${cmd[@]}" "$task")
      ;;
    langchain-*)
      "$python" -c 'import langchain' 2>/dev/null || return
      [ "$1" = langchain-anthropic ] || at_task=/messages/1/content
      cmd=("$python" "$here/orders_langchain.py" "${1#langchain-}:sim-oracle" "$task")
      ;;
    ai-sdk-*)
      node -e 'require("ai")' 2>/dev/null || return
      case $1 in
        *-responses) at_task=/input/1/content at_file=/input/ ;;
        *-chat) at_task=/messages/1/content ;;
      esac
      cmd=(node "$here/orders-ai-sdk.mjs" "${1#ai-sdk-}" "$task")
      ;;
    *) echo "no agent $1; there are: ${all[*]}" >&2; exit 2 ;;
  esac
}

fail() {
  echo "FAIL $name: $1"
  sed 's/^/    /' "$log"
  failed=$((failed + 1))
  return 1
}

# try WANT STEP PLACE COMMAND...: runs a command in a folder with the orders and a
# home, both named after PLACE; its exit code must be WANT.
try() {
  local want=$1 step=$2 place=$3 rc=0
  shift 3
  log=$tmp/logs/$name.$step.txt
  work=$tmp/work/$name-$place
  rm -rf "$work"
  mkdir -p "$work" "$tmp/home/$name-$place"
  local second=32.50
  [ "$step" != file ] || second=32.60
  printf 'order,amount\n1,10.00\n2,%s\n' "$second" >"$work/orders.csv"
  (cd "$work" && HOME=$tmp/home/$name-$place timeout 180 "$@") >"$log" 2>&1 </dev/null || rc=$?
  [ "$rc" -eq "$want" ] || fail "$step: exit $rc, not $want"
}

has() { grep -Eq -- "$2" "$log" || fail "$1: no line like: $2"; }

total() { [ "$(cat "$work/total.txt")" = 42.50 ] || fail "$1: total.txt is wrong"; }

check() {
  local tape=$tmp/tapes/$name.session.jsonl replay=("$bin" replay --serve "$tmp/tapes/$name.session.jsonl" --) same
  try 0 record one "$bin" record --model sim/oracle --scenario "$here/$scenario.txtar" --normalise "$normalise" \
    -o "$tmp/tapes" --name "$name" -- "${cmd[@]}" || return
  total record || return
  grep -q '"status":429' "$tape" || fail "record: no 429" || return
  try 0 same one "${replay[@]}" "${cmd[@]}" || return
  has same "^(EXACT|NORMALISED) " && total same || return
  same=$(grep -Eo '^(EXACT|NORMALISED) ' "$log")
  try 0 fresh two "${replay[@]}" "${cmd[@]}" || return
  has fresh "^(EXACT|NORMALISED) " && total fresh || return
  printf '%-20s %s' "$name" "$(sed -n 's/^recorded: .*(\(.*\))/\1/p' "$tmp/logs/$name.record.txt"); replayed $same"
  printf 'and %s' "$(grep -Eo '^(EXACT|NORMALISED)' "$log")"
  sed -n 's/^  equal by  \([^,]*\),.*/\1/p' "$log" | paste -sd' ' | sed 's/..*/ (&)/' | tr -d '\n'

  try 1 task one "${replay[@]}" "${cmd[@]/write the sum/write their sum}" || return
  has task "^  lane main, turn 1, .* at $at_task" || return
  try 1 file one "${replay[@]}" "${cmd[@]}" || return
  has file "^  lane [a-z0-9-]+, turn 2, .* at $at_file" || return
  echo '; edits found'
}

mkdir -p "$tmp/logs" "$tmp/tapes"
failed=0 passed=0 absent=0
[ $# -gt 0 ] || set -- "${all[@]}"
for name in "$@"; do
  if ! agent "$name"; then
    echo "$name: not installed"
    absent=$((absent + 1))
  elif check; then
    passed=$((passed + 1))
  fi
done
echo "$passed passed, $failed failed, $absent not installed"
[ "$failed" -eq 0 ]
