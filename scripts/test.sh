#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The check, from a bare Debian 12 machine: format, release build (g++) and every test, ASan and UBSan build
# (clang) of the program and the fuzzers with the command lines' tests, clang-tidy, fuzzing. Prints each
# step's seconds, and ctest's closing lines last.
#   scripts/test.sh         what every change has to pass: clang-tidy looks at what changed since the whole
#                           tree was clean, parsers are fuzzed for seconds
#   scripts/test.sh --all   besides: every test under sanitizers too, with all its rounds, what runs on threads
#                           under TSan, recipes tried in scratch trees, clang-tidy over the whole tree, cppcheck
#                           and clang's analyzer, minutes of fuzzing
# Not part of it: scripts/same_bytes.sh, scripts/coverage.sh.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
case ${1:-} in
  "") all=false ;;
  --all) all=true ;;
  *) echo "usage: test.sh [--all]" >&2; exit 2 ;;
esac
source scripts/packages.sh
scripts/install_packages.sh "${build_packages[@]}" "${python_packages[@]}" "${check_packages[@]}"
source scripts/compiler_cache.sh

times=()
began=0
name="install"
step() {
  times+=("$(printf '%6ss  %s' "$((SECONDS - began))" "$name")")
  began=$SECONDS
  name=$1
  printf '\n== %s (%ss)\n' "$name" "$SECONDS"
}

step "format"
scripts/check_format.sh
step "release build"
cmake --preset release -DSTEPCAST_PYTHON=ON -DPython3_EXECUTABLE=/usr/bin/python3 "${compiler_cache[@]}" >/dev/null
cmake --build --preset release
step "release tests"
# Without --all what takes longest and can hardly break is left to it: tests with the label "all".
left_out=(--label-exclude '^all$')
if $all; then left_out=(); fi
ctest --preset release "${left_out[@]}" | tee build/release_tests.log
step "ASan and UBSan build"
cmake --preset fuzz "${compiler_cache[@]}" >/dev/null
if $all; then cmake --build --preset fuzz; else cmake --build --preset fuzz --target stepcast_cli stepcast_fuzz; fi
step "ASan and UBSan tests"
if $all; then STEPCAST_TEST_ROUNDS=all ctest --preset fuzz-all; else ctest --preset fuzz; fi
if $all; then
  step "TSan build and tests"
  scripts/tsan.sh
  step "cppcheck and clang's analyzer"
  scripts/check_static.sh
fi
step "clang-tidy"
if $all; then scripts/check_tidy.sh --all; else scripts/check_tidy.sh; fi
step "fuzzing"
if $all; then scripts/fuzz.sh 300; else scripts/fuzz.sh 27; fi
step "end"
printf '\n== time of each step\n'
printf '%s\n' "${times[@]}"
printf '%6ss  together\n' "$SECONDS"
printf '\n== ctest'"'"'s closing lines, of the release tests\n'
tail -n 5 build/release_tests.log
