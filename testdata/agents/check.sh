#!/usr/bin/env bash
# Records and replays the agents of this folder, each in its own language and API.
#
#     check.sh EMPTY_FOLDER HARNESSBENCH
#
# Packages, builds and recordings go to EMPTY_FOLDER; nothing is left in the tree. Only
# the installs at the top use the network. For each agent:
#
#   record                            ends well; the transcript has a batch and a retried 429
#   replay                            EXACT, exit 0, the same transcript
#   replay with another prompt        diverges at turn 1, at the system message, exit 1
#   replay with another tool result   diverges at turn 2, at that result, exit 1
#   replay of no agent at all         is an error, exit 3
set -euo pipefail
export LC_ALL=C CI=true

[ $# -eq 2 ] || { echo "usage: check.sh EMPTY_FOLDER HARNESSBENCH" >&2; exit 2; }
mkdir -p "$1"
tmp=$(cd "$1" && pwd)
bin=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# A key that a real user would have in the environment. It must reach no file.
key=sk-check-Zm9yLXRoZS10ZXN0cy1vbmx5
unset AGENT_PROMPT AGENT_TWIST OPENAI_BASE_URL OPENAI_API_BASE OPENAI_API_KEY ANTHROPIC_BASE_URL ANTHROPIC_API_KEY
unset OPENAI_ORG_ID OPENAI_PROJECT_ID ANTHROPIC_AUTH_TOKEN

cp -r "$here/python" "$here/typescript" "$here/scenario" "$here/tools.json" "$tmp/"
python3 -m venv "$tmp/venv"
"$tmp/venv/bin/pip" install --quiet --no-input --disable-pip-version-check -r "$tmp/python/requirements.txt"
(cd "$tmp/typescript" && npm ci --no-audit --no-fund --loglevel=error && npx --no-install tsc)
task=$(cat "$tmp/scenario/instruction.md")

# agent NAME: sets cmd, and the pointers at which the two edits must show.
agent() {
  local python=("$tmp/venv/bin/python" "$tmp/python/agent.py")
  case $1 in
    python-chat) cmd=("${python[@]}" --api chat) prompt=/messages/0/content result=/messages/3/content ;;
    python-responses) cmd=("${python[@]}" --api responses) prompt=/instructions result=/input/0/output ;;
    typescript-openai) cmd=(node "$tmp/typescript/out/openai-agent.js") prompt=/messages/0/content result=/messages/3/content ;;
    typescript-anthropic) cmd=(node "$tmp/typescript/out/anthropic-agent.js") prompt=/system result=/messages/2/content/0 ;;
  esac
  cmd+=(--workspace "$tmp/workspace" "$task")
}

fail() {
  echo "FAIL $name: $1"
  sed 's/^/    /' "$log"
  failed=$((failed + 1))
  return 1
}

# try WANT STEP COMMAND...: runs a command on a fresh workspace; its exit code must be WANT.
try() {
  local want=$1 step=$2 rc=0
  shift 2
  log=$tmp/logs/$name.$step.txt
  rm -rf "$tmp/workspace"
  cp -r "$tmp/scenario/workspace" "$tmp/workspace"
  "$@" >"$log" 2>&1 </dev/null || rc=$?
  [ "$rc" -eq "$want" ] || fail "$step: exit $rc, not $want"
}

# has STEP PATTERN: the log of the last command has a line like this.
has() { grep -Eq -- "$2" "$log" || fail "$1: no line like: $2"; }

# transcript: what the agent itself said, of the last command.
transcript() { grep -E '^([0-9]+ (say|call|result) |http [0-9])' "$log"; }

check() {
  local tape=$tmp/tapes/$name first
  agent "$name"

  try 0 record env OPENAI_API_KEY="$key" ANTHROPIC_API_KEY="$key" \
    "$bin" record --model sim/oracle --scenario "$tmp/scenario" -o "$tape" -- "${cmd[@]}" || return
  first=$(transcript)
  has record '^http 429$' || return
  has record '^4 say ' || return
  [ "$(grep -c '^2 call ' <<<"$first")" -eq 3 ] || fail "record: turn 2 is no batch of three" || return
  [ "$(cat "$tmp/workspace/total.txt")" = 2407.50 ] || fail "record: total.txt is wrong" || return

  try 0 replay "$bin" replay --serve "$tape" -- "${cmd[@]}" || return
  has replay EXACT || return
  [ "$(transcript)" = "$first" ] || fail "replay: another transcript than recorded" || return

  try 1 prompt env AGENT_PROMPT="Answer in verse." "$bin" replay --serve "$tape" -- "${cmd[@]}" || return
  has prompt 'DIVERGED@1|DIVERGED.* turn 1' || return
  has prompt "$prompt" || return

  try 1 twist env AGENT_TWIST=" (changed)" "$bin" replay --serve "$tape" -- "${cmd[@]}" || return
  has twist 'DIVERGED@2|DIVERGED.* turn 2' || return
  has twist "$result" || return

  try 3 nobody "$bin" replay --serve "$tape" -- true || return
  has nobody NOOP || return
  echo "ok   $name"
}

# small checks an agent of docs/record-replay.md, by its default names of files.
small() {
  local task="Add up the amounts in orders.csv and write the sum to total.txt." recordings=$tmp/tapes/$name
  case $name in
    small-python) cmd=("$tmp/venv/bin/python" "$tmp/python/small.py") ;;
    small-typescript) cmd=(node "$tmp/typescript/out/small.js") ;;
  esac
  work=$tmp/small
  rm -rf "$work"
  mkdir -p "$work"
  printf 'order,amount\n1,10.00\n2,32.50\n' >"$work/orders.csv"
  cd "$work"
  try 0 record env OPENAI_API_KEY="$key" "$bin" record --model sim/oracle --scenario "$here/small.txtar" -o "$recordings" -- "${cmd[@]}" "$task" || return
  has record '^The orders add up to 42\.50\.$' || return
  [ "$(cat total.txt)" = 42.50 ] || fail "record: total.txt is wrong" || return
  try 0 replay "$bin" replay --serve "$recordings" -- "${cmd[@]}" "$task" || return
  has replay '^EXACT ' || return
  try 1 prompt "$bin" replay --serve "$recordings" -- "${cmd[@]}" "${task/amounts/prices}" || return
  has prompt '^  lane main, turn 1, .* at /messages/1/content/0/text$' || return
  printf 'order,amount\n1,10.00\n2,32.60\n' >orders.csv
  try 1 file "$bin" replay --serve "$recordings" -- "${cmd[@]}" "$task" || return
  has file '^  lane main, turn 2, .* at /messages/3/content/0/text$' || return
  echo "ok   $name"
}

mkdir -p "$tmp/logs" "$tmp/tapes"
failed=0
for name in python-chat python-responses typescript-openai typescript-anthropic; do
  check || true
done
for name in small-python small-typescript; do
  small || true
done
name=keys log=/dev/null
! grep -rqF -- "$key" "$tmp/tapes" || fail "the key stands in a recording" || true
echo "$((6 - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
