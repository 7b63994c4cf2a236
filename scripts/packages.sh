# SPDX-License-Identifier: Apache-2.0
# Packages of Debian 12 and 13, to be sourced: what the build needs, what Python needs besides, and what the checks
# need. Beside each stands what would not work without it.
build_packages=(
  g++ cmake ninja-build  # the build: C++20 (g++ 12, clang 14 or later), CMake 3.25
  libyaml-dev            # YAML as it mostly is: experiments, profiles
  libyaml-cpp-dev        # YAML that is not ordinary, and what is wrong with a file
  nlohmann-json3-dev     # JSON: reports, records
  rapidjson-dev          # JSON piece by piece: profiler traces
  libtomlplusplus-dev    # TOML: torchtitan's files
  zlib1g-dev             # gzip: profiler traces, in and out
  libsqlite3-dev         # SQLite: databases of Nsight Systems and rocprofv3
  libeigen3-dev          # least squares of stepcast calibrate
  libtbb-dev             # the threads of a search
  libspdlog-dev          # warnings on standard error
  libcli11-dev           # command lines
  node-d3-zoom node-d3-quadtree  # scripts of pages: D3's modules, with those that they depend on
  catch2 libbenchmark-dev        # tests and benchmarks; not with -DSTEPCAST_TESTS=OFF
)
python_packages=(
  pybind11-dev python3-dev                    # the module
  python3-setuptools python3-wheel python3-pip  # pip install
  python3-venv python3-numpy                  # its tests; tables as arrays
)
check_packages=(
  ccache                                      # what was compiled is not compiled again
  clang clang-format clang-tidy libclang-rt-14-dev  # format, warnings, sanitizers, fuzzing
  cppcheck gcovr                              # faults that no test runs into; lines that none runs
  dpkg-dev                                    # the Debian package
  slurm-wlm munge                             # job arrays, on a Slurm of the test's own
  chromium                                    # pages as a browser shows them
  python3-matplotlib                          # the plot of examples/python
  faketime locales                            # clocks that are wrong, Turkish and German numbers
)
