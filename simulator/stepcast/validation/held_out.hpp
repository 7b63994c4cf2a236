// SPDX-License-Identifier: Apache-2.0
// Which measured runs are held out: a half by a stable hash, that no constant may be fitted to.
//
//   FNV-1a over the bytes of the key (64 bits; Fowler, Noll, Vo), held out if its highest bit is
//   set
//
// The key is the run's `config_group` where it has one, so that one configuration measured with
// several versions of the software is on one side, else its id.
#pragma once

#include <cstdint>
#include <string_view>

namespace stepcast {

constexpr std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  return hash;
}

constexpr bool is_held_out(std::string_view key) {
  std::uint64_t hash = fnv1a(key);
  hash = (hash ^ (hash >> 33U)) * 0xff51afd7ed558ccdULL;
  hash = (hash ^ (hash >> 33U)) * 0xc4ceb9fe1a85ec53ULL;
  return ((hash ^ (hash >> 33U)) & 1U) != 0;
}

}  // namespace stepcast
