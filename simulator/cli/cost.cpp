// SPDX-License-Identifier: Apache-2.0
// `stepcast cost --gpu NAME [FILE]`: JSON lines of operators in, the same lines with prices out.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "stepcast/cost/operator_line.hpp"
#include "stepcast/dispatchers/expert_traffic.hpp"

namespace stepcast::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestInput = 256U << 20U;  // bytes

struct CostOptions {
  std::string file;
  std::string gpu;
  std::vector<std::string> backends;
  std::optional<double> gpu_clock_mhz;
  std::string power_limit;
  bool terms = false;
  OutputOptions output;
};

void lock_clock(const CostOptions& options, const DeviceSpec& device) {
  const double peak = device.clock.peak.value() / 1e6;
  if (options.gpu_clock_mhz && !(*options.gpu_clock_mhz >= 1.0 && *options.gpu_clock_mhz <= peak)) {
    throw ConfigError({"--gpu-clock-mhz", 0, 0}, shortest_text(*options.gpu_clock_mhz) +
                                                     " is out of range; give 1 to the peak of " +
                                                     device.name + ", " + shortest_text(peak));
  }
}

Watts limit_from(const std::string& text, const PowerSpec& power) {
  const ParsedQuantity<Watts> parsed = parse_quantity<Watts>(text);
  if (!parsed.value || *parsed.value <= power.idle) {
    throw ConfigError({"--power-limit", 0, 0},
                      "'" + text + "' must be a power with its unit, '500 W', above the " +
                          format_quantity(power.idle) + " that the GPU draws without work");
  }
  return *parsed.value;
}

DeviceSpec device_of(const CostOptions& options, const DataRoot& data) {
  DeviceSpec device = load_gpu(options.gpu, data, {"command line", 0, 0});
  lock_clock(options, device);
  if (!options.power_limit.empty()) {
    device.power.limit = limit_from(options.power_limit, device.power);
  }
  return device;
}

