// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/launch_protocol.hpp"

#include <algorithm>
#include <array>

namespace stepcast {
namespace {

struct ThreadsOfProtocol {
  std::int64_t threads;
  Protocol protocol;
};
constexpr std::array kThreads = {
    ThreadsOfProtocol{544, Protocol::kSimple}, ThreadsOfProtocol{288, Protocol::kSimple},
    ThreadsOfProtocol{160, Protocol::kSimple}, ThreadsOfProtocol{512, Protocol::kLl},
    ThreadsOfProtocol{128, Protocol::kLl},     ThreadsOfProtocol{96, Protocol::kLl}};

}  // namespace

std::optional<Protocol> protocol_of_launch(const KernelLaunch& launch) {
  const auto* const known =
      std::ranges::find(kThreads, launch.threads, &ThreadsOfProtocol::threads);
  return known == kThreads.end() ? std::nullopt : std::optional(known->protocol);
}

}  // namespace stepcast
