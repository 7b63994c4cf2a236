// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "frameworks/huggingface.hpp"
#include "fuzz/import_promise.hpp"
#include "fuzz/imports.hpp"
#include "fuzz/targets.hpp"

namespace stepcast::fuzz {
namespace {

constexpr std::array kDoors = {import_deepspeed, import_accelerate, import_axolotl,
                               import_llamafactory, import_trl};

int through_all(std::string_view text, const std::string& file) {
  for (const auto& door : kDoors) {
    import_keeps_promise(door, text, file);
    fuzz_import(door, file, text);
  }
  return 0;
}

}  // namespace

int fuzz_trainer(const std::uint8_t* data, std::size_t size) {
  return through_all(text_of(data, size), "run.yaml");
}

int fuzz_trainer_script(const std::uint8_t* data, std::size_t size) {
  return through_all(text_of(data, size), "train.sh");
}

int fuzz_trainer_python(const std::uint8_t* data, std::size_t size) {
  return through_all(text_of(data, size), "train.py");
}

}  // namespace stepcast::fuzz
