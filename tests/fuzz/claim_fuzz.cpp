// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets.hpp"
#include "stepcast/sweep/piece_folder.hpp"

namespace stepcast::fuzz {

int fuzz_claim(const std::uint8_t* data, std::size_t size) {
  const auto claim = parse_piece_task(text_of(data, size));
  if (claim) {
    promise(parse_piece_task(to_text(*claim)) == claim, "a claim that reads back to another");
    promise(!is_hole(*claim, *claim, {claim->submission}), "a hole of a submission that runs");
  }
  return 0;
}

}  // namespace stepcast::fuzz
