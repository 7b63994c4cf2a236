// SPDX-License-Identifier: Apache-2.0
#include "stepcast/result/layer_study.hpp"

namespace stepcast {
namespace {

const LocalBaseline* priced(const LocalBaseline& local) {
  return local.skipped.empty() ? &local : nullptr;
}

}  // namespace

Bytes LayerStudy::saved_by_experts() const {
  Bytes sum;
  for (const SavedTensor& tensor : saved) {
    sum += tensor.id == TensorId::kMoeRouterScores ? Bytes{} : tensor.bytes;
  }
  return sum;
}

const LocalBaseline* LayerStudy::own_tokens() const {
  return local.empty() ? nullptr : priced(local.front());
}

const LocalBaseline* LayerStudy::all_tokens() const {
  return local.empty() ? nullptr : priced(local.back());
}

}  // namespace stepcast
