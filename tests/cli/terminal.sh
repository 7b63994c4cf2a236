#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A report on a terminal is folded to its width and coloured; NO_COLOR and dumb terminals get none; what goes to a
# pipe is the same as ever.
#   terminal.sh STEPCAST SOURCE
set -euo pipefail
stepcast=$1
source "$2/tests/cli/run_checks.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
experiment="$2/examples/12_llama3.1_405b_h100/experiment.yaml"

on_terminal() { # columns, command: what a terminal of so many columns gets, without carriage returns
  script --quiet --return --log-out "$work/log" --command "stty cols $1; $2" </dev/null >/dev/null
  sed -e '/^Script started/d' -e '/^Script done/d' -e 's/\r$//' "$work/log"
}
longest() { awk '{ if (length($0) > most) most = length($0) } END { print most + 0 }'; }
plain() { sed 's/\x1b\[[0-9;]*m//g'; }
words() { tr -s ' \n' '\n' | sed '/^$/d'; }
holds_that() { # text of the check, command...
  local what=$1
  shift
  "$@" || { echo "FAILED: $what"; exit 1; }
}

"$stepcast" project "$experiment" >"$work/piped"
on_terminal 80 "$stepcast project $experiment" >"$work/shown"
holds_that "no line is longer than the terminal" [ "$(plain <"$work/shown" | longest)" -le 80 ]
holds_that "a pipe gets whole lines" [ "$(longest <"$work/piped")" -gt 80 ]
holds_that "folding loses no word" diff <(words <"$work/piped") <(plain <"$work/shown" | words)
holds_that "headings are bold" grep -q $'^\x1b\\[1mWhere the time goes' "$work/shown"
holds_that "a pipe gets no colours" [ "$(grep -c $'\x1b' "$work/piped")" -eq 0 ]
holds_that "NO_COLOR is heeded" [ "$(on_terminal 80 "NO_COLOR=1 $stepcast project $experiment" | grep -c $'\x1b')" -eq 0 ]
holds_that "dumb terminals get no colours" \
  [ "$(on_terminal 80 "TERM=dumb $stepcast project $experiment" | grep -c $'\x1b')" -eq 0 ]
holds_that "an empty NO_COLOR is none" \
  [ "$(on_terminal 80 "NO_COLOR= $stepcast project $experiment" | grep -c $'\x1b')" -gt 0 ]
on_terminal 200 "$stepcast project $experiment --format json" >"$work/json"
"$stepcast" project "$experiment" --format json >"$work/expected"
holds_that "JSON is never folded" diff <(words <"$work/expected") <(words <"$work/json")
holds_that "JSON keeps its lines" [ "$(longest <"$work/json")" -eq "$(longest <"$work/expected")" ]
gpus="--gpu h100_sxm --gpu h200_sxm --gpu mi300x --gpu mi355x --gpu b200"
on_terminal 80 "$stepcast compare --model llama3.1_8b $gpus" >"$work/shown"
holds_that "columns that have no room stand below" [ "$(grep -c '^  tokens/s/GPU' "$work/shown")" -eq 3 ]
on_terminal 80 "$stepcast explain $experiment" >"$work/shown"
holds_that "tables are folded too" [ "$(plain <"$work/shown" | longest)" -le 80 ]
"$stepcast" explain "$experiment" | words >"$work/expected"
holds_that "folding a table loses no cell" diff "$work/expected" <(plain <"$work/shown" | words)
echo "terminal: ok"
