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

// When torchtitan had a key or a class of its files. A name that ends in '.' stands for a section.
struct DatedName {
  std::string_view name;
  std::string_view since{};  // empty: since its form is there
  std::string_view until{};
};

constexpr DatedName kTomlFiles{"TOML", "2024-03-15", "2026-02-23"};  // 9810191bb
constexpr DatedName kRecipes{"Python", "2026-02-23", ""};

constexpr auto kTomlNames = std::to_array<DatedName>({
    {"training.batch_size", "", "2025-06-05"},                              // 8570415c3
    {"training.local_batch_size", "2025-06-05"},                            // 8570415c3
    {"training.global_batch_size", "2025-06-05"},                           // 8570415c3
    {"training.data_parallel_degree", "", "2024-10-22"},                    // c9b17cca0
    {"training.data_parallel_shard_degree", "2024-09-10", "2025-03-18"},    // db6b39acd, 785c34c99
    {"training.data_parallel_replicate_degree", "2024-09-10", "2025-03-18"},
    {"training.tensor_parallel_degree", "", "2025-03-18"},                  // 785c34c99
    {"training.fsdp_reshard_after_forward", "2025-02-06", "2025-03-18"},    // 5940ddeb5
    {"training.enable_loss_parallel", "", "2024-12-23"},                    // f6a9daa13
    {"training.compile", "", "2025-08-20"},                                 // 08b8b244f
    {"compile.", "2025-08-20"},                                             // 08b8b244f
    {"experimental.context_parallel_degree", "2024-10-22", "2025-03-18"},   // b19456a98
    {"experimental.pipeline_parallel_degree", "", "2025-03-18"},            // 785c34c99
    {"experimental.enable_async_tensor_parallel", "", "2025-03-18"},
    {"parallelism.", "2025-03-18"},                                         // 785c34c99
    {"parallelism.pipeline_parallel_microbatch_size", "2025-04-07"},        // 5e2033c75
    {"parallelism.pipeline_parallel_layers_per_stage", "2025-04-07"},       // 8b737fe3c
    {"parallelism.pipeline_parallel_split_points", "", "2025-10-13"},       // 6e06a49cd
    {"parallelism.module_fqns_per_model_part", "2025-07-30"},               // 3c84ce095
    {"parallelism.expert_parallel_degree", "2025-07-08"},                   // 01f4e5022
    {"parallelism.expert_tensor_parallel_degree", "2025-08-13"},            // aeb3a4baf
    {"parallelism.expert_parallel_comm_backend", "2025-12-17"},             // 36a4b6942
    {"float8.", "", "2025-09-26"},                                          // 5b5d46856
    {"mx.", "2025-05-14", "2025-09-26"},                                    // fb17e251c
    {"quantize.", "2025-09-26"},                                            // 5b5d46856
    {"model.norm_type", "", "2025-04-23"},                                  // 9cf88aa1a
    {"model.use_flex_attn", "2025-03-20", "2025-04-17"},                    // 986f6800f, 8c6bf93e5
    {"model.hf_assets_path", "2025-08-11"},                                 // fd5a87fa6
    {"optimizer.fused", "2024-06-06", "2025-02-24"},                        // 40f8fd007, 6e4988550
    {"optimizer.implementation", "2025-02-24"},                             // 6e4988550
    {"activation_checkpoint.early_stop", "2025-08-29"},                     // 25413d224
    {"activation_checkpoint.memory_budget", "2025-10-09"},                  // b27638732
    {"validation.", "2025-07-09"},                                          // acd5ba8ed
    {"debug.", "2025-10-29"},                                               // e61f2cce4
    {"checkpoint.enable_checkpoint", "", "2025-08-22"},                     // cd337db63
    {"checkpoint.enable", "2025-08-22"},                                    // cd337db63
});

