#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Adds a model by the steps of configs/models/README.md in a copy of the data: a file, and no code.
# Usage: add_model.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
source "$(dirname "${BASH_SOURCE[0]}")/run_checks.sh"
root=$made/root
mkdir "$root" && cp -r "$2/configs" "$2/hardware_profiles" "$root"
models=$root/configs/models

# Llama 3.2 1B with half of its layers: embedding 128,256 x 2048 (tied) and the last norm, 262,670,336; a layer
# 2 x 2048 (norms) + 2048 x 64 x (32 + 8 + 8) + 32 x 64 x 2048 + 3 x 2048 x 8192 = 60,821,504; together 749,242,368.
sed -E 's/^name: .*/name: half_llama/; s/^title: .*/title: Half a Llama/; s/^layers: .*/layers: 8/
        s/^published: .*/published: {total: 749242368, source: a test}/' \
  "$models/llama3.2_1b.yaml" >"$models/half_llama.yaml"
exits 0 --data "$root" describe half_llama
says 'Half a Llama'
says '749,242,368'
exits 0 --data "$root" list models
says 'half_llama'
exits 0 --data "$root" project --model half_llama --gpu h100_sxm --nodes 1 --zero 3 --gbs 64 --seq 4096
says 'half_llama on 8 x h100_sxm'

# A key that nobody knows is an error of the file.
sed -i 's/^layers:/layer:/' "$models/half_llama.yaml"
exits 2 --data "$root" describe half_llama
says "did you mean 'layers'"
exit $failed
