#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A training run: `project --tokens` and `compare --tokens` in every format, prices, interruptions, what is refused; a
# projection without tokens says nothing of it. Usage: training_run.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
experiment="$2/examples/01_llama3.1_70b_mi300x/experiment.yaml"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
source "$(dirname "${BASH_SOURCE[0]}")/run_checks.sh"
lacks() { ! grep -q -- "$1" "$made/out" || complain "there is '$1' in: $(grep -m 1 -- "$1" "$made/out")"; }
# The number of a key of JSON, the first of that name.
number() { sed -n "s/^ *\"$1\": \([-+0-9.e]*\),*$/\1/p" "$made/out" | head -n 1; }
near() { # what, a, b
  awk -v a="$2" -v b="$3" 'BEGIN { exit !(a > 0 && a / b < 1.000001 && b / a < 1.000001) }' || complain "$1: $2, not $3"
}

exits 0 project "$experiment"
lacks 'Training run'
exits 0 project "$experiment" --format json
lacks training_run

# By hand: 15e12 tokens at the rate of the step; the price of a GPU-hour times GPU-hours.
exits 0 project "$experiment" --tokens 15T --price mi300x=2.50 --currency EUR --format json
rate=$(number tokens_per_second_per_gpu) days=$(number days) hours=$(number gpu_hours)
[ "$(number tokens)" = 15000000000000 ] || complain "tokens are $(number tokens)"
[ "$(number steps)" = 14305115 ] || complain "steps are $(number steps), not 15e12 / (8192 * 128) rounded up"
near days "$days" "$(awk -v r="$rate" 'BEGIN { printf "%.9g", 15e12 / (r * 64 * 86400) }')"
near GPU-hours "$hours" "$(awk -v d="$days" 'BEGIN { printf "%.9g", d * 24 * 64 }')"
near price "$(number price)" "$(awk -v h="$hours" 'BEGIN { printf "%.9g", 2.5 * h }')"
near 'joules a token' "$(number joules_per_token)" \
  "$(awk -v k="$(number energy_kwh)" 'BEGIN { printf "%.9g", k * 3.6e6 / 15e12 }')"
near 'joules a token by power' "$(number joules_per_token)" \
  "$(awk -v w="$(number power_w)" -v r="$rate" 'BEGIN { printf "%.9g", 1.56 * (w + 350 + 70) / r }')"
says '"currency": "EUR"'
says '"goodput": 1.0'
# The interval of the rate, turned over.
awk '/"expected_error"/ { e = 1 } e && /"interval_80"/ { getline lo; getline hi; printf "%.12g %.12g\n", lo, hi; exit }' \
  "$made/out" >"$made/factors"
read -r low high <"$made/factors"
awk '/"training_run"/ { t = 1 } t && /"days": \[/ { getline lo; getline hi; printf "%.12g %.12g\n", lo, hi; exit }' \
  "$made/out" >"$made/days"
read -r fewest most <"$made/days"
near 'fewest days' "$fewest" "$(awk -v d="$days" -v f="$high" 'BEGIN { printf "%.9g", d / f }')"
near 'most days' "$most" "$(awk -v d="$days" -v f="$low" 'BEGIN { printf "%.9g", d / f }')"

# The key says the same as the option, and the report gives the run back.
cp "$made/out" "$made/option.json"
exits 0 project "$experiment" --set training.tokens=15e12 --price mi300x=2.50 --currency EUR --format json
cmp -s "$made/out" "$made/option.json" || complain "training.tokens and --tokens differ"
exits 0 project "$made/option.json" --price mi300x=2.50 --currency EUR --format json
cmp -s "$made/out" "$made/option.json" || complain "the report of a run projects to another"
# A step does not know what it is a part of.
exits 0 project "$experiment" --tokens 15T
sed -e 1d -e '/^Training run/,/^$/d' "$made/out" >"$made/without"
exits 0 project "$experiment"
sed -i 1d "$made/out"  # the sentence has the days of a run
cmp -s "$made/out" "$made/without" || complain "tokens change a step: $(diff "$made/out" "$made/without" | head -n 4)"

