#!/usr/bin/env bash
# The whole check, from a bare Debian 12 machine: format, release build and tests, ASan and UBSan build
# and tests, clang-tidy, a minute of fuzzing. Prints ctest's closing line last.
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
ctest --preset release
step "ASan and UBSan build and tests"
cmake --preset dev >/dev/null
cmake --build --preset dev
ctest --preset dev
step "clang-tidy"
scripts/check_tidy.sh
step "fuzzing"
scripts/fuzz.sh 60
step "done; the release tests once more, as the closing line"
ctest --preset release --output-on-failure | tail -n 6
