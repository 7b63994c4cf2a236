// SPDX-License-Identifier: Apache-2.0
#include "frameworks/megatron_core.hpp"

namespace stepcast {

std::optional<std::int64_t> MegatronFields::degree(std::string_view ours) const {
  const std::optional<std::int64_t> value = count(ours);
  if (value && (*value < 1 || *value > (std::int64_t{1} << 30))) {
    settings_->error(word(ours), "must be at least 1 and not above a thousand million, not " +
                                     std::to_string(*value));
    return 1;
  }
  return value;
}

namespace {

// Which dispatcher runs is a matter of the plan.
void move_dispatcher(FrameworkExperiment& parts) {
  static constexpr std::string_view kKey = "dispatcher";
  if (const ConfigEntry* const found = parts.software_changes.entry(kKey)) {
    parts.plan.entries.push_back(*found);
    std::erase_if(parts.software_changes.entries,
                  [](const ConfigEntry& entry) { return entry.key == kKey; });
  }
}

}  // namespace

FrameworkWords megatron_words(const DataRoot& data) {
  return load_framework_words(data, "megatron");
}

FrameworkExperiment read_megatron(FrameworkReader& settings, const MegatronSource& source,
                                  const FrameworkWords& words, UnknownSettings unknown) {
  const MegatronFields fields(settings, source, words);
  FrameworkExperiment parts;
  MegatronDegrees degrees;
  const auto [model, vocabulary] = read_megatron_model(fields);
  parts.plan = read_megatron_plan(fields, model, degrees);
  parts.training = read_megatron_training(fields, degrees);
  parts.software_changes = read_megatron_software(fields, model, degrees);
  parts.expert_exchange = read_megatron_exchange(fields, model);
  move_dispatcher(parts);
  words.read_rest(settings);
  settings.finish(unknown);
  parts.model = model;
  parts.vocabulary = vocabulary;
  parts.model_name = source.model_is_named ? source.model.name : std::string{};
  parts.software = source.software;
  parts.gpu = source.gpu;
  parts.gpus = source.gpus;
  parts.gpus_per_node = source.gpus_per_node;
  parts.remarks = settings.take_remarks();
  return parts;
}

}  // namespace stepcast
