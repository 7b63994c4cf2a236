// SPDX-License-Identifier: Apache-2.0
#include "stepcast/api/usual_batch.hpp"

#include <algorithm>

#include "stepcast/config/config_node.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast {
namespace {

constexpr const char* kBatch = "global_batch_size";

// Told under the place where values stand in for what nobody gave.
void set_batch(ConfigNode& root, std::int64_t sequences) {
  apply_overrides(root, {assumed_batch(sequences)});
}

}  // namespace

Override assumed_batch(std::int64_t sequences) {
  return {"training." + std::string(kBatch) + "=" + std::to_string(sequences), kAssumedPlace};
}

std::int64_t usual_batch(std::int64_t sequence_length) {
  return std::max<std::int64_t>(1, kUsualTokens / sequence_length);
}

bool lacks_batch(const ConfigNode& experiment) {
  const ConfigNode* training = experiment.find("training");
  if (training == nullptr || training->kind != ConfigNode::Kind::kMapping) {
    return false;
  }
  const ConfigNode* batch = training->find(kBatch);
  return batch == nullptr || batch->kind == ConfigNode::Kind::kNull;
}

void fill_batch(ExperimentTree& tree, const DataRoot& data) {
  if (!lacks_batch(tree.root)) {
    return;
  }
  // Without a batch there is no experiment to read: one of any size stands in for it.
  set_batch(tree.root, kUsualTokens);
  try {
    const Experiment experiment = read_experiment(tree.root, tree.folder, data);
    const std::int64_t together = experiment.cluster.gpus() * experiment.training.micro_batch_size;
    const std::int64_t usual = usual_batch(experiment.training.sequence_length);
    set_batch(tree.root, (usual + together - 1) / together * together);
  } catch (const ConfigError&) {
    // What is wrong is told where the experiment is read, the batch that is not there excepted.
  }
}

}  // namespace stepcast
