// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/experiment.hpp"

#include <array>
#include <functional>

#include "stepcast/config/enum_fields.hpp"
#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/backend_choice.hpp"
#include "stepcast/experiment/goodput.hpp"
#include "stepcast/experiment/profile_cache.hpp"
#include "stepcast/experiment/reported_input.hpp"
#include "stepcast/hardware/constant.hpp"
#include "stepcast/hardware/constant_files.hpp"
#include "stepcast/layer/exchange_rules.hpp"
#include "stepcast/model/model_remarks.hpp"
#include "stepcast/plan/run_spec.hpp"

namespace stepcast {
namespace {

constexpr Range<std::int64_t> kNodes{1, 1 << 20};
constexpr Range<double> kSure{0.1, 0.999};  // odds of not running out of memory

// Runs `load` and keeps the problems that it throws, so that the other sections are read too.
template <typename Load>
void collect(Diagnostics& diagnostics, const Load& load) {
  try {
    load();
  } catch (const ConfigError& e) {
    for (const Diagnostic& diagnostic : e.diagnostics()) {
      diagnostics.error(diagnostic.where, diagnostic.message);
    }
  }
}

class ExperimentReader {
 public:
  ExperimentReader(const ConfigNode& root, std::filesystem::path folder, ProfileCache& profiles)
      : top_(root, "", diagnostics_), folder_(std::move(folder)), profiles_(profiles) {}

  // `others`: keys that the file may have beside an experiment's, and that were taken out.
  Experiment read(std::span<const std::string_view> others) {
    collect(diagnostics_, [this] { read_model_section(); });
    collect(diagnostics_, [this] { read_cluster_section(); });
    read_training_section_of(top_.required_mapping("training"));
    if (std::optional<MappingReader> plan = top_.optional_mapping("plan")) {
      const std::vector<ConfigEntry>& keys = plan->node().entries;
      experiment_.named.plan_assumed =
          !keys.empty() && std::ranges::all_of(keys, [](const ConfigEntry& entry) {
            return entry.value.location().file == kAssumedPlace;
          });
      experiment_.plan = read_plan(std::move(*plan));
    }
    collect(diagnostics_, [this] { read_software_section(); });
    read_exchange_section();
    collect(diagnostics_, [this] { choose_attention_kernel(); });
    read_backends_section();
    experiment_.uncarried_savings = read_uncarried_savings(top_, diagnostics_);
    top_.optional_text("description");
    for (const std::string_view other : others) {
      top_.take(other);
    }
    top_.finish();
    diagnostics_.throw_if_any();
    if (experiment_.named.model.empty()) {  // the user's own: those that ship need no remark
      const std::vector<std::string> remarks = model_remarks(experiment_.model);
      experiment_.notes.insert(experiment_.notes.end(), remarks.begin(), remarks.end());
    }
    return std::move(experiment_);
  }

 private:
  void read_model_section() {
    const ConfigNode* model = top_.take_required("model");
    if (model != nullptr && model->kind == ConfigNode::Kind::kMapping) {
      const ConfigNode written = model->find("base") == nullptr ? *model : with_base(*model);
      MappingReader reader(written, "model", diagnostics_);
      reader.take("base");
      experiment_.model = read_model(reader);
      return;
    }
    const std::string given = model == nullptr ? "" : top_.text("model", *model).value_or("");
    if (given.empty()) {
      return;  // what is wrong is said
    }
    const std::string name = model_named_elsewhere(given, profiles_.data());
    const bool is_file = is_own_file(name);
    experiment_.model =
        is_file ? load_model(folder_ / name) : profiles_.model(name, model->location());
    // A model whose file has another name than itself is not found by that.
    experiment_.named.model = !is_file && experiment_.model.name == name ? name : "";
  }

  // A named model with the keys of `model` in the place of its own.
  ConfigNode with_base(const ConfigNode& model) {
    const ConfigNode& base = *model.find("base");
    return changed(profiles_.model_text(base.text, base.location()), model);
  }

