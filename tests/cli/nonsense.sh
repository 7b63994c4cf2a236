#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Input that a script makes by mistake is refused at once, in few words, and harms nothing.
#   nonsense.sh STEPCAST SOURCE
set -euo pipefail
stepcast=$1
source "$2/tests/cli/run_checks.sh"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cd "$made"
lines_of() { wc -l <"$1"; }
sweep="$2/configs/sweeps/llama3_70b_512_h100.yaml"
cat >base.yaml <<'YAML'
model: llama3.1_8b
cluster: {gpu: h100_sxm, nodes: 1}
training: {sequence_length: 4096, global_batch_size: 64}
YAML
cp base.yaml kept.yaml

# Rates and clocks that make a time endless.
exits 2 project base.yaml --nodes 2 --set 'cluster.nic_rate=0 Gb/s'
says "'cluster.nic_rate': '0 Gb/s' is out of range; give 0.001 Gb/s to "
exits 2 project base.yaml --set 'cluster.link_rate=1 b/s'
exits 2 project base.yaml --set 'cluster.gpu_clock=1 Hz'
says "'1 Hz' is out of range; give 1 MHz to 100,000 MHz"
for key in nic_rate=1e300\ Gb/s nic_efficiency=0 nic_efficiency=1e-300 least_hop=1e300\ us least_network_hop=3\ h power_limit=0\ W; do
  exits 2 project base.yaml --nodes 2 --set "cluster.$key"
  says "is out of range; give"
done
for key in step kernel expert communication synchronise; do
  exits 2 project base.yaml --set "software={base: megatron, host: {$key: 1e300 s}}"
  says "'software.host.$key': '1e300 s' is out of range; give 0 s to 1,000 s"
done
# The same in a file of one's own: rates, clocks and powers have ranges wherever they are written.
gpu="$2/hardware_profiles/gpus/h100_sxm.yaml"
own_gpu() { sed -e 's/^name: .*/name: mine/' -e "$1" "$gpu" >mine.yaml; }
refused() { # a pattern of sed and what it makes out of range
  own_gpu "$1"
  cmp -s "$gpu" <(sed 's/^name: mine$/name: h100_sxm/' mine.yaml) && complain "$1 changes nothing"
  for command in project memory; do
    exits 2 "$command" base.yaml --gpu mine.yaml
    says "mine.yaml:[0-9]*:[0-9]*: error: $2"
  done
}
refused 's/transcendental_rate: {value: [0-9]*/transcendental_rate: {value: 0/' "'transcendental_rate': 0 is out of range"
refused 's/\(  bf16: {value: \)[0-9]* FLOP/\11e-308 FLOP/' "'matrix_rate.bf16': '1e-308 FLOP/clk' is out of range"
refused 's/\(  bf16: {value: \)[0-9]* FLOP/\11e300 FLOP/' "'matrix_rate.bf16': '1e300 FLOP/clk' is out of range"
refused 's/\(vector_rate: {value: \)[0-9]*/\10/' "'vector_rate': '0 FLOP/clk' is out of range"
refused 's/\(link_rate: {value: \)[0-9.]*/\11e-308/' "'scale_up.link_rate': '1e-308 GB/s' is out of range"
refused 's/\(bandwidth_per_clock: {value: \)[0-9]*/\10/' "'local_memory.bandwidth_per_clock': '0 B' is out of range"
refused 's/\(  limit: {value: \)[0-9]*/\10/' "'power.limit': '0 W' is out of range"
refused 's/\(  idle: {value: \)[0-9]*/\1900/' "'power' has an idle power that is not below its limit"
refused 's/\(launch_latency: {value: \)[0-9.]* us/\11e30 us/' "'launch_latency': '1e30 us' is out of range"
own_gpu ''
echo '{"kind":"gemm","m":4096,"n":4096,"k":4096}' >product.jsonl
exits 0 cost --gpu mine.yaml product.jsonl
# A limit that the part cannot keep is said.
exits 3 project base.yaml --power-limit '80 W'
says 'at its lowest clock of 495 MHz a GPU draws .* more than the limit of 80 W: the part could not keep this limit'
# So is a clock.
exits 3 project base.yaml --gpu mi300x --gpu-clock-mhz 2100 --fsdp 8
says 'locked at 2,100 MHz a GPU draws .* more than the limit of 750 W: the part could not keep this clock'
holds 'No plan that changes' <out && complain "another plan is no remedy for a clock"
exits 3 project base.yaml --gpu-clock-mhz 1980 --zero 0 --mbs 4
says 'GiB of memory; h100_sxm has'
holds 'It fits with' <out && complain "a plan that fits is none that can run at this clock"
# A list of all plans of a sweep has each of them, with its reason.
sed 's/^training:/plan: {tp: [1, 2, 4], zero: [1, 3]}\n&/' base.yaml >powerless.yaml
for limited in "--power-limit" "--gpu-clock-mhz"; do
  value='80 W'
  [ "$limited" = --power-limit ] || value=1980
  exits 3 sweep powerless.yaml "$limited" "$value" --sure 0.1 --plans powerless.csv
  [ "$(grep -c 'draws more than the power limit' powerless.csv)" -eq 6 ] || complain "$limited: $(cat powerless.csv)"
