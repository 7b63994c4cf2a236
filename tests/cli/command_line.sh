#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the command line says of itself: help, version, completion, manual, lists in JSON, standard input.
# Usage: command_line.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
root=$2
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
# shellcheck source=tests/cli/run_checks.sh
source "$root/tests/cli/run_checks.sh"
cd "$root"

# Words in the place of options.
diff <("$stepcast" help sweep) <("$stepcast" sweep --help) >/dev/null || complain "help sweep is not sweep --help"
[ "$("$stepcast" version)" = "$("$stepcast" --version)" ] || complain "version is not --version"
"$stepcast" --version | holds -E '^stepcast [0-9.]+( \([0-9a-f]{7}( with changes)?\))?$' || complain "--version: $("$stepcast" --version)"

# A word that names nothing is told the nearest one.
exits 2 projet
says "there is no command 'projet'; did you mean 'project'?"
exits 2 import megatrn x
says "there is no command 'megatrn'; did you mean 'megatron'?"
exits 2 project --tpp 2
says "there is no option '--tpp'; did you mean '--tp'?"
exits 2 sweep --frobnicate
says "'stepcast help sweep' shows what there is"

# A backend that is not there is told of the option.
exits 2 project examples/01_llama3.1_70b_mi300x/experiment.yaml --backend gemm=quantum
says "^--backend gemm=quantum: error: unknown backend 'quantum' for the role 'gemm'"
exits 2 cost --gpu h100_sxm --backend gem=tile /dev/null
says "^--backend gem=tile: error: there is no role 'gem' of a backend; give one of: gemm"

# Every command shows its usage with the program's name, real types and an example, and the examples run.
mkdir "$made/bin"
ln -s "$stepcast" "$made/bin/stepcast"
commands=$("$stepcast" --help | sed -n '/^Subcommands:/,$p' | sed -n 's/^  \([a-z-]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 15 ] || complain "the commands are: $commands"
for command in $commands; do
  "$stepcast" "$command" --help >"$made/help"
  grep -q "^Usage: stepcast $command" "$made/help" || complain "$command: usage is $(grep Usage "$made/help")"
  if grep -Eq ' (TEXT|INT|FLOAT|UINT)\b' "$made/help"; then complain "$command: $(grep -E ' (TEXT|INT|FLOAT|UINT)\b' "$made/help")"; fi
  example=$(sed -n 's/^Example: //p' "$made/help")
  [ -n "$example" ] || complain "$command: no example"
  case $command in
    sweep | merge | import | trace | trace-compare) ;; # long, or with files of the reader's own
    *) (PATH=$made/bin:$PATH && eval "$example") >/dev/null 2>"$made/message" ||
      complain "$command: its example says $(head -n 2 "$made/message")" ;;
  esac
done

# Standard input in the place of a file.
example=examples/04_llama3.1_8b_mi300x/experiment.yaml
for command in project memory; do
  diff <("$stepcast" $command - <$example) <("$stepcast" $command $example) >/dev/null || complain "$command - differs"
  # A pipe gives its text once.
  diff <(cat $example | "$stepcast" $command -) <("$stepcast" $command $example) >/dev/null || complain "$command of a pipe differs"
done
# Also where a batch and a plan are chosen, for which nothing is read again.
grep -v -e '^plan' -e global_batch_size $example >"$made/open.yaml"
diff <(cat "$made/open.yaml" | "$stepcast" project -) <("$stepcast" project "$made/open.yaml") >/dev/null ||
  complain "a pipe without a batch and a plan differs"
"$stepcast" validate - <tests/validation/pair_steps.jsonl | holds step_time_s || complain "validate - has no rows"
operator='{"kind": "gemm", "m": 4096, "n": 4096, "k": 4096}'
diff <("$stepcast" cost --gpu h100_sxm - <<<"$operator") <("$stepcast" cost --gpu h100_sxm <<<"$operator") >/dev/null ||
  complain "cost - differs"

# Names with a line each, as JSON too; a file of the user's own is described as a shipped one.
"$stepcast" list software | holds -E '^megatron +Megatron-LM' || complain "list software has no titles"
"$stepcast" list operators | holds -E '^gemm +m, n, k;' || complain "list operators: $("$stepcast" list operators)"
"$stepcast" list formats | holds '^GEMM  *JSON lines with m, n, k, kind' || complain "list formats: $("$stepcast" list formats | head -n 5)"
"$stepcast" describe format GEMM | holds 'm, n, k, kind' || complain "describe format GEMM"
"$stepcast" describe format 'GEMM points' | sed -n 's/^    //p' >"$made/example.csv"
exits 0 validate "$made/example.csv"
for kind in gpus models software operators formats; do
  "$stepcast" list $kind --format json | holds "\"kind\": \"$kind\"" || complain "list $kind --format json"
done
"$stepcast" describe h100_sxm --format json | holds '"values"' || complain "describe --format json has no values"
for file in configs/models/llama3.1_8b hardware_profiles/gpus/mi300x hardware_profiles/clusters/gb200_nvl72; do
  cp $file.yaml "$made/own.yaml"
  diff <("$stepcast" describe "$made/own.yaml") <("$stepcast" describe "$(basename $file)") >/dev/null ||
    complain "describe of a copy of $file differs"