std::string read_input(const std::string& file) {
  if (!file.empty() && file != "-") {
    return read_file(file, kLargestInput);
  }
  std::string text{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  if (text.size() > kLargestInput) {
    throw ConfigError({"stdin", 0, 0}, "more than 256 MiB; give the lines in parts");
  }
  return text;
}

// Calls `read` with every line that is not blank, and its number.
template <typename Read>
void for_each_line(std::string_view text, const Read& read) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      read(line, number);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

struct PricedLine {
  std::string_view text;
  OperatorLine work;
};

std::vector<PricedLine> read_lines(std::string_view text, const std::string& name,
                                   const DeviceSpec& device) {
  Diagnostics diagnostics;
  std::vector<PricedLine> lines;
  for_each_line(text, [&](std::string_view line, int number) {
    const JsonSource source = json_line(name, number);
    if (std::optional<JsonObject> object = parse_json_object(line, source, diagnostics)) {
      JsonFields fields(std::move(*object), source, diagnostics);
      lines.push_back({line, read_operator(fields, device)});
      refuse_keys_of_other_kinds(fields);
      fields.finish();
    }
  });
  diagnostics.throw_if_any();
  return lines;
}

void add_terms(const OpCost& cost, Json& line) {
  Json& terms = line["terms"] = Json::object();
  for (const CostTerm& term : cost.terms) {
    terms[std::string(term.name)] = term.duration.value();
  }
  const Tiling& tiling = cost.tiling;
  if (tiling.rows > 0) {
    line["tiling"] = {{"rows", tiling.rows},
                      {"cols", tiling.cols},
                      {"splits", tiling.splits},
                      {"cluster", tiling.cluster},
                      {"waves", tiling.waves}};
  }
}

// A number of bytes, which is mostly whole.
Json bytes_json(Bytes bytes) {
  const double value = bytes.value();
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

// The exchange with the primitive that its dispatcher chose.
Op as_run(Op op, const OpCost& cost) {
  auto* exchange = std::get_if<ExpertExchange>(&op.work);
  if (exchange != nullptr) {
    const std::span<const std::string_view> names = names_of<ExchangePrimitive>();
    const auto chosen = std::find(names.begin(), names.end(), cost.algorithm);
    if (chosen != names.end()) {
      exchange->primitive = static_cast<ExchangePrimitive>(chosen - names.begin());
    }
  }
  return op;
}

// Bytes of an exchange by three conventions, and the rate of a communication: of a collective's
// tensor, of an exchange's bytes on the wire.
void add_traffic(const Op& op, const ClusterSpec& cluster, Seconds duration, Json& line) {
  const std::int64_t domain = cluster.domain_size();
  if (const auto* exchange = std::get_if<ExpertExchange>(&op.work)) {
    const ExchangeTraffic traffic = expert_traffic(*exchange, domain);
    line["tensor_bytes"] = bytes_json(traffic.tensor);
    line["logical_bytes"] = bytes_json(traffic.logical);
    line["wire_bytes"] = bytes_json(traffic.wire);
  }
  const Bytes carried = interconnect_bytes(op, domain);
  if (carried > Bytes{} && duration > Seconds{}) {
    line["effective_interconnect_tbps"] = (carried / duration).value() / 1e12;
  }
}

std::string priced_text(const PricedLine& line, const CostOptions& options, const CostModel& model,
                        const ClusterSpec& cluster) {
  OperatorLine work = line.work;
  if (options.gpu_clock_mhz && work.state.power != PowerState::kLocked) {
    work.state = {PowerState::kLocked, Hertz(*options.gpu_clock_mhz * 1e6)};
  }
  const PricedOp priced =
      price(work, model, cluster, options.terms ? Detail::kTerms : Detail::kDuration);
  Json json = Json::parse(line.text);
  json["predicted_s"] = priced.cost.duration.value();
  json["clock_mhz"] = priced.clock.value() / 1e6;
  json["bound"] = name(priced.cost.bound);
  if (!priced.cost.algorithm.empty()) {
    const std::string_view protocol = priced.cost.protocol;
    json["ran_as"] =
        std::string(priced.cost.algorithm) + (protocol.empty() ? "" : " ") + std::string(protocol);
  }
  if (priced.cost.origin != Origin::kModel) {
    json["origin"] = name(priced.cost.origin);
  }
  add_traffic(as_run(work.op, priced.cost), cluster, priced.cost.duration, json);
  if (options.terms) {
    add_terms(priced.cost, json);
  }
  return json.dump() + "\n";
}

int run_cost(const CostOptions& options, const GlobalOptions& global) {
  const DataRoot data = data_root(global);
  const CostModel model = cost_model(options.backends, data);
  const ClusterSpec cluster = fabric_of(device_of(options, data));
  const std::string text = read_input(options.file);
  const std::string name = options.file.empty() || options.file == "-" ? "stdin" : options.file;
  std::string result;
  for (const PricedLine& line : read_lines(text, name, cluster.device)) {
    result += priced_text(line, options, model, cluster);
  }
  write_output(options.output, result);
  return kDone;
}

}  // namespace

void add_cost(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "cost", "JSON lines of operators in, the same lines with their predicted time out");
  auto options = std::make_shared<CostOptions>();
  command->add_option("file", options->file, "operators, one JSON object a line; default: stdin");
  command->add_option("--gpu", options->gpu, "a GPU's name")->required();
  command
      ->add_option("--backend", options->backends, "choose a backend: gemm=roofline (repeatable)")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--gpu-clock-mhz", options->gpu_clock_mhz,
                      "lock the clock, MHz; a line that locks its own keeps that");
  command->add_option("--power-limit", options->power_limit, "of the GPU: '500 W'");
  command->add_flag("--terms", options->terms, "add what makes up each time");
  command->add_option("--out", options->output.out, "write to this file, not standard output");
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_cost(*options, global); };
  });
}

}  // namespace stepcast::cli
