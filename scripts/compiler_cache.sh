# SPDX-License-Identifier: Apache-2.0
# To be sourced from the root of the tree: `compiler_cache` holds what makes CMake compile through ccache, where
# it is installed, so that what has been compiled before is not compiled again, in any clone.
compiler_cache=()
if command -v ccache >/dev/null; then
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
  compiler_cache=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
