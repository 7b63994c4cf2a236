#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How many of which GPUs: `recommend` in every format, its answers beside `project`, what leaves none, what is refused.
# Usage: recommend.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
source "$(dirname "${BASH_SOURCE[0]}")/run_checks.sh"
run=(--model llama3.1_8b --gpu h100_sxm --gpu mi300x --tokens 1T)
two_prices=(--price h100_sxm=2.50 --price mi300x=2.20)

exits 0 recommend "${run[@]}" --days 30 "${two_prices[@]}" --format json
cp "$made/out" "$made/answers.json"
# Every answer is the plan that `project` projects with the settings that it names, and stays within the limit.
python3 - "$made/answers.json" >"$made/answers" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
front = report["pareto"]
assert front == sorted(front, key=lambda row: row["days"]), "the Pareto set is not in the order of days"
assert all(a["price"] > b["price"] for a, b in zip(front, front[1:])), "a row of the Pareto set is beaten"
for answer in report["answers"]:
    rows = [row for row in report["searched"] if row["gpu"] == answer["gpu"]]
    within = [row for row in rows if row["feasible"] and row["days"]["expected"] <= 30] \
        if isinstance(rows[0].get("days"), dict) else [row for row in rows if row["feasible"] and row["days"] <= 30]
    assert answer["fewest"]["gpus"] == min(row["gpus"] for row in within), "fewer GPUs do"
    for kind in ("fewest", "cheapest", "fastest"):
        one = answer[kind]
        assert one["proven"], "a dense model has few plans"
        settings = " ".join(f"--set {key}={value}" for key, value in one["settings"].items())
        print(answer["gpu"], one["nodes"], repr(one["tokens_per_second_per_gpu"]), settings)
PYTHON
[ "$(wc -l <"$made/answers")" -eq 6 ] || complain "$(wc -l <"$made/answers") answers of two GPUs"
while read -r gpu nodes rate settings; do
  # shellcheck disable=SC2086  # settings are words
  exits 0 project --model llama3.1_8b --gpu "$gpu" --nodes "$nodes" --gbs 2048 --tokens 1T $settings \
    --format json
  holds "\"tokens_per_second_per_gpu\": $rate" <"$made/out" || complain "$gpu, $nodes nodes: not $rate tokens/s/GPU"
done <"$made/answers"

exits 0 recommend "${run[@]}" --days 30 "${two_prices[@]}" --format json --threads 1
cmp -s "$made/out" "$made/answers.json" || complain "the number of threads changes the answers"
exits 0 recommend "${run[@]}" --days 30 "${two_prices[@]}"
says 'times cheaper than'
says '^Fewer days cost more'
exits 0 recommend "${run[@]}" --gpus 64 --format csv
says '^model,gpu,gpus,feasible,within_limits,answer'
says '^llama3.1_8b,h100_sxm,64,true,true,fastest'
exits 0 recommend --model llama3.1_8b --gpu h100_sxm --tokens 1T --budget 70k --price h100_sxm=2.50 --currency EUR
says 'EUR'
exits 0 recommend --model llama3.1_8b --gpu h100_sxm --tokens 1T --gpus 16 --constraint 'peak_memory < 0.5 * capacity'
says 'h100_sxm'

# What leaves no answer is named.
exits 3 recommend "${run[@]}" --days 1 --gpus 64
says 'nothing stays within the limits'
says 'at most 1.0 days; the nearest takes'
exits 3 recommend --model llama3.1_8b --gpu h100_sxm --tokens 1T --gpus 16 --constraint 'mfu > 0.99'
says "constraint 'mfu > 0.99'"
exits 3 recommend --model llama3.1_405b --gpu h100_sxm --tokens 1T --gpus 8 --format json
says '"emptied_by"'

exits 2 recommend --model llama3.1_8b --gpu h100_sxm
says '--tokens 15T'
exits 2 recommend --model llama3.1_8b --tokens 1T
says 'name a GPU'
exits 2 recommend "${run[@]}" --budget 5M
says 'needs the price of a GPU-hour'
exits 2 recommend "${run[@]}" --price h100_sxm=2.50
says '--price mi300x=PRICE'
exits 2 recommend "${run[@]}" --constraint 'mfu >'
exit $failed
