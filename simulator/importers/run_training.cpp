// SPDX-License-Identifier: Apache-2.0
#include "importers/published_run.hpp"

#include <algorithm>
#include <array>

#include "frameworks/maxtext.hpp"
#include "frameworks/words.hpp"
#include "importers/published_names.hpp"
#include "importers/stated_network.hpp"
#include "importers/stated_object.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/base/decimal_text.hpp"
#include "stepcast/config/json_node.hpp"

namespace stepcast {
namespace {

// Whether the part scales blocks of 8-bit values in hardware, as those with a rate in 4 bits do.
bool scales_blocks(const DeviceSpec& device) {
  return device.matrix_rate[static_cast<std::size_t>(Dtype::kFp4)].has_value();
}

constexpr std::array kModules = {
    Word{"layernorm", "layernorm"},
    Word{"moe_act", "moe_act"},
    Word{"mlp_act", "mlp_act"},
    Word{"mla_up_proj", "mla_up_proj"},
    Word{"shared_experts", "shared_experts"},
    Word{"mlp", "mlp"},
    Word{"moe", "moe"},
    Word{"core", "core_attn"},
    Word{"core_attn", "core_attn"},
};

bool is_no_part_of_a_name(char c) { return !ascii::is_alphanumeric(c) && c != '_'; }

Record selective(const std::string& text, const std::string& framework, Record& assumed) {
  const std::vector<std::string> words = words_in(text, is_no_part_of_a_name);
  const auto names = [&words](std::string_view word) {
    return std::ranges::find(words, word) != words.end();
  };
  if (names("op")) {
    return {{"recompute", "selective_op"}};
  }
  Record modules = Record::array();
  for (const Word& known : kModules) {
    if (names(known.theirs) && std::ranges::find(modules, known.ours) == modules.end()) {
      modules.push_back(known.ours);
    }
  }
  if (modules.empty() && software_for(framework).family() == SourceFamily::kTorchtitan) {
    assumed.push_back(
        "training.recompute selective_op: torchtitan's default of selective: by operator");
    return {{"recompute", "selective_op"}};
  }
  if (modules.empty()) {
    modules.push_back("core_attn");
    assumed.push_back("training.recompute_modules core_attn: Megatron's default of selective");
  }
  return {{"recompute", "selective"}, {"recompute_modules", modules}};
}

Record full(const std::string& text) {
  Record keys = {{"recompute", "full"}};
  const std::size_t number = text.find_first_of("0123456789");
  if (mentions(text, "block") && number != std::string::npos) {
    keys["recompute_method"] = "block";
    keys["recompute_layers"] = digits_value(first_digits(std::string_view(text).substr(number), 4));
  }
  return keys;
}

// Rates that collectives between nodes were measured to reach, in GB/s or with their unit. What is
// stated in prose is not read.
void add_bus_rates(StatedObject& hardware, RunCluster& cluster) {
  StatedObject& stated = hardware.object("bus_rates");
  for (const char* collective : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}) {
    const nlohmann::json rate = stated.value(collective);
    if (rate.is_null()) {
      continue;
    }
    cluster.record["bus_rates"][collective] =
        stated.text(collective) + (rate.is_number() ? " GB/s" : "");
  }
}

// By MaxText's own name of a policy of a run of MaxText; nothing for another text.
std::optional<Record> by_policy(const std::string& text, const std::string& framework,
                                const DataRoot& data, Record& assumed) {
  constexpr std::string_view kKey = "remat_policy";
  if (software_for(framework).family() != SourceFamily::kMaxtext) {
    return std::nullopt;
  }
  const FrameworkWords words = maxtext_words(data);
  const ConfigNode* const policy = words.switches_of(kKey, text);
  if (policy == nullptr) {
    return std::nullopt;
  }
  Record keys = json_of(*policy);
  if (const std::string note = words.nearest_note(kKey, text); !note.empty()) {
    assumed.push_back("training.recompute " + keys["recompute"].get<std::string>() +
                      ": MaxText's remat_policy '" + text + "', " + note);
  }
  return keys;
}

}  // namespace