constexpr auto kRecipeNames = std::to_array<DatedName>({
    {"training.local_batch_size", "", "2026-08-20"},                         // 73aed7f6c
    {"training.seq_len", "", "2026-08-20"},                                  // 73aed7f6c
    {"training.num_tokens_per_microbatch_per_dp_rank", "2026-08-20"},        // 73aed7f6c
    {"training.num_tokens_per_train_step", "2026-08-20"},                    // 73aed7f6c
    {"training.max_context_length", "2026-08-20"},                           // 73aed7f6c
    {"training.disable_cuda_graphs", "2026-08-13"},                          // f84224af0
    {"activation_checkpoint.selective_ac_option", "", "2026-03-23"},         // 114151ad4
    {"model_converters.", "", "2026-04-27"},                                 // 6348d93d1
    {"model.converters", "2026-04-27"},                                      // 6348d93d1
    {"model.moe_comm_backend", "2026-04-17"},                                // 7cec16600
    {"model.attn_backend", "2026-04-17"},                                    // 7cec16600
    {"loss.", "2026-04-27"},                                                 // 786e26f8e
    {"parallelism.enable_sequence_parallel", "2026-03-29"},                  // aa68af18e
    {"parallelism.expert_parallel_comm_backend", "", "2026-04-30"},          // c4b409af2
    {"parallelism.expert_tensor_parallel_degree", "", "2026-04-30"},         // c4b409af2
    {"parallelism.enable_async_tensor_parallel", "", "2026-08-12"},          // 737594746
    {"compile.enable_async_tensor_parallel", "2026-08-12"},                  // 737594746
    {"ActivationCheckpointConfig", "", "2026-06-15"},                        // c5d93d109
    {"SelectiveAC", "2026-06-15"},
    {"FullAC", "2026-06-15"},
    {"MemoryBudgetAC", "2026-06-15"},
    {"ModelConvertersContainer", "", "2026-04-27"},                          // 6348d93d1
    {"OptimizersContainer", "", "2026-06-04"},                               // 632f67f12
    {"default_adamw", "2026-06-04"},
    {"ChunkedLossWrapper", "2026-06-26"},                                    // 9530a874d
});

bool names(const DatedName& row, std::string_view name) {
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
    if (names(row, name)) {
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

// Of a set whose span the days do not meet: which of its switches are younger than they, and which
// of the set behind it are older.
std::string not_as_then(const SoftwareRelease& chosen, const std::vector<SoftwareRelease>& releases,
                        const DayRange& days, const DataRoot& data) {
  std::vector<std::string> others;
  const auto add = [&](const SoftwareRelease& set, const auto& differs) {
    const auto load = [&data](const std::string& name) {
      return load_software(data.software() / (name + ".yaml"), data.software());
    };
    for (const SwitchEvidence& line : load(set.name).evidence) {
      if (!line.since.empty() && differs(line.since)) {
        others.push_back(line.key + " (" + line.since + ")");
      }
    }
  };
  const bool younger = chosen.span.since >= days.since;
  if (younger) {
    add(chosen, [&](const std::string& day) { return !days.until.empty() && day >= days.until; });
  } else if (const auto* next = &chosen + 1; next < releases.data() + releases.size()) {
    add(*next, [&](const std::string& day) { return day <= days.since; });
  }
  return others.empty() ? std::string{}
                        : ", the nearest: its " + text_list(others) +
                              (younger ? " came after the file" : " changed before the file");
}

std::string why(const TorchtitanAge& age, const SoftwareRelease& chosen,
                const std::vector<SoftwareRelease>& releases, const DataRoot& data) {
  std::string text = "the file is " + days_text(age.days) + ", " + keys_text(age);
  if (!holds_within(chosen.span, age.days)) {
    return text + not_as_then(chosen, releases, age.days, data);
  }
  std::vector<std::string> others;
  for (const SoftwareRelease& release : releases) {
    if (release.name != chosen.name && holds_within(release.span, age.days)) {
      others.push_back(release.date);
    }
  }
  return others.empty() ? text : text + "; --release may also be " + text_list(others);
}

std::string day_within(const SoftwareSpan& span, const DayRange& days) {
  return holds_within(span, days) ? std::max(span.since, days.since) : days.since;
}

}  // namespace

TorchtitanAge age_of(TorchtitanForm form, std::span<const Setting> settings,
                     std::span<const std::string> classes) {
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
  for (const std::string& name : classes) {
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
  const SoftwareRelease& chosen = release_for(compiled, days);
  TorchtitanRelease release{chosen.name, release_for(eager, days).name,
                            day_within(chosen.span, days), {}, asked.has_value()};
  if (asked) {
    release.why = "by --release" + (holds_within(chosen.span, days)
                                        ? std::string{}
                                        : not_as_then(chosen, compiled, days, data));
  } else {
    release.why = why(age, chosen, compiled, data);
  }
  return release;
}

}  // namespace stepcast
