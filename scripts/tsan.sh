#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ThreadSanitizer over what runs on threads: searches, merges, answers of one library to several threads. It
# does not see into the distribution's TBB, and takes what that orders for races; so TBB's source, as the
# distribution has it, is built with TSan as well, and runs in its place. Some 20 minutes of one processor the
# first time, most of them for the tests' program.
#   scripts/tsan.sh          builds and runs the tests with the label "threads"
#   scripts/tsan.sh PATTERN  those of them whose name has PATTERN
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tbb=$PWD/build/tsan_tbb

# Where the distribution's packages come from has their sources too: "http://deb.debian.org/debian bookworm".
mirror() {
  apt-cache policy libtbb-dev | sed -nE 's|^ +500 (http[^ ]*) ([a-z]+)/main .*|\1 \2|p' | sed -n 1p
}

download() {
  local lists=$tbb/apt
  mkdir -p "$lists/lists/partial" "$tbb/source"
  echo "deb-src $(mirror) main" >"$lists/sources.list"
  local options=(-qq -o "Dir::Etc::sourcelist=$lists/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$lists/lists")
  apt-get "${options[@]}" update
  (cd "$tbb" && apt-get "${options[@]}" --download-only source onetbb)
  tar -xf "$tbb"/onetbb_*.orig.tar.* -C "$tbb/source" --strip-components=1
}

if [[ ! -e $tbb/build/build.ninja ]]; then
  download
  cmake -S "$tbb/source" -B "$tbb/build" -G Ninja -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_CXX_FLAGS="-O1 -gline-tables-only" -DTBB_SANITIZE=thread \
    -DTBB_TEST=OFF -DTBB_STRICT=OFF -DTBBMALLOC_BUILD=OFF >/dev/null
fi
cmake --build "$tbb/build" | tail -n 1
source scripts/compiler_cache.sh
cmake --preset tsan "${compiler_cache[@]}" >/dev/null
cmake --build --preset tsan --target stepcast_cli stepcast_tests stepcast_answers | tail -n 1
library=$(find "$tbb/build" -name libtbb.so | sed -n 1p)
export LD_LIBRARY_PATH=${library%/*}
ctest --preset tsan --tests-regex "${1:-.}"
