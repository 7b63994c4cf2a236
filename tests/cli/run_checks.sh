# SPDX-License-Identifier: Apache-2.0
# What tests of the program share, to be sourced. They set stepcast (the program) and made (a folder of
# their own) and end with: exit $failed
failed=0
complain() { echo "FAILED: $*"; failed=1; }
exits() { # expected code, arguments; output to $made/out
  local code=0 expected=$1
  shift
  "$stepcast" "$@" >"$made/out" 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || complain "$* exits $code, not $expected: $(head -n 5 "$made/out")"
}
# Of a plan that runs, also where its memory is tight.
projects() { "$stepcast" project "$@" || [ $? -eq 4 ]; }
says() { grep -q -- "$1" "$made/out" || complain "no '$1' in: $(head -n 5 "$made/out")"; }
# Whether a line of the standard input matches, all of which is read: a program whose reader leaves early fails.
holds() { # options and a pattern of grep
  local text
  text=$(cat)
  grep -q "$@" <<<"$text"
}