  void read_cluster_section() {
    MappingReader cluster = top_.required_mapping("cluster");
    const ConfigNode* written = top_.node().find("cluster");
    if (written == nullptr || written->kind != ConfigNode::Kind::kMapping) {
      return;
    }
    const std::int64_t nodes = cluster.optional_count("nodes", 1, kNodes);
    std::string name = cluster.optional_name("name");
    if (is_own_file(name)) {
      name = (folder_ / name).lexically_normal().string();
    }
    std::string gpu = cluster.optional_name("gpu");
    if (is_own_file(gpu)) {
      gpu = (folder_ / gpu).lexically_normal().string();
    }
    std::string host = cluster.optional_name("host");
    if (name.empty() && gpu.empty() && cluster.good({"name", "gpu"})) {
      cluster.error("gpu", "is needed: give a 'gpu', or the 'name' of a cluster");
    } else if (!name.empty()) {
      experiment_.named.cluster = name;
      const ClusterProfile& profile = profiles_.cluster(name, cluster.location("name"));
      const std::string part = gpu.empty() ? profile.gpu : gpu;
      host = host.empty() ? profile.host : host;
      experiment_.named.gpu = part;
      experiment_.cluster = cluster_of(
          profile, profiles_.gpu(part, cluster.location(gpu.empty() ? "name" : "gpu")), nodes);
    } else if (!gpu.empty()) {
      experiment_.named.gpu = gpu;
      experiment_.cluster = cluster_of(profiles_.gpu(gpu, cluster.location("gpu")), nodes);
    }
    experiment_.named.host = host;
    experiment_.cluster.host = profiles_.host(
        host.empty() ? host_name_of(experiment_.cluster.device) : host, cluster.location("host"));
    read_cluster_changes(cluster);
    read_gpus(cluster);
    cluster.finish();
  }

  // So many GPUs in the place of nodes: whole nodes, or some of the GPUs of one.
  void read_gpus(MappingReader& cluster) {
    constexpr Range<std::int64_t> kCount{1, std::int64_t{1} << 24};
    const ConfigNode* given = cluster.take("gpus");
    if (given == nullptr) {
      return;
    }
    const std::int64_t gpus = cluster.count("gpus", *given, kCount).value_or(1);
    ClusterSpec& spec = experiment_.cluster;
    const std::int64_t per_node = std::max<std::int64_t>(1, spec.gpus_per_node);
    if (cluster.has("nodes")) {
      cluster.error("gpus", "and nodes say the same; leave one of them out");
    } else if (gpus > per_node && gpus % per_node != 0) {
      const std::int64_t below = gpus / per_node * per_node;
      cluster.error("gpus", "= " + std::to_string(gpus) + " are no whole nodes of " +
                                std::to_string(per_node) + "; give " + std::to_string(below) +
                                " or " + std::to_string(below + per_node));
    } else {
      spec.nodes = std::max<std::int64_t>(1, gpus / per_node);
      spec.gpus_per_node = std::min(gpus, per_node);
      if (gpus < per_node) {  // said as what it comes to, for whoever takes the report up again
        experiment_.cluster_given.entries.push_back(
            {"gpus_per_node", 0, 0, scalar_at(*given, std::to_string(gpus))});
      }
    }
  }

  // A number of a profile that `cluster` states itself under `key`.
  void restate_number(const MappingReader& cluster, std::string_view key, std::string_view place) {
    if (const ConfigNode* own = cluster.node().find(key)) {
      restate(experiment_.cluster.device.provenance,
              {std::string(place), own->text, SourceKind::kSpec, std::string(kOfExperiment), "", "",
               ""});
    }
  }

  void restate_numbers(const MappingReader& cluster) {
    restate_number(cluster, "nics_per_gpu", "scale_out.nics_per_gpu");
    restate_number(cluster, "nic_rate", "scale_out.nic_rate");
    restate_number(cluster, "nic_efficiency", "scale_out.efficiency");
    restate_number(cluster, "link_rate", "scale_up.link_rate");
    restate_number(cluster, "power_limit", "power.limit");
    for (const std::string protocol : {"ll", "ll128", "simple"}) {
      restate_number(cluster, "least_hop", protocol + ".hop");
      restate_number(cluster, "least_network_hop", protocol + ".network_hop");
    }
    restate_number(cluster, "least_hop", "simple.long_hop");
  }

