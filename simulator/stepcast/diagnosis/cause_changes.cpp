// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/cause_changes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "stepcast/diagnosis/other_software.hpp"
#include "stepcast/experiment/training_changes.hpp"

namespace stepcast {
namespace {

constexpr double kGiga = 1e9;
constexpr double kMega = 1e6;

// As a setting is written: more digits tell no size.
std::string number(double value) {
  constexpr int kDigits = 6;
  constexpr std::size_t kLongest = 32;
  std::array<char, kLongest> text{};
  const std::to_chars_result end = std::to_chars(text.data(), text.data() + text.size(), value,
                                                 std::chars_format::general, kDigits);
  return {text.data(), end.ptr};
}

// Of the rate of 16 bits, that of TF32: 495 of 989 TFLOP/s of an H100, 156 of 312 of an A100, 654
// of 1,307 of an MI300X (their data sheets).
constexpr double kTf32Rate = 0.5;

// What the host takes for each product of such a loop: 0.8 ms for each expert of a forward pass,
// some twenty calls for two products (configs/software/huggingface_looped.yaml).
constexpr const char* kLoopedProduct = "400 us";

// That kernel of attention, whatever a library would choose.
KeySettings attention_settings(AttentionKernel kernel) {
  return {{"software.attention", std::string(name(kernel))},
          {"software.attention_library", "{name: direct}"}};
}

class Changes {
 public:
  explicit Changes(const DiagnosedExperiment& run)
      : tree_(run.tree), e_(run.experiment), p_(run.projection), software_(run.software) {}

  std::vector<CauseChange> all() {
    add_links();
    add_latency();
    add_overlap();
    add_host();
    add_launches();
    add_attention();
    add_precision();
    add_recomputation();
    add_imbalance();
    add_offload();
    add_clock();
    add_slow_rank();
    add_software();
    add_documents();
    return std::move(found_);
  }

 private:
  void add(Cause cause, std::string form, KeySettings settings) {
    if (!settings.empty()) {
      found_.push_back(
          {cause, std::move(form), std::move(settings), std::nullopt, SeenBy::kEveryRank});
    }
  }
  void add_sized(Cause cause, std::string form, SizedForm sized) {
    found_.push_back({cause, std::move(form), {}, std::move(sized), SeenBy::kEveryRank});
  }
  void add_links() {
    const ScaleOutSpec& nics = e_.cluster.device.scale_out;
    constexpr double kTenGigabit = 1.25;  // GB/s, of a port of 10 GbE
    const double count = nics.nics_per_gpu;
    const double own = count * e_.nic_rate.value() / kGiga;
    const double least = kTenGigabit / static_cast<double>(e_.cluster.gpus_per_node);
    if (e_.cluster.nodes > 1 && own > least) {
      add_sized(Cause::kLinkBetweenNodes, "rate of the NICs of a GPU",
                {"GB/s a GPU", {own, least}, [count](double size) -> KeySettings {
                   return {{"cluster.nic_rate", number(size / count) + " GB/s"}};
                 }});
    }
    const ScaleUpSpec& fabric = e_.cluster.device.scale_up;
    constexpr double kSharedPcie = 15.75 / 4.0;  // GB/s, of PCIe 3.0 x16 that four GPUs share
    const auto links = static_cast<double>(fabric.links);
    const double joined = links * fabric.link_rate.value() / kGiga;
    if (e_.cluster.domain_size() > 1 && joined > kSharedPcie) {
      add_sized(Cause::kLinkWithinNode, "rate of the links of a GPU",
                {"GB/s a GPU", {joined, kSharedPcie}, [links](double size) -> KeySettings {
                   return {{"cluster.link_rate", number(size / links) + " GB/s"}};
                 }});
    }
  }

