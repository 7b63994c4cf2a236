# SPDX-License-Identifier: Apache-2.0
# To be sourced: what a long step says of itself on standard error, as ninja shows it on a terminal, elsewhere as a
# line every half minute. What a step prints besides is shown only if it fails.
say() { printf '%s\n' "$*" >&2; }

# Says every half minute how far the log of a build is, until it is stopped.
say_every_half_minute() { # LOG
  while sleep 30 >/dev/null 2>&1; do  # it may outlive a pipe's reader by half a minute
    say "  ${SECONDS} s: $(grep -o '^\[[0-9]*/[0-9]*\]' "$1" | tail -n 1) compiled"
  done
}

# Runs a command that takes seconds; WHAT may be empty.
quietly() { # WHAT COMMAND...
  local log status=0
  [ -z "$1" ] || say "$1"
  shift
  log=$(mktemp)
  "$@" >"$log" 2>&1 || status=$?
  if [ "$status" -ne 0 ]; then cat "$log" >&2; fi
  rm -f "$log"
  return "$status"
}

with_progress() { # BUILD_FOLDER TARGET...
  local build=$1 log ticker status=0
  shift
  if [ -t 2 ]; then
    NINJA_STATUS='[%f/%t, %es] ' ninja -C "$build" "$@" >&2
    return
  fi
  log=$(mktemp)
  say_every_half_minute "$log" &
  ticker=$!
  ninja -C "$build" "$@" >"$log" 2>&1 || status=$?
  kill "$ticker"
  wait "$ticker" 2>/dev/null || true
  if [ "$status" -ne 0 ]; then cat "$log" >&2; fi
  rm -f "$log"
  return "$status"
}
