# Debian packages, to be sourced: what the build needs, what the Python package needs
# besides, and what the checks need.
build_packages=(g++ cmake ninja-build libyaml-cpp-dev libyaml-dev libeigen3-dev libspdlog-dev libcli11-dev
  nlohmann-json3-dev rapidjson-dev zlib1g-dev libtbb-dev libtomlplusplus-dev catch2 libbenchmark-dev
  node-d3-zoom node-d3-quadtree)
python_packages=(pybind11-dev python3-dev python3-numpy python3-setuptools python3-wheel python3-pip
  python3-venv)
check_packages=(python3-matplotlib ccache clang clang-format clang-tidy libclang-rt-14-dev slurm-wlm munge
  chromium)