done
# Numbers of any size are printed as numbers.
exits 0 recommend --model llama3.1_8b --gpu h100_sxm --tokens 1000000000000000000 --price h100_sxm=999999999 --gpus 8
says ' [0-9.]*e+[0-9]* \$'
holds -e '-[0-9]' <out && complain "a large sum is negative: $(cat out)"
# A measured nothing has no error that is relative to it.
for measured in '"time_s":0' '"time_s":1e-320' '"power_w":0,"time_s":1e-3'; do
  printf '{"gpu":"h100_sxm","operator":{"kind":"gemm","m":4096,"n":4096,"k":4096},"measured":{%s}}\n' "$measured" >zero.jsonl
  exits 2 validate zero.jsonl
  says 'zero.jsonl:1:[0-9]*: error: .measured[.].*is out of range'
done
# Keys in other capitals are no keys.
for key in '"Dtype":"fp8"' '"DTYPE":"fp8"' '"Causal":false' '"Pass":"forward"' '"Count":2' '"Window":128'; do
  printf '{"kind":"attention","batch":1,"seq":4096,"heads":32,"d_qk":128,%s}\n' "$key" >capitals.jsonl
  exits 2 cost --gpu h100_sxm capitals.jsonl
  says 'did you mean'
done
# A slip in the batch.
for schedule in 1f1b zbv dualpipev; do
  exits 0 project base.yaml --pp 8 --zero 1 --gbs 1000000000 --schedule "$schedule"
done
# What places tasks one by one says where there are too many of them.
for command in explain 'project --html page.html'; do
  # shellcheck disable=SC2086
  (ulimit -v 524288; exits 0 $command base.yaml --pp 8 --gbs 1073741824; exit $failed) || failed=1
done
"$stepcast" explain base.yaml --pp 8 --gbs 1073741824 | holds 'Critical path: not followed' || complain "a path of 2^30 micro-batches is followed"
for batch in 65536 1073741824; do
  (ulimit -v 524288; exits 2 trace base.yaml --pp 8 --gbs "$batch" --out step.json; exit $failed) || failed=1
  says 'more than the 800000 that a trace may have; give a smaller batch'
done
[ ! -e step.json ] || complain "a trace that is refused is there"

# Names that cannot be looked at: links in a circle, too long ones.
ln -s circle circle
long=$(printf 'x%.0s' $(seq 300))
for name in circle "$long"; do
  exits 2 import hf "$name"
  exits 2 compare base.yaml --gpu b200 --gpu h100_sxm --save-dir "$name"
  exits 2 project "$name"
  exits 2 project base.yaml --out "$name"
