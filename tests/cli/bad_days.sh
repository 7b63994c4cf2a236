#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bad days of a machine and its user: folders that cannot be written, no home, no terminal, odd locales and names, few open
# files, little memory, a clock that goes backwards, two runs of one journal. The right result, or what is wrong.
# What tests/cli/streams.sh (pipes, full devices), killed.sh and sweep.sh (a full disk) try is not repeated.
# Usage: bad_days.sh STEPCAST ROOT
set -euo pipefail
stepcast=$(realpath "$1")
root=$(realpath "$2")
made=$(mktemp -d)
held=
clean() {
  [ -z "$held" ] || kill -9 "$held" 2>/dev/null || true
  chmod -R u+w "$made"
  rm -rf "$made"
}
trap clean EXIT
source "$root/tests/cli/run_checks.sh"
ln -s "$root/configs" "$made/configs"
ln -s "$root/hardware_profiles" "$made/hardware_profiles"
cd "$made"
same() { cmp -s "$1" "$2" || complain "$3: $1 and $2 differ"; }
cat >base.yaml <<'YAML'
model: llama3.1_8b
cluster: {gpu: h100_sxm, nodes: 1}
training: {sequence_length: 4096, global_batch_size: 64}
YAML
cat >sweep.yaml <<'YAML'
model: llama3.1_8b
cluster: {gpu: h100_sxm, nodes: [1, 2]}
training: {sequence_length: 4096, micro_batch_size: [1, 2], global_batch_size: [64, 128]}
plan: {tp: [1, 2, 4, 8], pp: [1, 2], zero: [0, 1, 2, 3]}
YAML
exits 0 project base.yaml --format json --out report.json
exits 0 sweep sweep.yaml --threads 1 --all --out report.txt --plans plans.csv
# The same two in another way, with what runs them before.
same_again() { # what is odd, command...
  local code=0 odd=$1
  shift
  rm -f again.*
  "$@" "$stepcast" project base.yaml --format json --out again.json >out 2>&1 || code=$?
  "$@" "$stepcast" sweep sweep.yaml --threads 2 --all --out again.txt --plans again.csv >>out 2>&1 || code=$?
  [ "$code" -eq 0 ] || complain "$odd: exits $code: $(head -n 3 out)"
  sed 's|again\.json|report.json|' again.json >again.named
  same again.named report.json "$odd"
  same again.txt report.txt "$odd"
  same again.csv plans.csv "$odd"
}

# No home, no environment, no terminal.
same_again "no home" env -u HOME
same_again "no environment" env -i
same_again "no terminal" setsid
same_again "a terminal of no kind" env TERM= COLUMNS=0

# Locales: Turkish ones have another lower case of I and a comma in numbers.
same_again "the locale C" env LC_ALL=C LANG=C
same_again "a locale that is not there" env LC_ALL=xx_YY.UTF-8
mkdir locales
for locale in tr_TR de_DE; do
  if localedef -i "$locale" -f UTF-8 "locales/$locale.UTF-8" >/dev/null 2>&1; then
    same_again "the locale $locale" env LOCPATH="$made/locales" LC_ALL="$locale.UTF-8"
    [ "$(LOCPATH=$made/locales LC_ALL=$locale.UTF-8 bash -c 'printf %.1f 0,5' 2>&1)" = 0,5 ] ||
      echo "SKIPPED: the locale $locale was made, but programs do not take it"
  else
    echo "SKIPPED: the locale $locale, whose sources (package locales) are not installed"
  fi
done

