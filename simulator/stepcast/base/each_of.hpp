// SPDX-License-Identifier: Apache-2.0
// What a function or a member makes of each entry of a list.
#pragma once

#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace stepcast {

template <typename List, typename Of>
using MadeOf =
    std::decay_t<std::invoke_result_t<const Of&, decltype(*std::begin(std::declval<List&>()))>>;

template <typename List, typename Of>
std::vector<MadeOf<const List, Of>> each_of(const List& list, const Of& of) {
  std::vector<MadeOf<const List, Of>> made;
  made.reserve(std::size(list));
  for (const auto& entry : list) {
    made.push_back(std::invoke(of, entry));
  }
  return made;
}

}  // namespace stepcast
