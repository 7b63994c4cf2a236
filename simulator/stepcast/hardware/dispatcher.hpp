// SPDX-License-Identifier: Apache-2.0
// The software that carries tokens to the ranks that hold their experts and brings the results
// back: Megatron's allgather and alltoall dispatchers, DeepEP with its normal kernels (V1, V2) and
// its low-latency ones, HybridEP, SonicMoE, torchtitan's MinimalAsyncEP.
//
// Each dispatcher is one row here, and its row is written nowhere else. The enumeration, the names,
// the sections of hardware_profiles/exchange and the table of models
// (layer/dispatcher_model.hpp) are made of these rows, so none of them can lack a dispatcher or
// have another order.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "stepcast/base/enum_names.hpp"

namespace stepcast {

// What a section of hardware_profiles/exchange must state of a dispatcher: nothing, because the
// collectives' library carries it and nobody waits; what the host does; or its kernels as well.
enum class ExchangeSection { kNone, kHost, kKernels };

// ROW(enumerator, name, section). The model of a dispatcher is the constant of its name in the
// namespace `dispatchers`.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage, bugprone-macro-parentheses)
#define STEPCAST_DISPATCHERS(ROW)                      \
  ROW(kAllGather, allgather, kNone)                    \
  ROW(kAllToAll, alltoall, kHost)                      \
  ROW(kDeepEp, deepep, kKernels)                       \
  ROW(kDeepEpV2, deepep_v2, kKernels)                  \
  ROW(kDeepEpLowLatency, deepep_low_latency, kKernels) \
  ROW(kHybridEp, hybridep, kKernels)                   \
  ROW(kSonic, sonic, kKernels)                         \
  ROW(kMinimalAsyncEp, minimal_async_ep, kKernels)

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage, bugprone-macro-parentheses)
#define STEPCAST_ENUMERATOR(enumerator, name, section) enumerator,
enum class Dispatcher { STEPCAST_DISPATCHERS(STEPCAST_ENUMERATOR) };
#undef STEPCAST_ENUMERATOR

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define STEPCAST_NAME(enumerator, name, section) std::string_view{#name},
template <>
inline constexpr std::array kNamesOf<Dispatcher> = {STEPCAST_DISPATCHERS(STEPCAST_NAME)};
#undef STEPCAST_NAME
inline constexpr std::size_t kDispatchers = kNamesOf<Dispatcher>.size();

// The place of a dispatcher in a table of all of them; throws InternalError if there is none.
std::size_t slot(Dispatcher dispatcher);

ExchangeSection section_of(Dispatcher dispatcher);

}  // namespace stepcast