  void add_latency() {
    constexpr SizeRange kMicroseconds{2.0, 1000.0};
    const std::string key =
        e_.cluster.nodes > 1 ? "cluster.least_network_hop" : "cluster.least_hop";
    add_sized(Cause::kMessageLatency, "least time of a message",
              {"us", kMicroseconds, [key](double size) -> KeySettings {
                 return {{key, number(size) + " us"}};
               }});
  }

  void add_overlap() {
    const SoftwareSpec& software = e_.software;
    KeySettings off;
    const auto turn_off = [&off](bool is_on, const char* key, const char* value) {
      if (is_on) {
        off.emplace_back(key, value);
      }
    };
    turn_off(software.overlap_grad_reduce, "software.overlap_grad_reduce", "false");
    turn_off(software.overlap_param_gather, "software.overlap_param_gather", "false");
    turn_off(software.fsdp_overlap != FsdpOverlap::kNone, "software.fsdp_overlap", "none");
    turn_off(software.async_tp, "software.async_tp", "false");
    turn_off(software.ep_overlap, "software.ep_overlap", "false");
    turn_off(software.shared_expert_overlap, "software.shared_expert_overlap", "false");
    add(Cause::kOverlapOff, "nothing overlaps", std::move(off));
  }

  void add_host() {
    constexpr SizeRange kTimes{1.0, 4.0};
    add_sized(Cause::kHostSlow, "time of each call",
              {"times", kTimes, [scale = e_.scale.host_time](double size) -> KeySettings {
                 return {{"cluster.scale.host_time", number(scale * size)}};
               }});
    constexpr SizeRange kMilliseconds{1.0, 10'000.0};
    const double own = e_.software.host.micro_batch.value();
    add_sized(Cause::kHostSlow, "wait of each micro-batch",
              {"ms", kMilliseconds, [own](double size) -> KeySettings {
                 return {{"software.host.micro_batch", number(own * 1e3 + size) + " ms"}};
               }});
  }

  void add_launches() {
    const HostWork& host = e_.software.host;
    KeySettings eager;
    if (e_.software.cuda_graph) {
      eager.emplace_back("software.cuda_graph", "false");
      add(Cause::kLaunchesUnfused, "no CUDA graph", eager);
    }
    const std::size_t graph = eager.size();
    if (host.layers != LaunchMode::kEager) {
      eager.emplace_back("software.host.layers", "eager");
    }
    if (e_.model.moe && host.experts != LaunchMode::kEager) {
      eager.emplace_back("software.host.experts", "eager");
    }
    if (eager.size() > graph) {
      add(Cause::kLaunchesUnfused, "eager calls", eager);
    }
    const std::size_t calls = eager.size();
    add_eager_kernels(eager);
    if (eager.size() > calls) {
      add(Cause::kLaunchesUnfused, "eager kernels", std::move(eager));
    }
    if (!host.launches_block) {
      add(Cause::kLaunchesUnfused, "launches block", {{"software.host.launches_block", "true"}});
    }
    if (e_.model.moe && e_.software.grouped_gemm != GroupedGemmMode::kLegacy) {
      add(Cause::kLaunchesUnfused, "a product an expert", expert_loop());
    }
  }

  // These frameworks' loops take the weights of each expert out of one parameter.
  [[nodiscard]] KeySettings expert_loop() const {
    KeySettings settings = {{"software.grouped_gemm", "legacy"}};
    const FrameworkFamily framework = e_.software.framework;
    if (framework == FrameworkFamily::kTransformers || framework == FrameworkFamily::kTorchtitan) {
      settings.emplace_back("software.slices_expert_weights", "true");
      if (e_.software.host.experts == LaunchMode::kEager) {
        settings.emplace_back("software.host.expert", kLoopedProduct);
      }
    }
    return settings;
  }

  void add_eager_kernels(KeySettings& settings) const {
    struct Switch {
      const char* key;
      Implementation SoftwareSpec::*now;
      bool of_experts;
    };
    constexpr std::array kSwitches = {
        Switch{"norm", &SoftwareSpec::norm, false},
        Switch{"rope", &SoftwareSpec::rope, false},
        Switch{"activation", &SoftwareSpec::activation, false},
        Switch{"cross_entropy", &SoftwareSpec::cross_entropy, false},
        Switch{"optimizer", &SoftwareSpec::optimizer, false},
        Switch{"permute", &SoftwareSpec::permute, true},
    };
    for (const Switch& known : kSwitches) {
      if ((e_.model.moe || !known.of_experts) && e_.software.*known.now != Implementation::kEager) {
        settings.emplace_back(std::string("software.") + known.key, "eager");
      }
    }
  }

  void add_attention() {
    constexpr std::array kSlower = {AttentionKernel::kUnfused, AttentionKernel::kFlash2};
    for (const AttentionKernel kernel : kSlower) {
      if (kernel != e_.software.attention_kernel()) {
        add(Cause::kAttentionNotFlash, "attention " + std::string(name(kernel)),
            attention_settings(kernel));
      }
    }
  }

  void add_precision() {
    if (is_quantized(e_.training.dtype)) {
      add(Cause::kPrecisionNotUsed, "bf16", {{"training.dtype", "bf16"}});
    }
    if (e_.training.dtype == Dtype::kFp4) {
      add(Cause::kPrecisionNotUsed, "fp8", {{"training.dtype", "fp8"}});
    }
    const DeviceSpec& device = e_.cluster.device;
    const auto rate = [&device](Dtype dtype) {
      const std::size_t place = slot(dtype);
      return device.matrix_rate[place] && device.achieved.gemm[place]
                 ? std::optional(device.matrix_rate[place]->value() * *device.achieved.gemm[place])
                 : std::nullopt;
    };
    const std::optional<double> now = rate(e_.training.dtype);
    const std::optional<double> fp32 = rate(Dtype::kFp32);
    if (size_of(e_.training.dtype) == kSixteenBits && now && fp32) {
      add_fp32("fp32 instead of 16 bits", *fp32 / *now);
      add_fp32("TF32 instead of 16 bits", kTf32Rate);
    }
  }

  // Numbers of twice the size: products at `rate` of their rate now, half the elements of memory
  // and links, and attention written out, which no flash kernel of such numbers exists for.
  void add_fp32(const char* form, double rate) {
    constexpr double kHalf = 0.5;
    const ClusterScale& scale = e_.scale;
    KeySettings settings = {
        {"cluster.scale.matrix_rate", number(rate * scale.matrix_rate)},
        {"cluster.scale.hbm_bandwidth", number(kHalf * scale.hbm_bandwidth)},
        {"cluster.scale.scale_up_bandwidth", number(kHalf * scale.scale_up_bandwidth)},
        {"cluster.scale.scale_out_bandwidth", number(kHalf * scale.scale_out_bandwidth)}};
    for (const auto& [key, value] : attention_settings(AttentionKernel::kUnfused)) {
      settings.emplace_back(key, value);
    }
    add(Cause::kPrecisionNotUsed, form, std::move(settings));
  }

  void add_recomputation() {
    const RecomputeSpec& now = e_.training.recompute;
    const auto add_kind = [&](RecomputeKind kind, const char* form) {
      RecomputeSpec usual;
      usual.kind = kind;
      if (now != usual) {
        add(Cause::kRecomputation, form, recomputation_settings(tree_, kind));
      }
    };
    if (now.kind == RecomputeKind::kNone) {
      add_kind(RecomputeKind::kSelective, "selective recomputation");
    }
    add_kind(RecomputeKind::kFull, "full recomputation");
  }

  void add_imbalance() {
    if (!e_.model.moe) {
      return;
    }
    constexpr SizeRange kViolation{0.05, 3.0};
    KeySettings learned = left_out(tree_, "expert_exchange",
                                   {"groups", "groups_per_token", "zipf_exponent", "counts"});
    learned.emplace_back("expert_exchange.routing", "learned");
    add_sized(Cause::kExpertImbalance, "load of the fullest expert over the mean, less 1",
              {"of the mean", kViolation, [learned](double size) {
                 KeySettings settings = learned;
                 settings.emplace_back("expert_exchange.max_violation", number(size));
                 return settings;
               }});
  }

  void add_offload() {
    if (!e_.training.optimizer.offload) {
      add(Cause::kOffload, "of the optimizer", optimizer_offload_settings(tree_));
    }
    if (!e_.training.offload.parameters) {
      add(Cause::kOffload, "of parameters", {{"training.offload.parameters", "true"}});
    }
    if (!e_.training.offload.activations) {
      add(Cause::kOffload, "of activations",
          {{"training.offload.activations", "{overlap: false}"}});
    }
  }

  void add_clock() {
    constexpr double kLeast = 0.4;  // of what the projection has
    const double clock = p_.clock.value() / kMega;
    add_sized(Cause::kClockOrPower, "a locked clock",
              {"MHz", {clock, kLeast * clock}, [](double size) -> KeySettings {
                 return {{"cluster.gpu_clock", number(size) + " MHz"}};
               }});
    const PowerSpec& power = e_.cluster.device.power;
    const double least = std::max(kLeast * power.limit.value(), 1.05 * power.idle.value());
    if (!e_.locked_clock && least < power.limit.value()) {
      add_sized(Cause::kClockOrPower, "a power limit",
                {"W", {power.limit.value(), least}, [](double size) -> KeySettings {
                   return {{"cluster.power_limit", number(size) + " W"}};
                 }});
    }
  }

  void add_slow_rank() {
    constexpr SizeRange kTimes{1.0, 4.0};
    const ClusterScale scale = e_.scale;
    add_sized(Cause::kSlowRank, "time of the slowest rank's kernels",
              {"times", kTimes, [scale](double size) -> KeySettings {
                 return {{"cluster.scale.matrix_rate", number(scale.matrix_rate / size)},
                         {"cluster.scale.hbm_bandwidth", number(scale.hbm_bandwidth / size)}};
               }});
    found_.back().seen_by = SeenBy::kOneRank;
    // Each step another rank may have the most to do. Sizes of the job tell it from a slow GPU.
    constexpr SizeRange kSpread{0.005, 0.6};
    if (p_.plan.dp > 1 && e_.training.work_spread < kSpread.most) {
      add_sized(Cause::kSlowRank, "deviation of the work of data-parallel ranks",
                {"of the mean",
                 {std::max(e_.training.work_spread, kSpread.none), kSpread.most},
                 [](double size) -> KeySettings {
                   return {{"training.work_spread", number(size)}};
                 }});
    }
  }

  void add_software() {
    for (const std::string& other : software_) {
      add(Cause::kSoftwareVersion, other, software_settings(tree_, other));
    }
  }

  void add_documents() {
    const Documents& documents = e_.training.documents;
    const std::int64_t sequence = e_.training.sequence_length;
    const bool shortened = shortens(documents, sequence);
    if (shortened && e_.software.keeps_documents_apart()) {
      const SizeRange tokens{static_cast<double>(documents.length), static_cast<double>(sequence)};
      add_sized(Cause::kDocumentsOrPadding, "mean length of documents",
                {"tokens", tokens, [](double size) -> KeySettings {
                   return {{"training.documents.length", std::to_string(std::llround(size))}};
                 }});
    }
    // Such a mask costs the same whatever it masks.
    if (!shortened && e_.software.masks_by_tensor && sequence > 1) {
      add(Cause::kDocumentsOrPadding, "a mask as a tensor",
          {{"training.documents", "{length: " + std::to_string(sequence / 2) + "}"}});
    }
  }

  const ConfigNode& tree_;
  const Experiment& e_;
  const Projection& p_;
  const std::vector<std::string>& software_;
  std::vector<CauseChange> found_;
};

}  // namespace

std::vector<CauseChange> changes_of(const DiagnosedExperiment& run) { return Changes(run).all(); }

}  // namespace stepcast
