#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A GPU of a new family needs files and no code: the steps of hardware_profiles/README.md, done in a copy of the data.
# Usage: new_gpu.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
source "$(dirname "${BASH_SOURCE[0]}")/run_checks.sh"
root=$made/root
mkdir "$root" && cp -r "$2/configs" "$2/hardware_profiles" "$root"
profiles=$root/hardware_profiles

# 1. to 3.: a part with 160 units of a vendor that nobody has heard of, else as H100.
sed -E 's/^name: .*/name: novel/; s/^title: .*/title: Novel One/; s/^vendor: .*/vendor: novelties/
        s/^compute_units: .*/compute_units: {value: 160, assumed: a test}/' \
  "$profiles/gpus/h100_sxm.yaml" >"$profiles/gpus/novel.yaml"
# Its architecture is an error until its kernels are described.
sed -i 's/^architecture: .*/architecture: nv1/' "$profiles/gpus/novel.yaml"
project=(--data "$root" project --model llama3.1_8b --nodes 1 --zero 3 --gbs 32 --seq 4096)
exits 2 "${project[@]}" --gpu novel
says "novel.yaml:[0-9]*:[0-9]*: error: 'architecture' is 'nv1', an unknown architecture; kernels are known for gfx1250, gfx90a"

# 4.: attention by one kernel alone, which hides 0.9 of what products can hide; tiles that no other part has.
sed -E '/^  flash1:/,/^  cudnn:/{/^  cudnn:/!d}; /^  trtllm:/,$d
        s/^( *longest_side: \{value: )[0-9]+/\1192/; s/^( *overlap: \{value: )[0-9.]+/\10.9/' \
  "$profiles/architectures/sm90.yaml" >"$profiles/architectures/nv1.yaml"
exits 0 "${project[@]}" --gpu novel --format json
step() { sed -nE 's/.*"step_time_s": *([0-9.e-]+).*/\1/p' "$made/out" | head -n 1; }
novel=$(step)
exits 0 "${project[@]}" --gpu h100_sxm --format json
[ -n "$novel" ] && [ "$novel" != "$(step)" ] || complain "the new part takes '$novel', H100 '$(step)'"
# The same part with more memory is five lines, and says whose numbers it takes.
printf '%s\n' 'name: novel_xl' 'title: Novel One XL' 'base: novel' 'kernels_measured_on: novel' 'hbm:' \
  '  capacity: {value: 160 GiB, assumed: a test}' >"$profiles/gpus/novel_xl.yaml"
exits 0 "${project[@]}" --gpu novel_xl --format json
[ "$novel" = "$(step)" ] || complain "more memory changed the step from '$novel' to '$(step)'"
says 'no kernel was measured on novel_xl: constants are those of novel'
exits 0 --data "$root" describe novel_xl
says '^  based on *novel$'
says '^  hbm.capacity *160 GiB *assumed: a test$'
says '^  hbm.peak *3.35 TB/s *of novel: spec, STAS$'
sed -i 's/^base: .*/base: nowel/' "$profiles/gpus/novel_xl.yaml"
exits 2 "${project[@]}" --gpu novel_xl
says "novel_xl.yaml:3:[0-9]*: error: 'base' is 'nowel', which is no part; did you mean 'novel'?"
rm "$profiles/gpus/novel_xl.yaml"

# 5.: described with its sources.
exits 0 --data "$root" describe novel
says '^Novel One (nv1)'
says 'attention_kernels.cudnn.forward.overlap *0.9 '
says 'gemm_library.dense.longest_side *192 '
# A number without a source, an unknown kernel and a native kernel that is not there are errors in that file.
for fault in 's/^  native: .*/  native: {value: flash4, assumed: a test}/;names a kernel that is not described here' \
             's/^  cudnn:/  cudn:/;did you mean .cudnn.' \
             's/tile_step: .*/tile_step: 32/;has no source' \
             's/tile_step: .*/tile_step: {value: 40, assumed: a test}/;must be a multiple of 32' \
             's/256: 128x80/256: 128by80/;write its queries and keys' \
             's/256: 128x80 /256: /;write 3 tiles'; do
  cp "$profiles/architectures/nv1.yaml" "$made/kept"
  sed -i "${fault%;*}" "$profiles/architectures/nv1.yaml"
  exits 2 "${project[@]}" --gpu novel
  says "nv1.yaml:[0-9]*:[0-9]*: error: .*${fault##*;}"
  cp "$made/kept" "$profiles/architectures/nv1.yaml"
done
exit $failed
