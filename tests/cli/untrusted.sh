#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Input of strangers: names that are markup, formulas or commands stay names in every output, compressed files end
# before they fill the memory, and a command writes what it was told to and nothing else. Usage: untrusted.sh STEPCAST ROOT
set -euo pipefail
stepcast=$(realpath "$1")
root=$(realpath "$2")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
source "$root/tests/cli/run_checks.sh"
ln -s "$root/configs" "$made/configs"
cd "$made"
model_called() { # a YAML text: a model of that name
  local line
  while IFS= read -r line; do
    case $line in
      name:*) printf 'name: %s\n' "$1" ;;
      *) printf '%s\n' "$line" ;;
    esac
  done <"$root/configs/models/llama3_8b.yaml" >model.yaml
}
cat >experiment.yaml <<'YAML'
model: model.yaml
cluster: {gpu: h100_sxm, nodes: 1}
training: {sequence_length: 4096, global_batch_size: 64}
YAML
cat >sweep.yaml <<'YAML'
model: [model.yaml, llama3.1_8b]
cluster: {gpu: h100_sxm, nodes: 1}
training: {sequence_length: 4096, micro_batch_size: [1, 2], global_batch_size: 64}
YAML
# Every table that names a model, and how the model's name stands in it.
in_tables() { # cell
  local format="--format csv"
  # shellcheck disable=SC2086
  for command in "project experiment.yaml" "compare experiment.yaml --gpu h100_sxm" \
    "recommend --model model.yaml --gpu h100_sxm --tokens 1B --days 60"; do
    exits 0 $command $format --quiet --out table.csv
    grep -qF -- "$1," table.csv || complain "'$command $format' has no cell $1: $(tail -n 1 table.csv)"
    ! grep -E '(^|,)"?[=+@]' table.csv || complain "'$command $format' has a formula"
  done
}

# Names that a spreadsheet would compute, and that would end a cell or a line.
model_called "'=cmd()'" && in_tables "\"'=cmd()\""
model_called "'+1'" && in_tables "\"'+1\""
model_called "'@x'" && in_tables "\"'@x\""
model_called "'-1+2'" && in_tables "\"'-1+2\""
model_called "'a,b'" && in_tables '"a,b"'
model_called '"say \"no\""' && in_tables '"say ""no"""'
model_called "'<script>alert(1)</script>'" && in_tables '<script>alert(1)</script>'
# A layout of stages has commas, and a plan with one as many cells as any other.
exits 0 sweep experiment.yaml --set 'plan={pp: 2, stage_layout: ["Et*16,|t*16,L", "Et*15,|t*17,L"]}' --format csv
grep -qF '1,"Et*15,|t*17,L",1,' out || complain "a layout ends its cell: $(cut -c 1-60 out)"
# Axes of a sweep are texts too; numbers stay numbers.
exits 0 sweep sweep.yaml --set 'description==1+1' --format csv --out swept.csv
grep -q '^0,model.yaml,1,' swept.csv || complain "rows begin with $(sed -n 2p swept.csv | cut -c 1-60)"

# Markup, in pictures, pages (tests/cli/html.sh opens them) and traces.
model_called '"<script>alert(1)</script>\" onload=\"x&"'
exits 0 compare experiment.yaml --gpu h100_sxm --plot plot.svg --html page.html
exits 0 trace experiment.yaml --out trace.json
! grep -F '<script>alert' plot.svg page.html || complain "a name is markup"
grep -qF '&lt;script&gt;alert(1)&lt;/script&gt;' plot.svg || complain "the picture does not name the model"
grep -qF '<script>alert(1)</script>\" onload=\"x&' trace.json || complain "the trace does not name the model"
exits 0 trace-compare experiment.yaml trace.json --format json

# A terminal obeys no text, and a name is of one line, which cannot end a comment of a script.
model_called '"a\nb"'
for command in "project experiment.yaml" "describe model.yaml" "export maxtext experiment.yaml" "sweep sweep.yaml"; do
  # shellcheck disable=SC2086
  exits 2 $command
  says "model.yaml:1:7: error: 'name' holds a control character, as a line feed is; write a name of one line"
done
# A name is no path: what is exported lies in the folder that was asked for.
model_called '"../a\"b"'
for framework in megatron primus torchtitan maxtext; do
  exits 0 export "$framework" experiment.yaml --out launch/inside
done
[ "$(find launch -type f | wc -l)" = "$(find launch/inside -maxdepth 1 -type f | wc -l)" ] ||
  complain "an export lies outside of its folder: $(find launch -type f)"
model_called 'odd'
sed -i 's/^title: .*/title: "a\\e[31mred\\x9b1m"/' model.yaml
exits 0 describe model.yaml
says '^a\\x1b\[31mred\\xc2\\x9b1m$'
! grep -q $'[\e\x9b]' out || complain "a title drives the terminal"
# Files of another encoding are refused where they leave UTF-8; names of files and options may, and JSON stays JSON.
model_called odd
printf 'description: "f\xfcr"\n' | cat experiment.yaml - >latin.yaml
for command in project sweep explain trace; do
  exits 2 "$command" latin.yaml --out other
  says '^latin.yaml:4:16: error: this is no text in UTF-8; save the file in that encoding$'
