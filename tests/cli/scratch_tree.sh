# SPDX-License-Identifier: Apache-2.0
# Recipes tried in a copy of the source tree, to be sourced after run_checks.sh. Sets root, copy (the tree), made (a
# folder in it) and own (the options with which the program that is built there reads its own data).
root=$(realpath "$2")
copy=$(mktemp -d)
made=$copy/made
trap 'rm -rf "$copy"' EXIT
mkdir "$made"
cp -r "$root"/{CMakeLists.txt,simulator,backends,configs,hardware_profiles,examples,scripts,LICENSE} "$copy"
own=(--data "$copy")

# The program of the copy becomes $copy/build/bin/stepcast; without it the test ends.
build_copy() {
  export CCACHE_BASEDIR=$copy CCACHE_NOHASHDIR=1
  cmake -S "$copy" -B "$copy/build" -DCMAKE_BUILD_TYPE=None -DSTEPCAST_TESTS=OFF -DSTEPCAST_WERROR=ON \
    -DCMAKE_CXX_FLAGS=-O0 -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
    $(command -v ccache >/dev/null && echo -DCMAKE_CXX_COMPILER_LAUNCHER=ccache) >"$made/build" 2>&1 &&
    cmake --build "$copy/build" -j 2 >>"$made/build" 2>&1 || {
    tail -n 30 "$made/build"
    exit 1
  }
}