  // What an experiment changes of its cluster without a profile of its own.
  void read_cluster_changes(MappingReader& cluster) {
    experiment_.cluster_given = cluster.node();
    std::erase_if(experiment_.cluster_given.entries, [](const ConfigEntry& entry) {
      return entry.key == "name" || entry.key == "gpu" || entry.key == "nodes" ||
             entry.key == "gpus";
    });
    read_kernels(cluster);
    restate_numbers(cluster);
    constexpr Range<std::int64_t> kGpus{1, 1024};
    ClusterSpec& spec = experiment_.cluster;
    ScaleOutSpec& nics = spec.device.scale_out;
    const std::int64_t joined = std::max(spec.gpus_per_node, spec.device.scale_up.domain_size);
    spec.gpus_per_node = cluster.optional_count("gpus_per_node", spec.gpus_per_node, kGpus);
    if (spec.gpus_per_node > joined) {
      cluster.error("gpus_per_node", "is more than the " + std::to_string(joined) +
                                         " GPUs that the fabric of " + spec.device.name +
                                         " joins; give no more, and more nodes");
    }
    nics.nics_per_gpu =
        cluster.optional_number("nics_per_gpu", nics.nics_per_gpu, limits::kNicsPerGpu);
    nics.nic_rate = cluster.optional_quantity("nic_rate", nics.nic_rate, limits::kNicRate);
    experiment_.nic_rate = nics.nic_rate;
    nics.efficiency = cluster.optional_number("nic_efficiency", nics.efficiency, limits::kShare);
    read_fabric_changes(cluster);
    read_network_changes(cluster, spec.network);
    spec.chips = cluster.optional_choice<Chips>("chips", enum_names<Chips>(), spec.chips);
    if (const ConfigNode* clock = cluster.take("gpu_clock")) {
      experiment_.locked_clock =
          cluster.quantity<Hertz>("gpu_clock", *clock, {limits::kMegahertz, "MHz"});
      if (experiment_.locked_clock > spec.device.clock.peak) {
        cluster.error("gpu_clock",
                      "must be at most the GPU's peak, " + format_quantity(spec.device.clock.peak));
      }
    }
    read_power_limit(cluster);
    double& sure = spec.device.hbm.sure;
    sure = cluster.optional_number("memory_sure", sure, kSure);
    read_scale(cluster);
  }

  // Constants of kernels as `stepcast calibrate` writes them, in a file beside the experiment,
  // instead of the part's own.
  void read_kernels(MappingReader& cluster) {
    const std::string file = cluster.optional_name("kernels");
    if (file.empty()) {
      return;
    }
    const std::string placed = (folder_ / file).lexically_normal().string();
    for (ConfigEntry& entry : experiment_.cluster_given.entries) {
      if (entry.key == "kernels") {
        entry.value.text = placed;
      }
    }
    DeviceSpec& device = experiment_.cluster.device;
    const std::string name = device.kernels.name;
    device.kernels =
        read_kernel_constants(load_config(placed), device.sources, device.provenance, diagnostics_);
    device.kernels.name = name;
    experiment_.own_kernels = device.kernels;
  }

  // A fabric that was measured to be slower than its part's: the rate of a scale-up link, and the
  // least time of a step of a ring within nodes and between them, whatever the protocol.
  void read_fabric_changes(MappingReader& cluster) {
    DeviceSpec& device = experiment_.cluster.device;
    BytesPerSecond& link = device.scale_up.link_rate;
    link = cluster.optional_quantity("link_rate", link, limits::kLinkRate);
    const auto least = cluster.optional_quantity("least_hop", Seconds{}, limits::kLatency);
    const auto least_network =
        cluster.optional_quantity("least_network_hop", Seconds{}, limits::kLatency);
    CollectiveConstants& library = device.collectives;
    for (ProtocolConstants* protocol :
         std::initializer_list<ProtocolConstants*>{&library.ll, &library.ll128, &library.simple}) {
      protocol->hop = max(protocol->hop, least);
      protocol->network_hop = max(protocol->network_hop, least_network);
    }
    library.simple.long_hop = max(library.simple.long_hop, least);
  }

