// SPDX-License-Identifier: Apache-2.0
// Source: pytorch/torchtitan, the commits at which config_manager.py, config/job_config.py,
// config/configs.py and models/*/config_registry.py got and lost their keys.
#include "frameworks/torchtitan_release.hpp"

#include <algorithm>
#include <array>

#include "stepcast/base/text_list.hpp"
#include "stepcast/plan/software_spec.hpp"

namespace stepcast {
namespace {

// When torchtitan had a key or a name of its files. A name that ends in '.' stands for a section.
struct DatedName {
  std::string_view name;
  std::string_view since{};  // empty: since its form is there
  std::string_view until{};
};

constexpr DatedName kTomlFiles{"TOML", "2024-03-15", "2026-02-23"};  // 9810191bb
constexpr DatedName kRecipes{"Python", "2026-02-23", ""};

constexpr auto kTomlNames = std::to_array<DatedName>({
    {"training.batch_size", "", "2025-06-05"},                            // 8570415c3
    {"training.local_batch_size", "2025-06-05"},                          // 8570415c3
    {"training.global_batch_size", "2025-06-05"},                         // 8570415c3
    {"training.data_parallel_degree", "", "2024-10-22"},                  // c9b17cca0
    {"training.data_parallel_shard_degree", "2024-09-10", "2025-03-18"},  // db6b39acd, 785c34c99
    {"training.data_parallel_replicate_degree", "2024-09-10", "2025-03-18"},
    {"training.tensor_parallel_degree", "", "2025-03-18"},                 // 785c34c99
    {"training.fsdp_reshard_after_forward", "2025-02-06", "2025-03-18"},   // 5940ddeb5
    {"training.enable_loss_parallel", "", "2024-12-23"},                   // f6a9daa13
    {"training.compile", "", "2025-08-20"},                                // 08b8b244f
    {"compile.", "2025-08-20"},                                            // 08b8b244f
    {"experimental.context_parallel_degree", "2024-10-22", "2025-03-18"},  // b19456a98
    {"experimental.pipeline_parallel_degree", "", "2025-03-18"},           // 785c34c99
    {"experimental.enable_async_tensor_parallel", "", "2025-03-18"},
    {"parallelism.", "2025-03-18"},                                    // 785c34c99
    {"parallelism.pipeline_parallel_microbatch_size", "2025-04-07"},   // 5e2033c75
    {"parallelism.pipeline_parallel_layers_per_stage", "2025-04-07"},  // 8b737fe3c
    {"parallelism.pipeline_parallel_split_points", "", "2025-10-13"},  // 6e06a49cd
    {"parallelism.module_fqns_per_model_part", "2025-07-30"},          // 3c84ce095
    {"parallelism.expert_parallel_degree", "2025-07-08"},              // 01f4e5022
    {"parallelism.expert_tensor_parallel_degree", "2025-08-13"},       // aeb3a4baf
    {"parallelism.expert_parallel_comm_backend", "2025-12-17"},        // 36a4b6942
    {"float8.", "", "2025-09-26"},                                     // 5b5d46856
    {"mx.", "2025-05-14", "2025-09-26"},                               // fb17e251c
    {"quantize.", "2025-09-26"},                                       // 5b5d46856
    {"model.norm_type", "", "2025-04-23"},                             // 9cf88aa1a
    {"model.use_flex_attn", "2025-03-20", "2025-04-17"},               // 986f6800f, 8c6bf93e5
    {"model.hf_assets_path", "2025-08-11"},                            // fd5a87fa6
    {"optimizer.fused", "2024-06-06", "2025-02-24"},                   // 40f8fd007, 6e4988550
    {"optimizer.implementation", "2025-02-24"},                        // 6e4988550
    {"activation_checkpoint.early_stop", "2025-08-29"},                // 25413d224
    {"activation_checkpoint.memory_budget", "2025-10-09"},             // b27638732
    {"validation.", "2025-07-09"},                                     // acd5ba8ed
    {"debug.", "2025-10-29"},                                          // e61f2cce4
    {"checkpoint.enable_checkpoint", "", "2025-08-22"},                // cd337db63
    {"checkpoint.enable", "2025-08-22"},                               // cd337db63
});

// Names that stand somewhere in a recipe's file.
constexpr auto kRecipeNames = std::to_array<DatedName>({
    {"local_batch_size", "", "2026-08-20"},                   // 73aed7f6c
    {"seq_len", "", "2026-08-20"},                            // 73aed7f6c
    {"num_tokens_per_microbatch_per_dp_rank", "2026-08-20"},  // 73aed7f6c
    {"num_tokens_per_train_step", "2026-08-20"},              // 73aed7f6c
    {"max_context_length", "2026-08-20"},                     // 73aed7f6c
    {"disable_cuda_graphs", "2026-08-13"},                    // f84224af0
    {"selective_ac_option", "", "2026-03-23"},                // 114151ad4
    {"8B_flex", "", "2026-04-17"},                            // 7cec16600
    {"8B_varlen", "", "2026-04-17"},
    {"debugmodel_flex_attn", "", "2026-04-17"},
    {"debugmodel_varlen_attn", "", "2026-04-17"},
    {"ModelConvertersContainer", "", "2026-04-27"},       // 6348d93d1
    {"moe_comm_backend", "2026-04-17"},                   // 7cec16600
    {"attn_backend", "2026-04-17"},                       // 7cec16600
    {"ChunkedCELoss", "2026-04-27", "2026-06-26"},        // 786e26f8e, 9530a874d
    {"ChunkedLossWrapper", "2026-06-26"},                 // 9530a874d
    {"enable_sequence_parallel", "2026-03-29"},           // aa68af18e
    {"expert_parallel_comm_backend", "", "2026-04-30"},   // c4b409af2
    {"expert_tensor_parallel_degree", "", "2026-04-30"},  // c4b409af2
    {"ActivationCheckpointConfig", "", "2026-06-15"},     // c5d93d109
    {"SelectiveAC", "2026-06-15"},                        // c5d93d109
    {"FullAC", "2026-06-15"},                             // c5d93d109
    {"MemoryBudgetAC", "2026-06-15"},                     // c5d93d109
    {"default_adamw", "2026-06-04"},                      // 632f67f12
});

bool is_named(const DatedName& row, std::string_view name) {
  return row.name.ends_with('.') ? name.starts_with(row.name) : name == row.name;
}

void narrow(const DatedName& row, std::string_view name, TorchtitanAge& age) {
  if (row.since > age.days.since) {
    age.days.since = row.since;
    age.since_key = name;
  }
  if (!row.until.empty() && (age.days.until.empty() || row.until < age.days.until)) {
    age.days.until = row.until;
    age.until_key = name;
  }
}

template <std::size_t N>
void narrow_by(const std::array<DatedName, N>& rows, std::string_view name, TorchtitanAge& age) {
  for (const DatedName& row : rows) {
    if (is_named(row, name)) {
      narrow(row, name, age);
    }
  }
}

std::string days_text(const DayRange& days) {
  return "of " + days.since + (days.until.empty() ? " or later" : " to " + days.until);
}

std::string keys_text(const TorchtitanAge& age) {
  std::string text = age.since_key;
  if (!age.until_key.empty() && age.until_key != age.since_key) {
    text += (text.empty() ? "" : " and ") + age.until_key;
  }
  return text.empty() ? "by its form" : "by " + text;
}

// Of a set whose span the days do not meet: which of its switches are younger than they, or which
// of the set behind it are older.
void note_differences(const std::vector<SoftwareRelease>& releases, std::size_t chosen,
                      const DayRange& days, const DataRoot& data, std::vector<std::string>& notes) {
  const bool younger = releases[chosen].span.since >= days.since;
  const std::size_t other = younger ? chosen : chosen + 1;
  if (other >= releases.size()) {
    return;
  }
  const std::filesystem::path file = data.software() / (releases[other].name + ".yaml");
  for (const SwitchEvidence& line : load_software(file, data.software()).evidence) {
    if (line.since.empty()) {
      continue;
    }
    if (younger && !days.until.empty() && line.since >= days.until) {
      notes.push_back("the nearest set: its " + line.key + " is of " + line.since +
                      ", after the file");
    } else if (!younger && line.since <= days.since) {
      notes.push_back("the nearest set: " + line.key + " changed on " + line.since +
                      ", before the file");
    }
  }
}

void note_others(const std::vector<SoftwareRelease>& releases, std::size_t chosen,
                 const DayRange& days, std::vector<std::string>& notes) {
  std::vector<std::string> others;
  for (std::size_t i = 0; i < releases.size(); ++i) {
    if (i != chosen && holds_within(releases[i].span, days)) {
      others.push_back(releases[i].date);
    }
  }
  if (!others.empty()) {
    notes.push_back("--release may also be " + text_list(others));
  }
}

std::string day_within(const SoftwareSpan& span, const DayRange& days) {
  return holds_within(span, days) ? std::max(span.since, days.since) : days.since;
}

}  // namespace

TorchtitanAge age_of(TorchtitanForm form, std::span<const Setting> settings,
                     std::span<const std::string> names) {
  const bool toml = form == TorchtitanForm::kToml;
  TorchtitanAge whole;
  narrow(toml ? kTomlFiles : kRecipes, "", whole);
  TorchtitanAge age = whole;
  const auto narrow_all = [&](std::string_view name) {
    toml ? narrow_by(kTomlNames, name, age) : narrow_by(kRecipeNames, name, age);
  };
  for (const Setting& setting : settings) {
    narrow_all(setting.name);
  }
  for (const std::string& name : names) {
    narrow_all(name);
  }
  const bool together = age.days.until.empty() || age.days.since < age.days.until;
  return together ? age : whole;
}

TorchtitanRelease release_of(const TorchtitanAge& age, const std::string& stated,
                             const DataRoot& data) {
  const auto asked = days_named(stated);
  if (!asked && !stated.empty()) {
    throw ConfigError({"--release", 0, 0}, "must be a month such as 2026-03, or a day, not '" +
                                               stated.substr(0, 60) + "'");
  }
  const DayRange days = asked.value_or(age.days);
  const std::vector<SoftwareRelease> compiled = releases_of("torchtitan", data);
  const std::vector<SoftwareRelease> eager = releases_of("torchtitan_eager", data);
  if (compiled.empty() || eager.empty()) {
    return {};
  }
  const SoftwareRelease& set = release_for(compiled, days);
  const auto chosen = static_cast<std::size_t>(&set - compiled.data());
  TorchtitanRelease release{
      set.name, release_for(eager, days).name, day_within(set.span, days), {}, asked.has_value()};
  release.notes.push_back(asked ? std::string("by --release")
                                : "the file is " + days_text(days) + ", " + keys_text(age));
  if (!holds_within(set.span, days)) {
    note_differences(compiled, chosen, days, data, release.notes);
  } else if (!asked) {
    note_others(compiled, chosen, days, release.notes);
  }
  return release;
}

}  // namespace stepcast