done

# Problems by the hundred thousand.
{ cat base.yaml; seq 200000 | sed 's/.*/k&: 1/'; } >many.yaml
(ulimit -v 1048576; exits 2 project many.yaml; exit $failed) || failed=1
[ "$(lines_of out)" -eq 21 ] || complain "$(lines_of out) lines for 200,000 problems"
says '^and 199980 more$'
yes oops | head -n 100000 >bad.jsonl || true
exits 2 cost --gpu mi300x bad.jsonl
[ "$(lines_of out)" -le 22 ] || complain "$(lines_of out) lines for 100,000 bad lines"
exits 2 project base.yaml --gpu "$(printf 'x%.0s' $(seq 100000))"
[ "$(wc -c <out)" -lt 400 ] || complain "a long name makes a long message"

# Outputs that are inputs, by any name.
ln -s base.yaml link.yaml
for out in base.yaml ./base.yaml link.yaml; do
  exits 2 project base.yaml --out "$out"
  says 'would replace the input'
done
# A link stays one, and its target is what is written.
ln -s real.txt to_write
ln -s loop_a loop_b
ln -s loop_b loop_a
exits 0 project base.yaml --out to_write
[ -L to_write ] && [ -s real.txt ] || complain "a link is replaced"
exits 2 project base.yaml --out loop_a
says 'cannot follow the link'
exits 2 project base.yaml --html base.yaml
exits 2 sweep base.yaml --plans base.yaml
cmp -s base.yaml kept.yaml || complain "an input was replaced"

# What a variable that is not set, or a stray line feed, leaves.
exits 2 project base.yaml --gpu ''
says '^--gpu: error: is empty'
exits 2 project base.yaml --out ''
exits 2 project base.yaml --gpu $'h100_sxm\n'
says 'holds a control character'
exits 2 project base.yaml --set plan.tp=
says "gives 'plan.tp' no value"
exits 2 sweep "$sweep" --top -1
exits 2 sweep "$sweep" --top 100000000000000000000
exits 2 --data base.yaml list gpus
says 'is no data folder'
exits 2 --data none project base.yaml
[ "$(lines_of out)" -eq 1 ] || complain "a wrong data folder is blamed on the experiment"

