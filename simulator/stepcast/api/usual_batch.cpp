// SPDX-License-Identifier: Apache-2.0
#include "stepcast/api/usual_batch.hpp"

#include <algorithm>

#include "stepcast/api/job.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast {
namespace {

constexpr const char* kBatch = "global_batch_size";

// Told under the place where values stand in for what nobody gave.
ExperimentSource with_batch(ExperimentSource source, std::int64_t sequences) {
  source.settings.insert(source.settings.begin(), Assignment("training." + std::string(kBatch) +
                                                                 "=" + std::to_string(sequences),
                                                             kAssumedPlace));
  return source;
}

bool lacks_batch(const ConfigNode& root) {
  const ConfigNode* training = root.find("training");
  if (training == nullptr || training->kind != ConfigNode::Kind::kMapping) {
    return false;
  }
  const ConfigNode* batch = training->find(kBatch);
  return batch == nullptr || batch->kind == ConfigNode::Kind::kNull;
}

}  // namespace

std::int64_t usual_batch(std::int64_t sequence_length) {
  return std::max<std::int64_t>(1, kUsualTokens / sequence_length);
}

ExperimentSource with_usual_batch(const ExperimentSource& source, const DataRoot& data) {
  bool lacks = false;
  try {
    lacks = lacks_batch(given_tree_of(source, data).root);
    if (!lacks) {
      return source;
    }
    // Without a batch there is no experiment to read: one of any size stands in for it.
    const ExperimentTree tree = given_tree_of(with_batch(source, kUsualTokens), data);
    const Experiment experiment = read_experiment(tree.root, tree.folder, data);
    const std::int64_t together = experiment.cluster.gpus() * experiment.training.micro_batch_size;
    const std::int64_t usual = usual_batch(experiment.training.sequence_length);
    return with_batch(source, (usual + together - 1) / together * together);
  } catch (const ConfigError&) {
    // What is wrong is told where the experiment is read, the batch that is not there excepted.
    return lacks ? with_batch(source, kUsualTokens) : source;
  }
}

}  // namespace stepcast
