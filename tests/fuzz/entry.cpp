// SPDX-License-Identifier: Apache-2.0
// libFuzzer's way into all targets: the program's own name, fuzz_config, tells which it runs.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "fuzz/targets.hpp"

namespace stepcast::fuzz {
namespace {

const Target* chosen = nullptr;

const Target* target_of(const std::filesystem::path& program) {
  const std::string name = program.filename().string();
  const auto* const found =
      std::find_if(kTargets.begin(), kTargets.end(),
                   [&](const Target& known) { return name == "fuzz_" + std::string(known.name); });
  return found == kTargets.end() ? nullptr : found;
}

}  // namespace
}  // namespace stepcast::fuzz

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** argv) {
  stepcast::fuzz::chosen = stepcast::fuzz::target_of((*argv)[0]);
  if (stepcast::fuzz::chosen == nullptr) {
    std::cerr << "call this program by the name of a target, fuzz_config\n";
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return stepcast::fuzz::chosen->run(data, size);
}