Record recompute_keys(const std::string& published, const std::string& framework,
                      const DataRoot& data, Record& assumed) {
  const std::string text = short_remark(published);
  if (text.empty() && software_for(framework).family() == SourceFamily::kTorchtitan) {
    assumed.push_back(
        "training.recompute selective_op: torchtitan's default, of which the row says nothing");
    return {{"recompute", "selective_op"}};
  }
  if (text.empty() || text.starts_with("none")) {
    return Record::object();
  }
  if (text.starts_with("selective")) {
    return selective(text, framework, assumed);
  }
  if (text.starts_with("full")) {
    return full(text);
  }
  if (std::optional<Record> keys = by_policy(text, framework, data, assumed)) {
    return *std::move(keys);
  }
  if (text.starts_with("maxtext remat_policy")) {
    assumed.push_back(
        "training.recompute full: MaxText's remat policies keep a few products of a "
        "layer, '" +
        published + "', and run the rest again");
    return {{"recompute", "full"}};
  }
  if (text.starts_with(kActivationOffload)) {
    assumed.push_back(
        "training.recompute full: activations in the host's memory leave the GPU, "
        "and how long copying them back takes is not modelled; memory is not compared");
    return {{"recompute", "full"}};
  }
  if (text == "on" || text.starts_with("on,") || text.starts_with("on ")) {
    throw RefusedRow{"input missing: which layers are recomputed, '" + published + "'"};
  }
  throw RefusedRow{"feature unsupported: the recomputation '" + published + "'"};
}

RunCluster run_cluster(StatedObject& hardware, const DeviceSpec& device, Record& assumed) {
  RunCluster cluster;
  cluster.gpus = hardware.required_count("num_gpus");
  const std::optional<std::int64_t> stated = hardware.count("gpus_per_node");
  const std::int64_t in_node = std::min(cluster.gpus, stated.value_or(device.gpus_per_node));
  if (in_node < 1 || cluster.gpus % in_node != 0) {
    throw RefusedRow{"feature unsupported: " + std::to_string(cluster.gpus) +
                     " GPUs are no whole nodes of " + std::to_string(in_node)};
  }
  cluster.record = {
      {"gpu", device.name}, {"nodes", cluster.gpus / in_node}, {"gpus_per_node", in_node}};
  const std::string network = hardware.text("interconnect");
  const StatedNetwork stated_rate =
      stated_network(network, in_node, device.scale_out.nics_per_gpu * device.scale_out.nic_rate);
  if (!stated_rate.question.empty() && cluster.gpus > in_node) {
    throw RefusedRow{"input missing: " + stated_rate.question};
  }
  if (const std::optional<BytesPerSecond>& rate = stated_rate.of_gpu) {
    cluster.record["nics_per_gpu"] = 1;
    cluster.record["nic_rate"] = format_quantity(*rate);
    assumed.push_back("cluster.nic_rate " + format_quantity(*rate) + ": '" + network +
                      "', as one NIC a GPU");
  }
  add_bus_rates(hardware, cluster);
  return cluster;
}

std::string dtype_key(const std::string& published, const DeviceSpec& device) {
  const std::string text = short_remark(published);
  if (mentions(text, "fp4")) {
    return "fp4";
  }
  if (mentions(text, "mx") || mentions(text, "block") || mentions(text, "128")) {
    return scales_blocks(device) ? "fp8" : "fp8_block";
  }
  if (mentions(text, "fp8") || mentions(text, "float8")) {
    return "fp8";
  }
  for (const char* known : {"fp16", "bf16"}) {
    if (mentions(text, known)) {
      return known;
    }
  }
  throw RefusedRow{"feature unsupported: the number format '" + published + "'"};
}

}  // namespace stepcast
