// SPDX-License-Identifier: Apache-2.0
// How many random cases a property is tried on.
#pragma once

namespace stepcast::test {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STEPCAST_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define STEPCAST_SANITIZED
#endif

// `count`, or a tenth of it under a sanitizer, which looks for faults of memory and is ten times
// slower: numbers are checked without it.
constexpr int draws(int count) {
#ifdef STEPCAST_SANITIZED
  return (count + 9) / 10;
#else
  return count;
#endif
}

}  // namespace stepcast::test
