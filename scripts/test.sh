#!/usr/bin/env bash
# The whole check, from a bare Debian 12 machine: format, release build (g++) and tests, ASan and UBSan
# build (clang, with the fuzzers) and tests, clang-tidy, a minute of fuzzing. Prints ctest's closing
# lines last.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
source scripts/packages.sh
scripts/install_packages.sh "${build_packages[@]}" "${check_packages[@]}"
step() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }

step "format"
scripts/check_format.sh
step "release build and tests"
cmake --preset release >/dev/null
cmake --build --preset release
ctest --preset release | tee build/release_tests.log
step "ASan and UBSan build and tests"
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz
# Accuracy, scripts, kills and thread counts are checked by the release tests alone.
ctest --preset fuzz
step "clang-tidy"
scripts/check_tidy.sh
step "fuzzing"
scripts/fuzz.sh 60
step "ctest's closing lines, of the release tests"
tail -n 5 build/release_tests.log