  // On top of everything else that the cluster says.
  void read_scale(MappingReader& cluster) {
    constexpr Range<double> kFactor{1e-3, 1e3};
    std::optional<MappingReader> reader = cluster.optional_mapping("scale");
    if (!reader) {
      return;
    }
    ClusterScale& scale = experiment_.scale;
    for (const ScaleFactor& known : kScaleFactors) {
      double& factor = scale.*known.factor;
      factor = reader->optional_number(known.name, factor, kFactor);
    }
    reader->finish();
    experiment_.cluster = scaled(std::move(experiment_.cluster), scale);
  }

  void read_power_limit(MappingReader& cluster) {
    PowerSpec& power = experiment_.cluster.device.power;
    const Watts own = power.limit;
    power.limit = cluster.optional_quantity("power_limit", power.limit, {limits::kWatts, "W"});
    if (cluster.has("power_limit") && power.limit <= power.idle) {
      cluster.error("power_limit", "must be above what the GPU draws without work, " +
                                       format_quantity(power.idle));
    } else if (power.limit > own) {
      experiment_.notes.push_back("power limit " + format_quantity(power.limit) +
                                  " taken at its word: the part's own is " + format_quantity(own));
    }
  }

  // After the cluster: how often a run fails depends on its GPUs.
  void read_training_section_of(const MappingReader& training) {
    for (const std::string_view key : {"sequence_length", "global_batch_size"}) {
      const ConfigNode* value = training.node().find(key);
      if (value != nullptr && value->location().file == kAssumedPlace) {
        experiment_.named.training_assumed.emplace_back(key);
      }
    }
    const ConfigNode* dtype = training.node().find("dtype");
    if (dtype == nullptr || dtype->location().file == kAssumedPlace) {
      experiment_.named.training_assumed.emplace_back("dtype");
    }
    const ConfigNode* lora = training.node().find("lora");
    if (lora != nullptr && lora->kind == ConfigNode::Kind::kMapping) {
      const ConfigNode* targets = lora->find("targets");
      if (targets == nullptr || targets->location().file == kAssumedPlace) {
        experiment_.named.training_assumed.emplace_back(kLoraTargets);
      }
    }
    TrainingSection section = read_training_section(training);
    experiment_.training = std::move(section.recipe);
    experiment_.run = section.run;
    constexpr double kLeastGoodput = 0.01;
    const std::int64_t gpus = experiment_.cluster.gpus();
    if (section.run && gpus > 0 &&
        goodput(section.run->interruptions, gpus).share < kLeastGoodput) {
      training.error("interruptions", "leaves less than 1 % of the time to training on " +
                                          with_separators(gpus) +
                                          " GPUs; give a longer mtbf_per_gpu, or shorter "
                                          "checkpoint and restart");
    }
  }

  void read_software_section() {
    const ConfigNode* software = top_.take("software");
    if (software == nullptr) {
      take_software(usual_software(), top_.location());
      experiment_.named.software_assumed = true;
      return;
    }
    if (software->kind != ConfigNode::Kind::kMapping) {
      if (const std::optional<std::string> name = top_.text("software", *software)) {
        take_software(*name, software->location());
      }
      return;
    }
    MappingReader reader(*software, "software", diagnostics_);
    experiment_.named.software_assumed = !reader.has("base");
    take_software(reader.optional_name("base", usual_software()), reader.location("base"));
    read_software_switches(reader, experiment_.software);
    reader.finish();
  }

  // A GPU that could not be read has none; what is wrong with it is said already.
  [[nodiscard]] std::string usual_software() const {
    const std::string& usual = experiment_.cluster.device.architecture.usual_software;
    return usual.empty() ? "megatron" : usual;
  }

  void take_software(const std::string& given, const Location& where) {
    const std::string name =
        is_own_file(given) ? (folder_ / given).lexically_normal().string() : given;
    experiment_.software = profiles_.software(name, where);
    follow_recipes({experiment_.model.name, experiment_.named.gpu, experiment_.training.dtype,
                    experiment_.model.attention.kind == AttentionKind::kMla},
                   experiment_.software);
    hold_weights();
    experiment_.software_base = experiment_.software;
    experiment_.named.software = name;
  }

