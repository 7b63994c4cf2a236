#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rewrites hardware_profiles/accuracy.json, the errors of held-out runs that the stated intervals follow from, from
# a release build and the shipped measurements. With --check it only says whether the file is up to date.
# Usage: update_accuracy.sh [--check] [STEPCAST]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/measured_runs.sh
source "$root/scripts/measured_runs.sh"
report_of_runs "$root" accuracy accuracy update_accuracy.sh measured_runs "$@"
