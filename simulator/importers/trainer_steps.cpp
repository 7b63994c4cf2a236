// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "frameworks/known_model.hpp"
#include "frameworks/torchtitan.hpp"
#include "frameworks/torchtitan_words.hpp"
#include "importers/published_names.hpp"
#include "importers/row_readers.hpp"
#include "importers/stated_object.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/plan/software_span.hpp"

namespace stepcast {
namespace {

// What both trainers' rows say of the run beside its time.
constexpr std::array kBesideTime = {"steps",
                                    "synced_s",
                                    "warm_s",
                                    "clock_mhz",
                                    "power_w",
                                    "torch",
                                    "note",
                                    "peak_reserved_bytes",
                                    "tokens_per_s_per_gpu"};

// The largest of a number or of a list of them, one a rank; nothing where one is null: its peak was
// read after it had been reset.
std::optional<double> largest(const nlohmann::json& stated) {
  const nlohmann::json ranks = stated.is_array() ? stated : nlohmann::json::array({stated});
  double most = 0.0;
  for (const nlohmann::json& rank : ranks) {
    if (!rank.is_number()) {
      return std::nullopt;
    }
    most = std::max(most, rank.get<double>());
  }
  return most > 0.0 ? std::optional(most) : std::nullopt;
}

Record measured_in(StatedObject& row) {
  Record measured = Record::object();
  if (const auto time = row.number("step_s")) {
    measured["step_time_s"] = *time;
  }
  if (const auto peak = largest(row.value("peak_alloc_bytes"))) {
    measured["peak_memory_bytes"] = *peak;
  }
  return measured;
}

// A count that can be multiplied.
std::int64_t bounded(StatedObject& row, const std::string& key, std::int64_t value) {
  constexpr std::int64_t kMost = 1 << 20;
  if (value > kMost) {
    throw RefusedRow{"feature unsupported: " + row.path_of(key) + " of " + std::to_string(value)};
  }
  return value;
}

Record one_host(const std::string& gpu, std::int64_t world) {
  return {{"gpu", gpu}, {"nodes", 1}, {"gpus_per_node", world}};
}

RefusedRow no_set_for(const std::string& framework) {
  return {"feature unsupported: no software set describes the framework '" + framework + "'"};
}

std::string shipped(std::string named, const ProfileCache& profiles, const std::string& framework) {
  const std::vector<std::string> sets = profiles.software_names();
  if (std::ranges::find(sets, named) == sets.end()) {
    throw no_set_for(framework);
  }
  return named;
}

// A row with what is common to both trainers; `experiment` may refuse.
template <typename ExperimentOf>
void add_record(const nlohmann::json& line, ProfileCache& profiles, std::string_view trainer,
                const ExperimentOf& experiment, std::vector<Record>& records) {
  StatedObject row(line);
  Record record;
  record["id"] = row.text("case");
  Record assumed = Record::array();
  std::string gpu = row.text("gpu");
  const Record measured = measured_in(row);
  const std::string framework = row.text("framework");
  std::string kind;
  try {
    gpu = required_gpu(gpu, profiles);
    Record made = experiment(row, gpu, assumed);
    for (const char* known : kBesideTime) {
      row.ignore(known);
    }
    row.refuse_unread();
    kind = profiles.model(made["model"]["base"].get<std::string>()).moe ? " moe" : " dense";
    record["experiment"] = std::move(made);
  } catch (const RefusedRow& refusal) {
    record["gpu"] = gpu;
    record["skipped"] = refusal.reason;
  }
  record["measured"] = measured;
  record["group"] = gpu + " " + std::string(trainer) + kind;
  record["source"] = framework + ", PyTorch " + row.text("torch");
  record["source_id"] = trainer;
  if (!assumed.empty()) {
    record["assumed"] = assumed;
  }
  if (const std::string note = row.text("note"); !note.empty()) {
    record["notes"] = note;
  }
  records.push_back(std::move(record));
}

// --- torchtitan ---------------------------------------------------------------------------------

// Models whose attention is FlexAttention by their own configuration.
constexpr std::array<std::string_view, 3> kFlexModules = {"deepseek_v3", "llama4", "gpt_oss"};

struct TitanPlan {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t shards = 1;  // ranks that FSDP shards over
};

TitanPlan titan_plan(StatedObject& changes, std::int64_t world) {
  TitanPlan plan{bounded(changes, "tp", changes.degree("tp")),
                 bounded(changes, "pp", changes.degree("pp")), 1};
  plan.shards = std::max<std::int64_t>(1, world / (plan.tp * plan.pp));
  // torchtitan: "Mixed precision training with TP or PP is only supported when FSDP/HSDP is
  // enabled"; a GPU alone runs under autocast.
  if (plan.shards == 1 && world > 1) {
    throw RefusedRow{
        "feature unsupported: fp32, since without FSDP torchtitan's mixed precision has no effect "
        "under tensor or pipeline parallelism; attention by the math kernels"};
  }
  if (plan.shards == 1) {
    throw RefusedRow{"feature unsupported: autocast, as torchtitan runs a GPU alone"};
  }
  return plan;
}

ModelFlavor titan_flavor(StatedObject& row, const DataRoot& data) {
  const std::string module = row.text("model");
  const std::string flavor = row.text("flavor");
  const FrameworkWords words = torchtitan_words(data);
  const ModelFlavor* const known = find_flavor(words.models(), module, flavor);
  if (known == nullptr) {
    throw RefusedRow{"feature unsupported: the flavor '" + flavor + "' of torchtitan's '" + module +
                     "'"};
  }
  return *known;
}

// The flavor with as many layers, dense ones among them, and experts as the row keeps.
Record titan_model(const ModelFlavor& flavor, StatedObject& changes, ProfileCache& profiles) {
  const ModelSpec& shipped = profiles.model(flavor.ours);
  Record model = {{"base", flavor.ours}};
  if (!flavor.changes.entries.empty()) {
    model.update(json_of(flavor.changes));
  }
  model["layers"] = changes.required_count("layers");
  if (flavor.without_mtp && shipped.mtp_layers > 0) {
    model["mtp_layers"] = 0;
  }
  if (const auto dense = changes.count("dense")) {
    model["moe"]["first_dense_layers"] = *dense;
  }
  if (const auto experts = changes.count("experts")) {
    model["moe"]["experts"] = *experts;
    // Groups of two experts and more.
    const std::int64_t groups = shipped.moe ? shipped.moe->router.groups : 1;
    if (groups > *experts / 2) {
      model["moe"]["router"]["groups"] = *experts / 2;
    }
  }
  return model;
}

// torchtitan's set that holds on the day that the row names: "torchtitan 2026-03-20 34f705ba4".
std::string titan_set(const std::string& framework, bool compiled, const ProfileCache& profiles) {
  constexpr std::string_view kName = "torchtitan ";
  const std::string named = framework.starts_with(kName) ? framework.substr(kName.size()) : "";
  const std::optional<DayRange> day = days_named(named.substr(0, named.find(' ')));
  if (!day) {
    throw no_set_for(framework);
  }
  const std::vector<SoftwareRelease> releases =
      releases_of(compiled ? "torchtitan" : "torchtitan_eager", profiles.data());
  const auto latest = std::find_if(
      releases.rbegin(), releases.rend(),
      [&day](const SoftwareRelease& release) { return holds_within(release.span, *day); });
  if (latest == releases.rend()) {
    throw no_set_for(framework);
  }
  return latest->name;
}

Record titan_software(StatedObject& row, StatedObject& changes, ProfileCache& profiles,
                      Record& assumed) {
  const bool compiled = changes.count("compile").value_or(0) != 0;
  const bool compiles_loss = changes.count("compile_loss").value_or(0) != 0;
  const std::string set = titan_set(row.text("framework"), compiled, profiles);
  Record software = {{"base", set}};
  if (!compiled && compiles_loss) {
    software["cross_entropy"] = "compiled";
  }
  const std::string module = row.text("model");
  if (std::ranges::find(kFlexModules, module) != kFlexModules.end()) {
    software["attention"] = "flex";
    assumed.push_back(
        "software.attention flex: the configuration of " + module +
        " asks for it; one document a sequence, so that its mask by document is the causal one");
  }
  return software.size() == 1 ? Record(set) : software;
}

Record titan_training(StatedObject& changes, const TitanPlan& plan) {
  const std::int64_t local = bounded(changes, "lbs", changes.required_count("lbs"));
  Record training = {{"sequence_length", changes.required_count("seq")},
                     {"micro_batch_size", plan.pp > 1 ? 1 : local},
                     {"global_batch_size", local * plan.shards},
                     {"dtype", "bf16"}};
  const std::string recompute = changes.text("ac");
  if (recompute == "selective") {
    training["recompute"] = "selective_op";
  } else if (recompute == "full" || recompute == "none" || recompute.empty()) {
    training["recompute"] = recompute.empty() ? "none" : recompute;
  } else {
    throw RefusedRow{"feature unsupported: the recomputation '" + recompute + "'"};
  }
  training["optimizer"] = "adamw";
  return training;
}

Record titan_plan_keys(const TitanPlan& plan, StatedObject& changes, std::int64_t layers) {
  Record keys = {{"tp", plan.tp}, {"pp", plan.pp}};
  if (const std::int64_t ep = changes.degree("ep"); ep > 1) {
    keys["ep"] = ep;
  }
  keys["fsdp"] = plan.shards;
  if (plan.pp > 1) {
    const std::string schedule = changes.text("schedule");
    const auto* const known =
        std::ranges::find(kTorchtitanSchedules, schedule, &TorchtitanSchedule::theirs);
    if (known == kTorchtitanSchedules.end()) {
      throw RefusedRow{"feature unsupported: the pipeline schedule '" + schedule + "'"};
    }
    keys["schedule"] = known->ours;
    if (changes.states("stage_layers") && known->several_stages) {
      const std::int64_t of_stage =
          bounded(changes, "stage_layers", changes.degree("stage_layers"));
      keys["vpp"] = std::max<std::int64_t>(1, layers / (of_stage * plan.pp));
    }
  }
  return keys;
}

Record titan_experiment(StatedObject& row, const std::string& gpu, Record& assumed,
                        ProfileCache& profiles) {
  StatedObject& changes = row.object("changes");
  changes.ignore("trace");
  const std::int64_t world = bounded(row, "world", row.degree("world"));
  const TitanPlan plan = titan_plan(changes, world);
  const ModelFlavor flavor = titan_flavor(row, profiles.data());
  Record experiment;
  experiment["model"] = titan_model(flavor, changes, profiles);
  experiment["cluster"] = one_host(gpu, world);
  experiment["training"] = titan_training(changes, plan);
  experiment["plan"] = titan_plan_keys(plan, changes, experiment["model"]["layers"]);
  experiment["software"] = titan_software(row, changes, profiles, assumed);
  if (profiles.model(flavor.ours).moe) {
    experiment["expert_exchange"] = {{"routing", "round_robin_forced"}};
    assumed.push_back(
        "expert_exchange.routing round_robin_forced: debug.moe_force_load_balance is on");
  }
  return experiment;
}

// --- Hugging Face -------------------------------------------------------------------------------

// What the cases are called after, behind "hf_".
constexpr std::array kHuggingFaceModels = {Word{"8b", "llama3.1_8b"}, Word{"1b", "llama3.2_1b"},
                                           Word{"3b", "llama3.2_3b"}, Word{"qwen3", "qwen3_8b"},
                                           Word{"qwen3moe", "qwen3_30b_a3b"}};

std::string hugging_face_model(const std::string& named, Record& assumed) {
  constexpr std::size_t kPrefix = 3;
  const std::string rest = named.starts_with("hf_") ? named.substr(kPrefix) : "";
  const std::string word = rest.substr(0, rest.find('_'));
  const auto* const known = std::ranges::find(kHuggingFaceModels, word, &Word::theirs);
  if (known == kHuggingFaceModels.end()) {
    throw RefusedRow{"input missing: the model of the case '" + named + "'"};
  }
  assumed.push_back("model " + std::string(known->ours) + ": the case is called " + named);
  return std::string(known->ours);
}

std::string hugging_face_set(StatedObject& row, const ProfileCache& profiles) {
  const std::string framework = row.text("framework");
  std::string named = row.text("software");
  named = named.empty() ? software_for(framework).software : named;
  return shipped(std::move(named), profiles, framework);
}

Record hugging_face_experiment(StatedObject& row, const std::string& gpu, Record& assumed,
                               ProfileCache& profiles) {
  StatedObject& settings = row.object("settings");
  settings.ignore("trace");
  settings.ignore("n");
  const std::int64_t world = bounded(row, "world", row.degree("world"));
  const std::string model = hugging_face_model(row.text("case"), assumed);
  const std::int64_t batch = bounded(row, "batch", row.required_count("batch"));
  Record experiment;
  experiment["model"] = {{"base", model}, {"layers", row.required_count("layers")}};
  experiment["cluster"] = one_host(gpu, world);
  experiment["training"] = {
      {"sequence_length", row.required_count("seq")},
      {"micro_batch_size", batch},
      {"global_batch_size", batch * world * bounded(settings, "accum", settings.degree("accum"))},
      {"dtype", "bf16"},
      {"recompute", settings.count("gc").value_or(0) != 0 ? "full" : "none"},
      {"optimizer", "adamw"}};
  experiment["plan"] = {{"zero", settings.count("fsdp").value_or(0) != 0 ? 3 : 0}};
  experiment["software"] = hugging_face_set(row, profiles);
  settings.ignore("version");  // of FSDP: 1 and 2 are priced alike
  if (settings.count("pure").value_or(0) != 0) {
    experiment["training"]["weights"] = "bf16";
  }
  if (const std::int64_t rank = settings.count("lora").value_or(0); rank > 0) {
    experiment["training"]["lora"] = {
        {"rank", rank}, {"targets", {"q", "k", "v", "o"}}, {"dropout", true}};
    assumed.push_back(
        "training.lora.targets q, k, v and o, with dropout: what huggingface_steps.py adapts");
  }
  if (profiles.model(model).moe) {
    assumed.push_back(
        "routing: of random weights, which is not balanced; a balanced one is priced");
  }
  return experiment;
}

}  // namespace

void read_torchtitan_step(const nlohmann::json& line, ProfileCache& profiles,
                          std::vector<Record>& records) {
  add_record(
      line, profiles, "torchtitan trainer",
      [&profiles](StatedObject& row, const std::string& gpu, Record& assumed) {
        return titan_experiment(row, gpu, assumed, profiles);
      },
      records);
}

void read_hugging_face_step(const nlohmann::json& line, ProfileCache& profiles,
                            std::vector<Record>& records) {
  add_record(
      line, profiles, "hugging face trainer",
      [&profiles](StatedObject& row, const std::string& gpu, Record& assumed) {
        return hugging_face_experiment(row, gpu, assumed, profiles);
      },
      records);
}

}  // namespace stepcast
