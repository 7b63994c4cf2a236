# Debian packages, to be sourced: what the build needs, and what the checks need besides.
build_packages=(g++ cmake ninja-build libyaml-cpp-dev libeigen3-dev libspdlog-dev libcli11-dev
  nlohmann-json3-dev zlib1g-dev libtbb-dev libtomlplusplus-dev catch2 libbenchmark-dev)
check_packages=(ccache clang clang-format clang-tidy libclang-rt-14-dev slurm-wlm munge)
