#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `stepcast diagnose`: its report is the one in diagnose/slow_network.expected, its causes have their keys in JSON, what they set
# projects to what they explain, and it refuses what is no measurement. Usage: diagnose.sh STEPCAST ROOT
# scripts/approve_goldens.sh rewrites the report; say in the commit why a number moved.
set -euo pipefail
stepcast=$1
run="$2/tests/cli/diagnose/slow_network.yaml"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
failed=0
complain() { echo "FAILED: $*"; failed=1; }
exits() { # expected code, arguments; output to $made/out
  local code=0 expected=$1
  shift
  "$stepcast" diagnose "$@" >"$made/out" 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || complain "diagnose $* exits $code, not $expected"
}
says() { grep -q -- "$1" "$made/out" || complain "no '$1' in: $(head -n 5 "$made/out")"; }

diff -u "${run%.yaml}.expected" <("$stepcast" diagnose "$run" --measured 200tok/s) ||
  complain "the report differs (expected above with -, result with +)"

exits 0 "$run" --measured 200tok/s --format json
for key in pace pace_ratio pace_interval_80 best_plan best_software tried published source figures causes cause form key settings size unit at_bound meets score explains checks gain pairs \
  ruled_out version; do
  says "\"$key\": "
done
python3 - "$made/out" "$stepcast" "$run" <<'PYTHON' || complain "a cause does not project to what it explains"
import json, subprocess, sys
causes = json.load(open(sys.argv[1]))["causes"]
assert abs(sum(cause["score"] for cause in causes) - 1) < 1e-9
for cause in causes[:3]:
    settings = [word for key, value in cause["settings"].items() for word in ("--set", f"{key}={value}")]
    again = subprocess.run([sys.argv[2], "project", sys.argv[3], "--format", "json", *settings], stdout=subprocess.PIPE)
    rate = json.loads(again.stdout)["tokens_per_second_per_gpu"]
    assert rate == cause["explains"][0]["projected"], (cause["cause"], rate)
PYTHON

python3 - "$made/out" "$stepcast" "$run" <<'PYTHON' || complain "the best plan or the best software does not project to what is said of it"
import json, subprocess, sys
diagnosis = json.load(open(sys.argv[1]))
for way in (diagnosis["best_plan"], diagnosis["best_software"]):
    settings = [word for key, value in way["settings"].items() for word in ("--set", f"{key}={value}")]
    assert settings and way["gain"] > 1
    again = subprocess.run([sys.argv[2], "project", sys.argv[3], "--format", "json", *settings], stdout=subprocess.PIPE)
    assert json.loads(again.stdout)["tokens_per_second_per_gpu"] == way["tokens_per_second_per_gpu"]
assert {run["model"] for run in diagnosis["published"]} == {"llama3.1_70b"} and len(diagnosis["published"]) == 5
PYTHON

# Traces of the run with a cause, as the projection writes them: without a figure the step says how slow it is, and the
# cause is told by what it moves.
traced() { # cause, a setting of it
  "$stepcast" trace "$run" --set "$2" --out "$made/$1.json"
  exits 0 "$run" --trace "$made/$1.json" --format json
  python3 - "$made/out" "$1" <<'PYTHON' || complain "a trace with $2 is not told to be $1"
import json, sys
diagnosis = json.load(open(sys.argv[1]))
first = diagnosis["causes"][0]
assert first["cause"] == sys.argv[2], [(cause["cause"], cause["score"]) for cause in diagnosis["causes"]]
assert first["moves"] and all(move["seen"] for move in first["moves"]), first["moves"]
assert abs(diagnosis["figures"][0]["measured"] - diagnosis["trace"]["step_s"]) < 1e-9
PYTHON
}
traced link_within_node 'cluster.link_rate=2 GB/s'
traced link_between_nodes 'cluster.nic_rate=1.5 GB/s'
traced clock_or_power 'cluster.gpu_clock=700 MHz'
traced host_slow 'software.host.micro_batch=8 s'
exits 0 "$run" --trace "$made/host_slow.json"
says '^  idle .* longer$'
says '^  host slow: idle .* (seen)$'
exits 2 "$run" --trace "$made/none.json"
says 'none.json'

exits 0 "$run" --measured 760tok/s
says 'as expected, within the 80 % interval'
says 'Nothing to explain'
exits 0 "$run" --step 12s --memory 48GiB --point training.micro_batch_size=4:13s --format csv
says '^cause,form,settings,size,unit,at_bound,meets,score,gain$'
printf 'training.micro_batch_size,step,memory\n8,40s,\n4,35s,60GiB\n' >"$made/points.csv"
exits 0 "$run" --points "$made/points.csv"
says 'Without any cause'

exits 0 "$run" --out-of-memory --tried 17.66GiB
says '^Out of memory$'
says '^  the request that failed .*: as large as logits and loss$'
says '^  micro-batches of half the sequences .*training.micro_batch_size=4$'
exits 0 "$run" --out-of-memory --format json
for key in savings what settings in_use_bytes saved_bytes pace probability; do
  says "\"$key\": "
done
exits 2 "$run" --out-of-memory --step 13s
says '^--out-of-memory: error: is of a run that was not measured'
exits 2 "$run" --out-of-memory --html "$made/page.html"
says '^--html: error: is of a run that was measured'
exits 2 "$run" --step 13s --tried 2GiB
says '^--tried 2GiB: error: is of a run that is out of memory'
exits 2 "$run" --out-of-memory --tried 2
says '^--tried 2: error: is no size'

exits 2 "$run"
says 'nothing says how fast the run is'
exits 2 "$run" --measured 200
says "^--measured 200: error: is no such figure; write e.g. 200tok/s"
exits 2 "$run" --measured 200tok/s --step 13s
says '^--step 13s: error: says the same as measured'
exits 2 "$run" --measured 200tok/s --point plan.tp=2 --point tp:1s
says '^--point plan.tp=2: error: write settings, a colon and a figure'
says "'tp' is no setting"
exits 2 "$run" --measured 200tok/s --point plan.tp=3:1s
says '^--point plan.tp=3: error: cannot run'
printf 'tp,step\n2,1s\n' >"$made/points.csv"
exits 2 "$run" --points "$made/points.csv"
says "points.csv:2: error: the column 'tp' is neither a key of an experiment"
exits 3 --model llama3.1_8b --gpu h100_sxm --nodes 1 --tp 3 --gbs 64 --measured 200tok/s
exit $failed