# Names of files: spaces, Unicode, quotes and commands are names as others; line feeds are refused where they are given,
# since a stray one in a script is likelier, and do no harm where the run stands.
odd=$'a b/\u00fc\u4e2d \'x\' "y" $(touch ran) `touch ran`;&|*'
mkdir -p "$odd"
cp base.yaml sweep.yaml "$odd"
(cd "$odd" && ln -s "$made/configs" "$made/hardware_profiles" .)
exits 0 project "$odd/base.yaml" --format csv
exits 0 sweep "$odd/sweep.yaml" --threads 2 --all --plans "$odd/plans.csv" --save-dir "$odd/best"
same "$odd/plans.csv" plans.csv "an odd folder"
exits 0 project "$odd/best/rank_01.yaml"
exits 0 --data "$odd" project base.yaml --format csv --out "$odd/report.csv"
exits 0 project base.yaml --format csv
same "$odd/report.csv" out "data and output in an odd folder"
for k in 1 2; do exits 0 sweep "$odd/sweep.yaml" --shard "$k/2" --out "$odd/$k.part"; done
exits 0 merge "$odd/1.part" "$odd/2.part" --plans "$odd/merged.csv"
same "$odd/merged.csv" plans.csv "shards in an odd folder"
exits 0 sweep "$odd/sweep.yaml" --pieces "$odd/pieces"
exits 0 merge "$odd/pieces" --plans "$odd/merged.csv"
same "$odd/merged.csv" plans.csv "pieces in an odd folder"
exits 2 project "$odd/none.yaml"
says ';&|\*/none.yaml: error: cannot open the file'
lines=$'line\nfeed'
mkdir "$lines"
cp base.yaml sweep.yaml "$lines"
exits 2 project "$lines/base.yaml"
says '^experiment: error: holds a control character, as a line feed is$'
exits 2 project base.yaml --out "$lines/report.json"
says '^--out: error: holds a control character, as a line feed is$'
(
  cd "$lines"
  ln -s "$made/configs" "$made/hardware_profiles" .
  "$stepcast" sweep sweep.yaml --threads 2 --all --plans plans.csv --save-dir best >out 2>&1 || complain "in a folder with a line feed: $(cat out)"
  same plans.csv ../plans.csv "a folder with a line feed"
  "$stepcast" sweep sweep.yaml --pieces pieces >out 2>&1 || complain "pieces in a folder with a line feed: $(cat out)"
  "$stepcast" merge pieces --plans merged.csv >out 2>&1 || complain "a merge in a folder with a line feed: $(cat out)"
  same merged.csv ../plans.csv "pieces in a folder with a line feed"
  exit "$failed"
) || failed=1
[ -z "$(find . -name ran)" ] || complain "the name of a file was run"

# What cannot be written or read, and what stood there stays.
mkdir closed
echo old >closed/old.txt
chmod 500 closed
as_nobody() { "$@"; }
if [ "$(id -u)" -eq 0 ]; then
  # To root nothing is closed.
  if command -v setpriv >/dev/null; then
    chmod 755 "$made" && chmod 555 closed
    as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
  else
    echo "SKIPPED: folders that cannot be written, as root, for whom there are none, and without setpriv"
    as_nobody() { false; }
  fi
fi
refuses() { # what is said, arguments
  local code=0 said=$1
  shift
  as_nobody "$stepcast" "$@" >out 2>&1 || code=$?
  [ "$code" -eq 2 ] || complain "$* exits $code, not 2: $(head -n 3 out)"
  says "$said"
}
if as_nobody test -r base.yaml; then
  refuses 'closed/a.txt: error: cannot write the file: Permission denied' project base.yaml --out closed/a.txt
  refuses 'closed/old.txt: error: cannot write the file: Permission denied' project base.yaml --out closed/old.txt
  refuses 'closed/a.html: error: cannot write the file: Permission denied' project base.yaml --html closed/a.html
  refuses 'closed/a.csv.part: error: cannot write the part: Permission denied' sweep sweep.yaml --all --plans closed/a.csv
  refuses 'closed/a: error: cannot make the folder: Permission denied' sweep sweep.yaml --pieces closed/a
  refuses 'closed/best: error: cannot' sweep sweep.yaml --save-dir closed/best
  refuses 'none/a.txt: error: cannot write the file: No such file or directory' project base.yaml --out none/a.txt
  refuses 'base.yaml/a.txt: error: cannot write the file: Not a directory' project base.yaml --out base.yaml/a.txt
  [ "$(cat closed/old.txt)" = old ] && [ "$(ls closed)" = old.txt ] || complain "a closed folder holds $(ls closed)"
  install -m 0 base.yaml shut.yaml
  refuses 'shut.yaml: error: cannot open the file; check that it exists and is readable' project shut.yaml
