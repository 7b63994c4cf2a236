#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the commands of the READMEs' console blocks and compares their output with what the blocks show.
#   readme_outputs.sh --check STEPCAST | --fix STEPCAST
# A README with a command that ends in anything but an answer (0, 3), a refusal (2) or a reader that left (141) is not
# rewritten.
# `stepcast` in a block is the program given; scripts/test.sh, the test command, is not run.
set -euo pipefail
mode=$1
stepcast=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
stepcast() { "$stepcast" "$@"; }

run_blocks() { # file; the text with fresh output to $fresh
  local line command code in_block=0 kept=0
  : >"$fresh"
  broken=""
  while IFS= read -r line; do
    if [ "$in_block" -eq 1 ]; then
      if [ "$line" = '```' ]; then
        in_block=0
        printf '%s\n' "$line" >>"$fresh"
      elif [ "$kept" -eq 1 ]; then
        printf '%s\n' "$line" >>"$fresh"
      fi
      continue
    fi
    printf '%s\n' "$line" >>"$fresh"
    if [ "$line" = '```console' ]; then
      IFS= read -r command
      printf '%s\n' "$command" >>"$fresh"
      in_block=1
      kept=0
      case $command in
        '$ scripts/test.sh'*) kept=1 ;;
        *)
          code=0
          (eval "${command#\$ }") >>"$fresh" 2>&1 </dev/null || code=$?
          case $code in 0 | 2 | 3 | 4 | 141) ;; *) broken="$command exits $code" ;; esac
          ;;
      esac
    fi
  done <"$1"
}

differing=0
for file in $(grep -rl --include=README.md '^```console' . --exclude-dir=build --exclude-dir=.git | sort); do
  run_blocks "$file"
  if [ -n "$broken" ]; then
    echo "$file: $broken" >&2
    differing=1
  elif [ "$mode" = --fix ]; then
    cp "$fresh" "$file"
  else
    diff -u "$file" "$fresh" || differing=1
  fi
done
if [ "$mode" != --fix ] && [ "$differing" -eq 0 ]; then
  echo "READMEs: every output is what the command prints"
fi
exit "$differing"
