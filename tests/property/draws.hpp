// SPDX-License-Identifier: Apache-2.0
// How many random cases a property is tried on.
#pragma once

#include <cstdlib>

namespace stepcast::test {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STEPCAST_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STEPCAST_SANITIZED
#endif

// `count`; under a sanitizer, which looks for faults of memory or of threads and is ten times
// slower, a thirtieth of it unless STEPCAST_TEST_ROUNDS is set: numbers are checked without it.
inline int draws(int count) {
#ifdef STEPCAST_SANITIZED
  if (std::getenv("STEPCAST_TEST_ROUNDS") == nullptr) {
    return (count + 29) / 30;
  }
#endif
  return count;
}

}  // namespace stepcast::test