fi

# Few open files, little memory, in KiB.
(ulimit -n 256; same_again "256 open files"; exit $failed) || failed=1
(ulimit -n 16; same_again "16 open files"; exit $failed) || failed=1
if ! (ulimit -v 204800; "$stepcast" --version) >/dev/null 2>&1; then
  echo "SKIPPED: 200 MiB of memory, of which a sanitizer alone takes more"
else
  (ulimit -v 204800; same_again "200 MiB of memory"; exit $failed) || failed=1
  # More threads than the address space has room for.
  (ulimit -v 262144; exits 0 sweep sweep.yaml --threads 64 --all --plans again.csv; exit $failed) || failed=1
  same again.csv plans.csv "64 threads in 256 MiB"
  code=0
  (ulimit -v 30000; "$stepcast" sweep sweep.yaml --threads 4) >out 2>&1 || code=$?
  [ "$code" -eq 1 ] || complain "with 30 MB of memory a sweep of four threads exits $code"
  says '^stepcast: fault: .*--threads'
fi

# A clock that is wrong, and one that goes back by an hour while a run looks at it.
faketime=$(find /usr/lib -name libfaketime.so.1 2>/dev/null | head -n 1)
if [ -n "$faketime" ] && env "LD_PRELOAD=$faketime" FAKETIME='-1d' "$stepcast" --version >out 2>&1; then
  same_again "a clock of 1971" env "LD_PRELOAD=$faketime" FAKETIME='@1971-01-01 00:00:00'
  same_again "a clock of 2100" env "LD_PRELOAD=$faketime" FAKETIME='@2100-01-01 00:00:00'
  echo '+0' >clock
  (while sleep 0.02; do echo '-1h' >clock.new && mv clock.new clock; sleep 0.02; echo '+1h' >clock.new && mv clock.new clock; done) &
  held=$!
  same_again "a clock that goes back" env "LD_PRELOAD=$faketime" FAKETIME_TIMESTAMP_FILE="$made/clock" FAKETIME_NO_CACHE=1
  exits 0 sweep sweep.yaml --pieces first
  code=0
  env "LD_PRELOAD=$faketime" FAKETIME_TIMESTAMP_FILE="$made/clock" FAKETIME_NO_CACHE=1 \
    "$stepcast" sweep sweep.yaml --pieces second --threads 2 >out 2>&1 || code=$?
  [ "$code" -eq 0 ] || complain "pieces under a clock that goes back exit $code: $(head -n 3 out)"
  diff -r -x 'task_*' first second >out || complain "pieces under a clock that goes back are others: $(head -n 3 out)"
  kill "$held"
  held=
else
  echo "SKIPPED: clocks that are wrong, libfaketime is not installed, or a sanitizer does not bear it"
fi

# Two runs of one journal: the second one is told, and harms nothing.
"$stepcast" sweep sweep.yaml --threads 1 --all --out one.txt --plans one.csv >/dev/null 2>&1 &
held=$!
until [ -s one.txt.part ] || ! kill -0 "$held" 2>/dev/null; do :; done
kill -STOP "$held" 2>/dev/null || true
if [ -e one.txt.part ]; then
  exits 2 sweep sweep.yaml --all --resume --out one.txt --plans one.csv
  says 'one.txt.part: error: '
  kill -CONT "$held"
else
  echo "the first run had ended before the second one began"
fi
wait "$held" || complain "the first of two runs of one journal exits $?"
held=
same one.txt report.txt "two runs of one journal"
same one.csv plans.csv "two runs of one journal"
! ls one.*part* 2>/dev/null || complain "two runs of one journal leave files"
exit $failed