done
exits 2 project experiment.yaml --set $'description=f\xfcr'
says 'this is no text in UTF-8'
cp experiment.yaml $'odd\xff.yaml'
printf 'sku,dtype,m,n,k,latency_us\nh100_sxm,bf16,4096,4096,4096,230\n' >$'rows\xff.csv'
is_json() { python3 -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))' out || complain "$* is no JSON"; }
exits 0 project $'odd\xff.yaml' --format json && is_json project
exits 0 project experiment.yaml --tokens 1T --price h100_sxm=3 --currency $'\xff' --format json && is_json project
exits 0 sweep $'odd\xff.yaml' --format json && is_json sweep
exits 0 compare $'odd\xff.yaml' --gpu h100_sxm --format json && is_json compare
exits 0 validate $'rows\xff.csv' --format json && is_json validate
exits 0 trace $'odd\xff.yaml' --out out && is_json trace

# A script that is imported is read, not run.
printf '#!/bin/bash\n$(touch ran)\n`touch ran`\ntorchrun pretrain_gpt.py --num-layers $(touch ran; echo 2) --hidden-size 8\n' >launch.sh
"$stepcast" import megatron launch.sh --gpu h100_sxm >out 2>&1 || true
[ ! -e ran ] || complain "an import runs what its script says"

# Archives that unpack to more than there is memory, in each reader that unpacks.
yes_so_often() { yes "$1" 2>/dev/null | head -n "$2" || true; } # line, times
event='{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":150,"dur":40,"args":{"correlation":7}},'
{ printf '{"traceEvents": ["'; head -c 300000000 /dev/zero | tr '\0' a; } | gzip >text.json.gz
{ printf '{"traceEvents": ['; head -c 300000000 /dev/zero | tr '\0' ' '; } | gzip >blank.json.gz
{ printf '{"traceEvents": ['; yes_so_often "$event" 4000000; } | gzip >events.json.gz
# A sanitizer takes more than this for itself.
limit=400000
(ulimit -v "$limit" && "$stepcast" --version) >out 2>&1 || limit=unlimited
for bomb in text blank events; do
  for command in "trace-compare experiment.yaml $bomb.json.gz" "calibrate --gpu h100_sxm $bomb.json.gz" \
    "project experiment.yaml --measured $bomb.json.gz" "validate $bomb.json.gz --experiment experiment.yaml"; do
    code=0
    # shellcheck disable=SC2086
    (ulimit -v "$limit" && exec "$stepcast" $command) >out 2>&1 || code=$?
    [ "$code" -eq 2 ] || complain "'$command' exits $code: $(head -c 300 out)"
    says "^$bomb.json.gz\(:1:1\)\?: error: "
  done
done

# Job scripts pass names as they are; a stand-in for sbatch writes down its words and runs the script.
mkdir bin
cat >bin/sbatch <<'SH'
#!/usr/bin/env bash
printf '%s\n' "$@" --- >>"$WORDS"
while [ "${1#-}" != "$1" ]; do shift; done
SLURM_ARRAY_TASK_ID=1 SLURM_CPUS_PER_TASK=2 bash "$@" >/dev/null 2>"$WORDS.said" || cat "$WORDS.said" >&2
echo 7
SH
chmod +x bin/sbatch
odd='a b/$(touch ran) `touch ran`;&|"%a"'"'"
mkdir -p "$odd"
model_called odd
cp sweep.yaml model.yaml "$odd"
WORDS=$made/words PATH=$made/bin:$PATH STEPCAST=$stepcast \
  "$root/scripts/sweep_slurm.sh" -n 1 "$odd/sweep.yaml" "$odd/out folder" --comment='$(touch ran)' >out 2>&1 || complain "it is not submitted: $(cat out)"
grep -qxF -- "--output=$made/${odd//%/%%}/out folder/task_%a.log" words || complain "the log is named $(grep output words)"
[ "$(grep -cxF -- '--comment=$(touch ran)' words)" -eq 2 ] || complain "sbatch gets $(cat words)"
exits 0 sweep "$odd/sweep.yaml" --all --plans plans.csv
cmp -s plans.csv "$odd/out folder/plans.csv" || complain "the job in an odd folder gives other plans: $(cat out words.said)"
[ -z "$(find . -name ran)" ] || complain "a job script runs what a name says"

# Nothing is written but what is named.
mkdir alone
cp model.yaml experiment.yaml alone/
ln -s "$root/configs" alone/configs
(cd alone && "$stepcast" project experiment.yaml --out report.txt && "$stepcast" sweep experiment.yaml --plans plans.csv >/dev/null)
[ "$(ls alone | tr '\n' ' ')" = 'configs experiment.yaml model.yaml plans.csv report.txt ' ] || complain "there is $(ls alone)"
exit $failed
