#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whether the same experiment gives the same bytes whatever built the program: stepcast_answers answers every
# shipped experiment, 1,000 that are drawn at random and a sweep, by g++ and clang, for x86-64 as such and for
# this processor, optimised and with ASan and UBSan, on 1 to 4 threads.
#   scripts/same_bytes.sh                   builds what is missing, some 30 minutes of one processor the first
#                                           time, and answers, some 6 minutes
#   scripts/same_bytes.sh --threads ANSWERS the threads alone, with a built stepcast_answers: seconds
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT

# Answers to the file NAME, and the first place where they differ from the ones before.
answer() {
  local name=$1 program=$2 drawn=$3 threads=$4
  if ! "$program" "$drawn" "$threads" >"$output/$name"; then
    echo "same_bytes.sh: $name: an answer does not keep what is promised" >&2
    exit 1
  fi
  if [[ ! -e $output/first ]]; then
    mv "$output/$name" "$output/first"
    printf '%-24s %s bytes, sha256 %.16s\n' "$name" "$(wc -c <"$output/first")" \
      "$(sha256sum <"$output/first")"
  elif cmp "$output/first" "$output/$name" >&2; then
    printf '%-24s the same\n' "$name"
    rm "$output/$name"
  else
    diff "$output/first" "$output/$name" | head -n 20 >&2 || true
    echo "same_bytes.sh: $name: not the same bytes" >&2
    exit 1
  fi
}

on_threads() {
  local name=$1 program=$2 drawn=$3 threads
  shift 3
  for threads in "$@"; do
    answer "$name, $threads" "$program" "$drawn" "$threads"
  done
}

if [[ ${1:-} == --threads ]]; then
  on_threads threads "$2" 50 1 4
  exit 0
fi

source scripts/compiler_cache.sh
build() {
  local folder=$1 preset=$2
  shift 2
  # What other scripts may have left otherwise in a folder that they share.
  cmake --preset "$preset" -B "build/$folder" "${compiler_cache[@]}" -DSTEPCAST_TESTS=ON \
    -DCMAKE_UNITY_BUILD=ON "$@" >/dev/null
  cmake --build "build/$folder" --target stepcast_answers | tail -n 1
}
# g++ 12 warns of its own header of AVX-512 (GCC bug 105593).
native=("-DCMAKE_CXX_FLAGS=-march=native -Wno-maybe-uninitialized")
build release release
build clang clang
build native release "${native[@]}"
build native_clang clang "-DCMAKE_CXX_FLAGS=-march=native"
build fuzz fuzz
on_threads "g++" build/release/tests/stepcast_answers 1000 1 2 3 4
for folder in clang native native_clang fuzz; do
  answer "$folder, 2" "build/$folder/tests/stepcast_answers" 1000 2
done
