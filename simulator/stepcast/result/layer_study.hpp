// SPDX-License-Identifier: Apache-2.0
// One layer by itself: what each primitive of the exchange takes and which one runs, what is kept
// for backward, forward and backward, the same work on one GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/sum.hpp"
#include "stepcast/layer/exchange_shape.hpp"
#include "stepcast/layer/saved_tensor.hpp"
#include "stepcast/result/projection.hpp"

namespace stepcast {

// A way to run one direction of the exchange.
struct ExchangeWay {
  ExchangePhase phase = ExchangePhase::kDispatch;
  ExchangePrimitive primitive = ExchangePrimitive::kAllToAll;
  bool runs = false;    // it is the one that is asked for, or that `auto` stands for
  std::string skipped;  // why it cannot run between these ranks; it has no figures then
  Bytes received;       // of a rank, over links
  Seconds time;

  [[nodiscard]] BytesPerSecond rate() const { return received / time; }
};

// One pass of the layer, repeated back to back.
struct LayerPass {
  Seconds time;
  Hertz clock;
  Watts power;
  Flops flops;            // of a rank
  Seconds computation;    // kernels run
  Seconds communication;  // nothing else runs
  Seconds host;           // nothing runs because nothing is launched

  [[nodiscard]] FlopsPerSecond rate() const { return flops / time; }
};

struct LayerPasses {
  LayerPass forward;
  std::optional<LayerPass> backward;  // none of inference
};

// The same work on one GPU.
struct LocalBaseline {
  std::string title;
  std::int64_t tokens = 0;
  std::int64_t experts = 0;
  std::string skipped;  // why there is none; it has no figures then
  LayerPasses passes;

  [[nodiscard]] const LocalBaseline* if_priced() const { return skipped.empty() ? this : nullptr; }
};

struct LayerStudy {
  Projection projection;    // settled, not priced
  std::string layer;        // "MoE layer"
  std::string covers;       // what is in the figures
  std::string leaves;       // what is not
  std::int64_t tokens = 0;  // of a rank
  std::int64_t ranks = 1;   // that exchange tokens
  std::vector<ExchangeWay> exchanges;
  bool recomputed = false;  // in full: a layer keeps its input, a part of one nothing
  std::vector<SavedTensor> saved;
  std::vector<ExchangeBuffer> buffers;  // of the dispatcher, shared by all layers
  LayerPasses passes;
  std::vector<LocalBaseline> local;  // a rank's tokens first, all tokens last

  // What the experts and the activation between their products keep, without the router's scores.
  [[nodiscard]] Bytes saved_by_experts() const {
    return sum_over(saved, [](const SavedTensor& tensor) {
      return tensor.id == TensorId::kMoeRouterScores ? Bytes{} : tensor.bytes;
    });
  }
  // What one GPU with a rank's tokens and all experts does not take.
  [[nodiscard]] const LocalBaseline* own_tokens() const {
    return local.empty() ? nullptr : local.front().if_priced();
  }
  // One GPU with the tokens of all ranks.
  [[nodiscard]] const LocalBaseline* all_tokens() const {
    return local.empty() ? nullptr : local.back().if_priced();
  }
};

}  // namespace stepcast