# Values that mean nothing.
echo '{"kind":"dispatch","dispatcher":"deepep","tokens":4096,"hidden":7168,"experts":64,"topk":8,"ep":7,"dtype":"bf16"}' >odd.jsonl
exits 2 cost --gpu h100_sxm odd.jsonl
says "'ep' is 7, which does not divide 64"
exits 3 sweep "$sweep" --set 'constraints=["1 / (tp - tp) > 0"]'
exits 3 sweep "$sweep" --set 'constraints=["log2(tp - tp) < 1"]'
exits 2 sweep "$sweep" --set 'constraints=["log2(0) < 1"]'
says 'the constraint is no number'
exits 2 project base.yaml --set 'plan.stage_layout=(((('
sed -e 's/^name: .*/name: odd/' -e 's/first_dense_layers: [0-9]*/first_dense_layers: 400/' "$2/configs/models/deepseek_v3.yaml" >odd.yaml
exits 2 project base.yaml --model odd.yaml
says 'first_dense_layers must be less'
sed '/^cluster/d' base.yaml >placeless.yaml
exits 2 project placeless.yaml
says "^placeless.yaml:1:1: error: the file needs the key 'cluster'$"
[ "$(lines_of out)" -eq 1 ] || complain "a missing cluster is told with $(cat out)"
exits 2 project base.yaml --gpu h100
says "did you mean 'h100_sxm'"
exits 2 project base.yaml --gpu MI300
says "did you mean 'mi300x'"
# What an option gave is told of the option, what --set gave of --set.
says '^--gpu MI300: error: unknown GPU'
exits 2 project base.yaml --tp 0
says '^--tp 0: error: .plan.tp.'
exits 2 project base.yaml --sure 1000%
says '^--sure 1000%: error: '
exits 2 project base.yaml --gpu '[['
says '^--gpu \[\[: error: '
exits 2 project base.yaml --set plan.tp=0
says '^--set plan.tp=0:1:1: error: '
# Nothing is lost in silence: two values of one key, a mapping in the place of a key that is set, a part of what was asked for.
exits 2 project base.yaml --tp 2 --set plan.tp=4
says "^--set plan.tp=4: error: sets 'plan.tp' to another value than '--tp 2'; leave one of them out$"
exits 2 project base.yaml --set plan.tp=2 --set plan.tp=4
exits 0 project base.yaml --tp 2 --set plan.tp=2
exits 2 project base.yaml --tp 2 --set 'plan={pp: 2}'
says "replaces all of 'plan', and with it '--tp 2'"
exits 0 project base.yaml --set 'plan={pp: 2}' --set plan.tp=2
exits 0 project base.yaml --model llama3_8b --set 'model={base: llama3_8b, layers: 16}'
exits 2 project base.yaml --backend gemm=tile --backend gemm=roofline
says '^--backend gemm=roofline: error: '
exits 2 cost --gpu h100_sxm --backend gemm=tile --backend gemm=roofline odd.jsonl
says '^--backend gemm=roofline: error: '
exits 2 recommend base.yaml --gpu h100_sxm --gpu h100_sxm --tokens 1B --days 30
says '^--gpu h100_sxm: error: is given twice'
exits 2 project base.yaml --schedule all --tokens 1B --price h100_sxm=2
says '^--tokens 1B: error: '
says '^--price h100_sxm=2: error: '
exits 2 sweep "$sweep" --pieces pieces --html page.html
exits 2 sweep "$sweep" --pieces pieces --plot plot.svg
exits 2 layer base.yaml --map-ranks 4
says '^--map-ranks: error: requires --map'
exits 2 layer base.yaml --map --state cool
# Numbers are written as in a config file, whose readers take 010 for 8 and refuse 0x10.
for number in 010 0x10 1e3 1.5 ''; do
  for command in "project base.yaml --nodes" "compare base.yaml --nodes" "sweep $sweep --top" "sweep $sweep --threads" \
    "trace base.yaml --out trace.json --rank" "layer base.yaml --map --map-ranks" "recommend base.yaml --gpu h100_sxm --gpus"; do
    # shellcheck disable=SC2086
    exits 2 $command "$number"
    says "^${command##* }: error: "
  done
done
exits 2 project base.yaml --gpu-clock-mhz 0x400
says "^--gpu-clock-mhz: error: '0x400' is not a plain number"
# The script that submits a sweep says so before anything is submitted or made.
for bad in "-n 0 base.yaml" "-c x base.yaml" "nowhere.yaml"; do
  # shellcheck disable=SC2086
  ! "$2/scripts/sweep_slurm.sh" $bad submitted >out 2>&1 || complain "sweep_slurm.sh takes $bad"
  says '^sweep_slurm.sh: .*: error: '
  [ ! -e submitted ] || complain "sweep_slurm.sh $bad makes a folder"
done
exits 2 help nonsense
says "^command line: error: there is no command 'nonsense'"
exits 0 help project
# An option that names no key, no text or no number is told of itself; null is no value, as in a file.
exits 2 cost --gpu nonsense odd.jsonl
says '^--gpu nonsense: error: unknown GPU'
exits 2 recommend base.yaml --gpu h100_sxm --tokens 1B --days 30 --constraint 'tp <= x'
says '^--constraint tp <= x: error: '
exits 4 project base.yaml --set plan.tp=null --set plan.fsdp=~
exits 2 project base.yaml --set 'plan.tp=#'
says "gives 'plan.tp' no value"
exits 2 calibrate "$2/tests/validation/mi355x_gemm.jsonl" --gpu mi355x --date 2026-02-30
says '^--date 2026-02-30: error: is no date'
for empty in cluster.host cluster.name backends.gemm plan.stage_layout; do
  exits 2 project base.yaml --set "$empty=\"\""
  says "error: '$empty' is empty"