  // A set that trains under autocast trains weights of 16 bits as they are.
  void hold_weights() {
    SoftwareSpec& software = experiment_.software;
    const std::optional<WeightFormat> held = experiment_.training.weight_format;
    if (!held) {
      return;
    }
    if (software.autocast == Autocast::kNone) {
      const ConfigNode* training = top_.node().find("training");
      MappingReader(*training, "training", diagnostics_)
          .error("weights", "is what software " + software.name +
                                " decides itself; leave it out, or take a set that trains weights "
                                "as they were loaded, software: huggingface");
      return;
    }
    if (*held == WeightFormat::kBf16) {
      train_in_16_bits(software);
    }
  }

  // What the library of the software runs for this model on this GPU.
  void choose_attention_kernel() {
    const AttentionSpec& a = experiment_.model.attention;
    SoftwareSpec& software = experiment_.software;
    const Architecture& architecture = experiment_.cluster.device.architecture;
    const bool others =
        a.kind == AttentionKind::kSharedKv || (a.indexer && a.compression.ratios.empty());
    const bool any_fused = architecture.attention.native != AttentionKernel::kUnfused;
    const bool by_table = software.attention_library.library != AttentionLibraryName::kDirect;
    if (any_fused && (others || !by_table)) {
      return;
    }
    software.attention_choice = choose_attention(
        profiles_.attention_support(), software.attention_library, software.attention,
        {a.qk_head_dim.most(), a.v_head_dim.most(), a.sinks,
         a.sliding_window.most() > 0 && !software.masks_by_tensor},
        architecture);
  }

  // On top of what the software set says.
  void read_exchange_section() {
    ExchangeSpec& exchange = experiment_.software.exchange;
    if (std::optional<MappingReader> mapping = top_.optional_mapping("expert_exchange")) {
      if (!experiment_.model.moe && experiment_.model.layers > 0) {
        top_.error("expert_exchange", "must be left out: the model has no experts");
        return;
      }
      read_exchange(std::move(*mapping), exchange);
    }
    ExchangeSpec used = exchange;
    used.dispatcher = experiment_.plan.dispatcher.value_or(exchange.dispatcher);
    for (const ExchangeProblem& problem : exchange_problems(used, experiment_.model.moe)) {
      exchange_mapping(problem.key).error(problem.key, problem.message);
    }
  }

  // Where the key of an exchange at fault was written; else the dispatcher, else the experiment.
  MappingReader exchange_mapping(std::string_view key) {
    const ConfigNode& root = top_.node();
    const ConfigNode* own = root.find("expert_exchange");
    const ConfigNode* software = root.find("software");
    const ConfigNode* switches = software == nullptr ? nullptr : software->find("expert_exchange");
    for (const ConfigNode* node : {own, switches}) {
      if (node != nullptr && node->find(key) != nullptr) {
        return {*node, node == own ? "expert_exchange" : "software.expert_exchange", diagnostics_};
      }
    }
    return {own != nullptr ? *own : root, "expert_exchange", diagnostics_};
  }

  void read_backends_section() {
    std::optional<MappingReader> backends = top_.optional_mapping("backends");
    if (!backends) {
      return;
    }
    for (const std::string_view role : names_of<BackendRole>()) {
      std::string written = backends->optional_name(role);
      written = written_choice(parse_backend_choice(written), [this](const std::string& file) {
        return (folder_ / file).lexically_normal().string();
      });
      if (!written.empty()) {
        experiment_.backends[std::string(role)] = written;
        experiment_.backends_given[std::string(role)] = backends->location(role);
      }
    }
    backends->finish();
  }

  Diagnostics diagnostics_;
  MappingReader top_;
  std::filesystem::path folder_;
  ProfileCache& profiles_;
  Experiment experiment_;
};

}  // namespace

Experiment read_experiment(const ConfigNode& root, const std::filesystem::path& folder,
                           const DataRoot& data) {
  ProfileCache profiles(data);
  return ExperimentReader(root, folder, profiles).read({});
}

Experiment read_experiment(const ConfigNode& root, const std::filesystem::path& folder,
                           ProfileCache& profiles, std::span<const std::string_view> others) {
  return ExperimentReader(root, folder, profiles).read(others);
}

Experiment load_experiment(const std::filesystem::path& file,
                           const std::vector<Override>& overrides, const DataRoot& data) {
  ExperimentTree tree = load_experiment_tree(file, data);
  apply_overrides(tree.root, overrides);
  return read_experiment(tree.root, tree.folder, data);
}

}  // namespace stepcast
