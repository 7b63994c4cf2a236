// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/run_spec.hpp"

#include <string>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/config/config_writer.hpp"

namespace stepcast {
namespace {

std::optional<std::int64_t> read_tokens(MappingReader& training) {
  const ConfigNode* written = training.take("tokens");
  if (written == nullptr) {
    return std::nullopt;
  }
  const bool scalar = written->kind == ConfigNode::Kind::kScalar;
  const std::optional<std::int64_t> tokens =
      scalar ? parse_count(written->text) : std::optional<std::int64_t>();
  if (!tokens || *tokens == 0) {
    training.error("tokens", "must be a whole number of tokens from 1 to 10^18" +
                                 (scalar ? ", not '" + written->text + "'" : std::string()) +
                                 "; write e.g. 15T, 300B or 15000000000000");
    return std::nullopt;
  }
  return tokens;
}

// Between failures or checkpoints; of none that come at all, the key is left out.
constexpr UnitRange kInterval{{1e-6, 1e9}, "h"};
// Of one checkpoint or restart.
constexpr UnitRange kPause{{0.0, 1e4}, "h"};

std::optional<Seconds> optional_time(MappingReader& reader, std::string_view key) {
  const ConfigNode* written = reader.take(key);
  return written == nullptr ? std::nullopt : reader.quantity<Seconds>(key, *written, kInterval);
}

CheckpointSpec read_checkpoint(MappingReader reader) {
  CheckpointSpec checkpoint;
  checkpoint.write = reader.required_quantity<Seconds>("write", kPause);
  checkpoint.interval = optional_time(reader, "interval");
  reader.finish();
  return checkpoint;
}

void check_interruptions(const MappingReader& reader, const Interruptions& given) {
  if (!reader.good({"mtbf_per_gpu", "checkpoint", "restart"})) {
    return;
  }
  if (given.mtbf_per_gpu && !given.checkpoint) {
    reader.error("mtbf_per_gpu",
                 "needs checkpoints: without any, a failure loses the whole run; "
                 "add checkpoint: {write: 60 s}");
  }
  if (!given.mtbf_per_gpu && given.checkpoint && !given.checkpoint->interval) {
    reader.error("checkpoint",
                 "needs an interval, as interval: 30 min, or an mtbf_per_gpu, from "
                 "which the best interval follows");
  }
  if (!given.mtbf_per_gpu && given.restart > Seconds{}) {
    reader.error("restart",
                 "needs mtbf_per_gpu, which says how often; Llama 3's report gives "
                 "50000 h");
  }
}

Interruptions read_interruptions(MappingReader reader) {
  constexpr Range<double> kStragglers{0.0, 0.9};
  Interruptions given;
  given.mtbf_per_gpu = optional_time(reader, "mtbf_per_gpu");
  if (std::optional<MappingReader> checkpoint = reader.optional_mapping("checkpoint")) {
    given.checkpoint = read_checkpoint(std::move(*checkpoint));
  }
  given.restart = reader.optional_quantity<Seconds>("restart", Seconds{}, kPause);
  given.stragglers = reader.optional_number("stragglers", 0.0, kStragglers);
  check_interruptions(reader, given);
  reader.finish();
  return given;
}

SitePower read_site(MappingReader reader) {
  constexpr Range<double> kPue{1.0, 5.0};
  constexpr UnitRange kSitePower{{0.0, 1e5}, "W"};  // beside each GPU
  SitePower site;
  site.host = reader.optional_quantity<Watts>("host", site.host, kSitePower);
  site.network = reader.optional_quantity<Watts>("network", site.network, kSitePower);
  site.pue = reader.optional_number("pue", site.pue, kPue);
  reader.finish();
  return site;
}

}  // namespace

std::optional<RunSpec> read_run(MappingReader& training) {
  RunSpec run;
  const std::optional<std::int64_t> tokens = read_tokens(training);
  if (std::optional<MappingReader> mapping = training.optional_mapping("interruptions")) {
    run.interruptions = read_interruptions(std::move(*mapping));
  }
  if (std::optional<MappingReader> mapping = training.optional_mapping("energy")) {
    run.site = read_site(std::move(*mapping));
  }
  for (const std::string_view key : {"interruptions", "energy"}) {
    if (!training.has("tokens") && training.has(key)) {
      training.error(key, "needs tokens, how long the run is; add tokens: 15T, or --tokens 15T");
    }
  }
  if (!tokens) {
    return std::nullopt;
  }
  run.tokens = *tokens;
  return run;
}

void write_run(const RunSpec& run, ConfigNode& training) {
  ConfigWriter writer;
  writer.field("tokens", run.tokens);
  if (run.interruptions.any()) {
    const Interruptions& given = run.interruptions;
    writer.begin("interruptions");
    if (given.mtbf_per_gpu) {
      writer.quantity("mtbf_per_gpu", *given.mtbf_per_gpu);
    }
    if (given.checkpoint) {
      writer.begin("checkpoint");
      writer.quantity("write", given.checkpoint->write);
      if (given.checkpoint->interval) {
        writer.quantity("interval", *given.checkpoint->interval);
      }
      writer.end();
    }
    writer.quantity("restart", given.restart);
    writer.field("stragglers", given.stragglers);
    writer.end();
  }
  writer.begin("energy");
  writer.quantity("host", run.site.host);
  writer.quantity("network", run.site.network);
  writer.field("pue", run.site.pue);
  writer.end();
  for (ConfigEntry& entry : writer.take().entries) {
    training.entries.push_back(std::move(entry));
  }
}

}  // namespace stepcast
