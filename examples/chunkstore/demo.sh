#!/usr/bin/env bash
# The main job, on a real program: record a replicated chunk store, a dozen processes, then ask why. Needs `clew` on PATH.
set -euo pipefail
cd "$(dirname "$0")"

bold() { printf '\n\033[1m%s\033[0m\n' "$*"; }
# Shows a command as one would type it, then runs it.
step() {
  local shown='' word
  for word in "$@"; do
    case $word in *[[:space:]]*) word="'$word'" ;; esac
    shown+=" $word"
  done
  printf '\033[2m$\033[0m\033[36m%s\033[0m\n' "$shown"
  "$@"
}

data=$(mktemp -d "${TMPDIR:-/tmp}/chunkstore.XXXXXX")
trap 'rm -rf "$data"' EXIT

bold "1. A write fails somewhere in a cluster of processes. Record it through chunkstore.esl ($(wc -l < chunkstore.esl) lines)."
step clew run --workspace . --spec chunkstore.esl --name failed-write -- python -m chunkstore.scenario failed-write --data "$data/failed"
bold "   What the log says:"
grep -h 'Write request failed' "$data"/failed/*.log

bold "2. Why?"
step clew why --workspace . --run failed-write 'Write request failed'

bold "3. A job became slow after a small change. Record it before and after, and compare."
step clew run --workspace . --spec chunkstore.esl --name before -- python -m chunkstore.scenario slow-job --variant before --data "$data/before"
step clew run --workspace . --spec chunkstore.esl --name after -- python -m chunkstore.scenario slow-job --variant after --data "$data/after"
step clew diff --workspace . before after

bold "What to do next"
cat <<TEXT
  cd $PWD
  clew view                 the same in a panel, in your browser: graph, critical path, diff
  clew runs                 what was recorded
  code .                    the folder in VS Code: lenses on functions, "why" on log lines
                            (build and install the extension: make vsix, then
                            code --install-extension vscode-client/clew-*.vsix)
  clew run -- python app.py your own program, without any spec
(\`clew\` is in $(dirname "$(command -v clew)"))
TEXT
