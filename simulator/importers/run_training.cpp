// SPDX-License-Identifier: Apache-2.0
#include "importers/published_run.hpp"

#include <algorithm>
#include <array>

#include "frameworks/words.hpp"
#include "importers/published_names.hpp"
#include "importers/stated_object.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/base/decimal_text.hpp"

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
  if (modules.empty() && software_for(framework).family() == FrameworkFamily::kTorchtitan) {
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

// How many NICs a text names before their rate, "4 x " of "4 x 100Gb"; 0 if it names none.
int nics_before(std::string_view rate, std::string_view text) {
  std::string_view head = text.substr(0, static_cast<std::size_t>(rate.data() - text.data()));
  head.remove_suffix(head.ends_with(' ') ? 1 : 0);
  return head.ends_with('x') ? digits_value(last_digits(head.substr(0, head.size() - 1), 3)) : 0;
}

// Whether "/s", "ps" or less and a blank are at the beginning of what follows "Gb".
bool is_unit_and_blank(std::string_view text) {
  for (const char part : {'/', 'p', 's'}) {
    text.remove_prefix(text.starts_with(part) ? 1 : 0);
  }
  return text.starts_with(' ');
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

}  // namespace

Record recompute_keys(const std::string& published, const std::string& framework, Record& assumed) {
  const std::string text = short_remark(published);
  if (text.empty() || text.starts_with("none")) {
    return Record::object();
  }
  if (text.starts_with("selective")) {
    return selective(text, framework, assumed);
  }
  if (text.starts_with("full")) {
    return full(text);
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
  throw RefusedRow{"feature unsupported: the recomputation '" + published + "'"};
}

std::optional<BytesPerSecond> network_rate_of_gpu(const std::string& published,
                                                  std::int64_t gpus_per_node) {
  const std::string text = shortened(published);
  const bool of_node =
      mentions(text, "node-node") || mentions(text, "per node") || mentions(text, "a node");
  std::array<std::optional<double>, 3> found;  // gigabits: of several NICs, of a node, of a GPU
  const auto keep = [](std::optional<double>& first, double value) {
    first = first.value_or(value);
  };
  for (std::size_t at = text.find("Gb"); at != std::string::npos; at = text.find("Gb", at + 1)) {
    const std::string_view before = std::string_view(text).substr(0, at);
    const std::string_view rate = last_digits(before, 4);
    if (const double nics = rate.empty() ? 0.0 : nics_before(rate, before); nics > 0.0) {
      keep(found[0], nics * digits_value(rate) / static_cast<double>(gpus_per_node));
    }
    if (const std::string_view whole = last_digits(before, 5);
        of_node && !whole.empty() && is_unit_and_blank(std::string_view(text).substr(at + 2))) {
      keep(found[1], digits_value(whole) / static_cast<double>(gpus_per_node));
    }
    if (rate.size() >= 2) {
      keep(found[2], digits_value(rate));
    }
  }
  const auto* const first =
      std::ranges::find_if(found, [](const auto& rate) { return rate.has_value(); });
  return first == found.end() ? std::nullopt : std::optional(**first * BytesPerSecond(1e9 / 8.0));
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
  if (const auto rate = network_rate_of_gpu(network, in_node)) {
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