done
# One mistake gives one message.
for mistake in 'cluster=[1]' 'cluster=3' 'cluster=""' 'cluster.gpu=[0]' 'model=[]' 'software=[]' 'expert_exchange.x=1'; do
  exits 2 project base.yaml --set "$mistake"
  [ "$(lines_of out)" -eq 1 ] || complain "$mistake is told with $(cat out)"
  says "^--set ${mistake//[/\\[}:1:1: error: "
done
exits 2 sweep base.yaml --set 'plan.tp={from: -5, to: 10}'
says "the range of 'plan.tp' begins below 0"
[ "$(lines_of out)" -eq 1 ] || complain "a range below 0 is told with $(cat out)"
echo '{"kind":"gemm","m":4096,"n":4096,"k":4096,"batch":1000000000}' >odd.jsonl
exits 2 cost --gpu h100_sxm odd.jsonl
[ "$(lines_of out)" -eq 1 ] || complain "a batch that is too large is told with $(cat out)"
says "error: 'batch' makes a tensor"
echo '{"kind":"gemm","m":4096,"n":4096,"k":4096,"dtype":"é"}' >odd.jsonl
exits 2 cost --gpu h100_sxm odd.jsonl
says "it is the text 'é'"
long=$(printf 'x%.0s' {1..100000})
for command in "project $long" "list $long" "--data $long list gpus" "describe $long" "validate $long" "project base.yaml --gpu $long" \
  "project base.yaml --out $long" "sweep $sweep --shard $long" "project base.yaml --price $long"; do
  # shellcheck disable=SC2086
  exits 2 $command
  [ "$(wc -c <out)" -lt 5000 ] || complain "${command:0:30} is told with $(wc -c <out) bytes"
done
# What is meant.
meant() { # option or key, arguments
  local meant=$1
  shift
  exits 2 "$@"
  says "did you mean '$meant'?"
}
meant --gpu project base.yaml --GPU h100_sxm
meant --seq project base.yaml --seq-len 1
meant --tp project base.yaml --tensor-model-parallel-size 1
meant project proj base.yaml
meant deepep project base.yaml --set plan.dispatcher=DeepEP
meant megatron project base.yaml --set software=Megatron
meant bf16 project base.yaml --dtype bfloat16
meant global_batch_size project base.yaml --set training.gbs=1
# A model's file that contradicts itself, widths that no kernel is made for, and no terminal is driven by a name.
sed -e 's/^name: .*/name: odd/' -e 's/ffn_hidden: [0-9]*/ffn_hidden: 13/' -e 's/^vocabulary: .*/vocabulary: 1/' "$2/configs/models/llama3_8b.yaml" >odd.yaml
exits 0 project base.yaml --model odd.yaml
says "'published' says"
says 'ffn_hidden 13 is no multiple of 8'
says 'a vocabulary of 1 is less'
printf 'model: "\\e[31mred"\ncluster: {gpu: h100_sxm}\ntraining: {sequence_length: 4096, global_batch_size: 8}\n' >escape.yaml
exits 2 project escape.yaml
says 'unknown model .\\x1b\[31mred'
exits 2 compare base.yaml --gpu h100_sxm --price b200=3
says 'give that of h100_sxm'

# Command lines that cannot be parsed.
exits 2 project base.yaml --modle=x
says "did you mean '--model'?"
exits 2 project base.yaml other.yaml
says "^command line: error: the following argument was not expected: other.yaml; see 'stepcast project --help'"
exits 2 project base.yaml --format xml
says "^--format: error: xml not in .*; see 'stepcast project --help'"
exits 0
says 'stepcast --help     all commands'
exit "$failed"