exits 0 project "$experiment" --tokens 15T --price mi300x=2.50
says '^Training run of 15,000,000,000,000 tokens (14,305,115 steps)$'
says '^  days  *[0-9,.]* ([0-9,.]* to [0-9,.]* at 80 %)$'
says '^  price  *[0-9,]* \$ ('
says '^  energy  *[0-9,]* MWh, [0-9.]* J a token$'
says '^  goodput  *100.0 %: without interruptions$'
says '^  assumed  *PUE 1.56 (mean of'
interrupted=(--set 'training.interruptions={mtbf_per_gpu: 50000 h, checkpoint: {write: 60 s}, restart: 10 min}')
exits 0 project "$experiment" --tokens 15T "${interrupted[@]}" --set training.energy.pue=1.1
# 50,000 h / 64 = 781 h; sqrt(2 * 60 s * 781 h) = 18,371 s.
says '^  goodput  *99.[0-9] %: a failure each 781 h, restart 10.0 min; 1.00 min for a checkpoint after each 5.10 h (the'
says '^  assumed  *PUE 1.1 (given)$'

# CSV has the same columns whether or not a line could be priced, and none of a run without tokens.
exits 0 project "$experiment" --tokens 15T --format csv
has_equal_lines() {
  python3 -c 'import csv, sys; sys.exit(len({len(row) for row in csv.reader(sys.stdin)}) != 1)' <"$made/out" ||
    complain "lines of CSV differ in their fields"
}
has_equal_lines
says ',tokens,steps,days,gpu_hours,.*,reasons$'
exits 3 project "$experiment" --tokens 15T --format csv --tp 7
has_equal_lines
says 'tp.* 7.*divide'
exits 0 project "$experiment" --format csv
lacks ',tokens,'

# Side by side: every column has its run.
two=(--model llama3.1_8b --nodes 2 --gpu h100_sxm --gpu mi300x)
exits 0 compare "${two[@]}" --tokens 15T --price mi300x=2.50 --price h100_sxm=3
says '^  days of the run  *[0-9,.]*  *[0-9,.]*$'
says '^  price of the run  *[0-9,]* \$  *[0-9,]* \$$'
says '^  goodput  *100.0 %  *100.0 %$'
exits 0 compare "${two[@]}" --tokens 15T --format csv
[ "$(sed 's/"[^"]*"//g; s/[^,]//g' "$made/out" | sort -u | wc -l)" -eq 1 ] || complain "lines of CSV differ in their fields"
says ',days_80_high,'
exits 0 compare "${two[@]}"
lacks 'of the run'

# Refused, with what to do.
exits 2 project "$experiment" --tokens 15t
says "must be a whole number of tokens from 1 to 10^18, not '15t'; write e.g. 15T"
exits 2 project "$experiment" --price mi300x=2.50
says 'there is no run to have a price; add --tokens 15T'
exits 2 project "$experiment" --tokens 1T --price h100_sxm=2.50
says "the experiment does not run on the GPU 'h100_sxm'"
exits 2 project "$experiment" --tokens 1T --currency EUR
says 'there is no price; add --price'
exits 2 project "$experiment" --tokens 1T --currency 'E R' --price mi300x=1
says 'write a sign or a short word'
exits 2 project "$experiment" "${interrupted[@]}"
says 'needs tokens, how long the run is'
exits 2 project "$experiment" --tokens 1T --set 'training.interruptions={mtbf_per_gpu: 1 h, checkpoint: {write: 60 s}, restart: 1 h}'
says 'leaves less than 1 % of the time to training on 64 GPUs'
cat >"$made/bad.yaml" <<'EOF'
model: llama3.1_8b
cluster: {gpu: h100_sxm}
training:
  sequence_length: 4096
  global_batch_size: 64
  tokens: many
  interruptions:
    mtbf_per_gpu: 50000 h
EOF
exits 2 project "$made/bad.yaml"
says "bad.yaml:6:11: error: 'training.tokens' must be a whole number"
says "bad.yaml:8:19: error: 'training.interruptions.mtbf_per_gpu' needs checkpoints"
exit $failed
