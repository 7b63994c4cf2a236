#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails if clang-format would change a source file; with --fix, changes them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mode=(--dry-run --Werror)
[ "${1:-}" = "--fix" ] && mode=(-i)
git ls-files -co --exclude-standard '*.cpp' '*.hpp' | xargs clang-format "${mode[@]}"
echo "format: ok"
