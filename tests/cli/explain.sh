#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `stepcast explain` in its three formats, into a file, and refusing what it cannot explain.
# Usage: explain.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
experiment="$2/examples/01_llama3.1_70b_mi300x/experiment.yaml"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
failed=0
complain() { echo "FAILED: $*"; failed=1; }
exits() { # expected code, arguments; output to $made/out
  local code=0 expected=$1
  shift
  "$stepcast" explain "$@" >"$made/out" 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || complain "explain $* exits $code, not $expected"
}
says() { grep -q -- "$1" "$made/out" || complain "no '$1' in: $(head -n 5 "$made/out")"; }

exits 0 "$experiment"
says '^  operator .* roofline$'
says '^  mlp.gate_up '
says '^  all computation .* 100.0 %$'
says '^  fsdp.gather '
! grep -q 'launch ' "$made/out" || complain "terms without --terms"
exits 0 "$experiment" --terms
says 'launch '
exits 0 "$experiment" --format json --terms
says '"operators": \['
says '"time_s": '
says '"terms": \['
says '"version": '
exits 0 "$experiment" --format csv
says '^operator,pass,kind,'
exits 0 "$experiment" --out "$made/file"
[ ! -s "$made/out" ] || complain "--out prints as well"
grep -q '^  all computation' "$made/file" || complain "--out wrote something else"
exits 0 --model llama3.1_8b --gpu h100_sxm --gbs 64
says '^llama3.1_8b on 8 x h100_sxm'

exits 2 --model no_such_model --gpu h100_sxm
says 'error: '
exits 2 "$made/missing.yaml"
exits 2 "$experiment" --format yaml
exits 2 "$experiment" --set plan.tpp=8
exits 3 "$experiment" --gbs 100
says '^This plan cannot run:'
says '^  - '
exits 3 "$experiment" --recompute none --fsdp 1 --zero 0
says '^  all computation'
says '^This plan cannot run:'

# Why the step takes as long: what bounds it, the critical path, what more of each resource would buy.
exits 0 "$experiment"
says '^  bound by  .* %'
says '^Critical path: '
says '^What one per cent more would buy'
says ' %  hbm bandwidth$'
exits 0 "$experiment" --format json
says '"critical_path": \['
says '"sensitivities": {'
# The same number from `project`.
for resource in matrix_rate hbm_bandwidth scale_up_bandwidth scale_out_bandwidth latency; do
  scaled=$(grep -A 3 "\"$resource\": {" "$made/out" | grep '"to_tokens' | grep -o '[0-9.]*[0-9]')
  "$stepcast" project "$experiment" --set "cluster.scale.$resource=1.01" --format json |
    grep -q "\"tokens_per_second_per_gpu\": $scaled," || complain "$resource: not what project says, $scaled"
done

# What the time rests on: shares that add up to one, whose sums are those that `project` prints.
exits 0 "$experiment" --provenance
says '^  time rests on  .* measured, .* fitted, .* derived, .* specified, .* assumed constants$'
says '^ *share  kind  *constant  *value  *file  *source'
says ' %  assumed  *power.voltage_exponent  *2.1  *kernels/mi300x.yaml  *as H200$'
says '^Sources$'
! grep -q '^  operator ' "$made/out" || complain "operators with --provenance"
grep '^  time rests on' "$made/out" >"$made/line"
"$stepcast" project "$experiment" >"$made/projected"
grep -qxF "$(cat "$made/line")" "$made/projected" || complain "project says another line"
exits 0 "$experiment" --provenance --format csv
says '^share,kind,constant,value,file$'
tail -n +2 "$made/out" | awk -F, '{ sum += $1 } END { exit !(sum > 0.999999 && sum < 1.000001) }' ||
  complain "shares do not add up to one"
assumed=$(awk -F, '$2 == "assumed" { sum += $1 } END { printf "%.6f", sum }' "$made/out")
exits 0 "$experiment" --provenance --format json
says '"constants": \['
says '"meaning": "'
"$stepcast" project "$experiment" --format json | awk -v sum="$assumed" \
  '/"assumed": / { found = $2 - sum < 1e-5 && sum - $2 < 1e-5 } END { exit !found }' ||
  complain "project's assumed share is not the sum $assumed of the list"
exits 2 "$experiment" "$experiment" --provenance
exits 2 "$experiment" "$experiment" --terms
says '^--terms: error: is of one experiment'
exits 2 "$experiment" --provenance --terms
exits 3 "$experiment" --gbs 100 --provenance
says '^This plan cannot run:'

# Why two experiments differ.
other="$2/examples/03_llama2_70b_mi300x/experiment.yaml"
exits 0 "$experiment" "$other"
says '^A: llama3.1_70b on 64 x mi300x'
says '^B: llama2_70b on 16 x mi300x'
says '^  total '
exits 0 "$experiment" "$other" --format json
says '"difference": \['
exits 0 "$experiment" "$other" --format csv
says '^total,total,'
exits 3 "$experiment" "$other" --gbs 100
says '^This plan cannot run:'
exits 2 "$experiment" "$made/missing.yaml"
exit $failed