done

# A GPU of the user's own runs from its file.
printf '%s\n' 'name: own' 'title: Own' 'base: h100_sxm' 'kernels_measured_on: h100_sxm' 'hbm:' \
  '  capacity: {value: 160 GiB, assumed: a test}' >"$made/own.yaml"
exits 0 project --model llama3.1_8b --gpu "$made/own.yaml" --nodes 1 --fsdp 8
says '^llama3.1_8b on 8 x own (1 node)'
echo "$operator" >"$made/operators"
exits 0 cost --gpu "$made/own.yaml" "$made/operators"

# A column that is nearly right is named.
printf 'gpu,m,n,k,time_us\nh100_sxm,1,1,1,1\n' >"$made/near.csv"
code=0
message=$("$stepcast" validate "$made/near.csv" 2>&1) || code=$?
[ "$code" -eq 2 ] && grep -q "nearest is GEMM points, which also needs sku, latency_us beside gpu, time_us" <<<"$message" ||
  complain "a nearly right column: $message"

# Quiet is quiet.
[ -z "$("$stepcast" --quiet sweep configs/sweeps/llama3_70b_512_h100.yaml --top 1 --set training.micro_batch_size=1 --set plan.tp=8 --out "$made/sweep" 2>&1)" ] ||
  complain "--quiet sweep says something"

# What bash completes.
"$stepcast" completion bash >"$made/completion"
completed() { # words before, the word begun
  PATH=$made/bin:$PATH bash -c 'source "$1"; COMP_WORDS=(stepcast $2 "$3"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _stepcast; printf "%s\n" "${COMPREPLY[@]}"' _ "$made/completion" "$1" "$2"
}
[ "$(completed "" pro)" = project ] || complain "completion of pro: $(completed "" pro)"
[ "$(completed "project --gpu" h100_s)" = h100_sxm ] || complain "completion of --gpu h100_s"
completed "import" "" | holds -x hf || complain "completion of import: $(completed import "")"
completed "sweep" --save | holds -x -- --save-dir || complain "completion of sweep --save"
completed "project" --pow | holds -x -- --power-limit || complain "completion of project --pow"
completed "list" gp | holds -x gpus || complain "completion of list gp"
[ "$(completed "describe" h100_s)" = h100_sxm ] || complain "completion of describe h100_s"
[ "$(completed "project --format" c)" = csv ] || complain "completion of --format c"
completed "project --cluster" h100 | holds -x h100_rail_optimised || complain "completion of --cluster h100"
[ "$(completed "help" mem)" = memory ] || complain "completion of help mem"
"$stepcast" completion zsh | sed -n 1p | holds -x '#compdef stepcast' || complain "zsh's completion"
"$stepcast" manual | sed -n 1p | holds '^\.TH STEPCAST 1' || complain "the manual"
"$stepcast" manual | sed -n 3p | holds -x 'stepcast .- projects the training of large models, without a GPU' ||
  complain "the manual's name"

# Every command has an example, and no type is a programmer's.
"$stepcast" completion bash | sed -n "s/^    '\([a-z_ -]\{1,\}\)') options=.*/\1/p" | while read -r command; do
  # shellcheck disable=SC2086 # a command within another is two words
  "$stepcast" $command --help >"$made/help"
  grep -q '^Example: ' "$made/help" || echo "$command has no example"
  ! grep -E 'INT|FLOAT|NONNEGATIVE|TEXT' "$made/help" || echo "of $command"
done >"$made/said"
[ ! -s "$made/said" ] || complain "help: $(cat "$made/said")"

# A format of two words needs no quotes.
"$stepcast" describe format GEMM points | holds '^format GEMM points' || complain "a format of two words"

# Within a command of commands, too, an output never replaces an input, and empty options are no options.
printf '{"model_type": "llama"}\n' >"$made/config.json"
for words in "hf $made/config.json --out $made/config.json" "megatron $made/config.json --out $made/config.json"; do
  code=0
  # shellcheck disable=SC2086 # words
  message=$("$stepcast" import $words 2>&1) || code=$?
  [ "$code" -eq 2 ] && grep -q "would replace the input" <<<"$message" || complain "import $words: $message"
done
code=0
message=$("$stepcast" import megatron "$made/config.json" --gpu '' 2>&1) || code=$?
[ "$code" -eq 2 ] && grep -q -- "--gpu: error: is empty" <<<"$message" || complain "an empty --gpu: $message"
# A word that is neither a file nor a model is told so, and a part of which there are two is told apart.
exits 2 project lama3.1_8b --gpu h100_sxm
says "^lama3.1_8b: error: is neither a file nor a model; did you mean 'llama3.1_8b'?"
exits 2 project llama3.1_8b --gpu a100
says "unknown GPU 'a100'; did you mean 'a100_40gb' or 'a100_80gb'?"
exit $failed
