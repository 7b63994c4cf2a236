#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests that need the whole set of measurements in ../shared; without it they are skipped.
# Usage: shared_measurements.sh STEPCAST_TESTS ROOT
set -euo pipefail
if [ ! -d "$2/../shared/measured" ]; then
  echo "SKIPPED: no shared/measured beside the checkout"
  exit 77
fi
exec "$1" "[shared]" --rng-seed 1 --warn NoTests
