// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/update_rule.hpp"

namespace stepcast {
namespace {

constexpr Bytes kFullPrecision{4};

// Moments of 2 bytes each stand for a step in 16 bits throughout.
bool steps_in_sixteen_bits(const SoftwareSpec& software) {
  return software.states.optimizer <= 2.0 * kSixteenBits;
}

class RuleOf {
 public:
  RuleOf(const OptimizerSpec& optimizer, const ParallelPlan& plan, const SoftwareSpec& software)
      : optimizer_(optimizer), software_(software), shards_(shards_are_master(plan, software)) {}

  UpdateRule operator()(const AdamWSpec& spec) const {
    UpdateRule rule = bare();
    rule.kernel = MemoryBoundKind::kOptimizer;
    if (!spec.first && !spec.second && !optimizer_.master) {
      // Of the set's bytes four are the master copy, whatever they are called there.
      const Bytes states = max(software_.states.optimizer - kFullPrecision, Bytes{});
      rule.master = shards_ ? Bytes{} : software_.states.optimizer - states;
      rule.states = states;
      rule.element = steps_in_sixteen_bits(software_) ? kSixteenBits : kFullPrecision;
      return rule;
    }
    rule.states = bytes(spec.first) + bytes(spec.second);
    rule.element = (1.0 / 7.0) * moved(rule);
    return rule;
  }
  UpdateRule operator()(const SgdSpec& spec) const {
    UpdateRule rule = bare();
    rule.states = spec.momentum.kept ? bytes(spec.momentum.format) : Bytes{};
    rule.kernel = spec.momentum.kept ? MemoryBoundKind::kSgdMomentum : MemoryBoundKind::kSgd;
    rule.element = (1.0 / (spec.momentum.kept ? 5.0 : 3.0)) * moved(rule);
    return rule;
  }
  UpdateRule operator()(const AdafactorSpec& spec) const {
    UpdateRule rule = bare();
    const Bytes momentum = spec.momentum.kept ? bytes(spec.momentum.format) : Bytes{};
    rule.kernel =
        spec.momentum.kept ? MemoryBoundKind::kAdafactorMomentum : MemoryBoundKind::kAdafactor;
    rule.states = kFullPrecision + momentum;
    const Bytes all = 3.0 * software_.states.gradient + 2.0 * (rule.parameter + momentum);
    rule.element = (1.0 / (spec.momentum.kept ? 7.0 : 5.0)) * all;
    return rule;
  }
  UpdateRule operator()(const MuonSpec& spec) const { return (*this)(spec.adamw); }

  [[nodiscard]] UpdateRule matrix(const MuonSpec& spec) const {
    UpdateRule rule = bare();
    rule.states = bytes(spec.momentum);
    rule.element = rule.states;
    return rule;
  }

 private:
  // The parameter alone.
  [[nodiscard]] UpdateRule bare() const {
    UpdateRule rule;
    const MasterCopy usual =
        steps_in_sixteen_bits(software_) ? MasterCopy::kNone : MasterCopy::kFp32;
    const MasterCopy master = optimizer_.master.value_or(usual);
    if (shards_) {
      rule.parameter = kFullPrecision;
      return rule;
    }
    rule.master = size_of(master);
    rule.parameter = rule.master;
    if (master == MasterCopy::kNone) {
      rule.parameter = software_.states.parameter;
    } else if (master == MasterCopy::kRemainder) {
      rule.parameter = software_.states.parameter + rule.master;
    }
    return rule;
  }
  [[nodiscard]] Bytes bytes(const std::optional<StateFormat>& format) const {
    const StateFormat usual =
        steps_in_sixteen_bits(software_) ? StateFormat::kBf16 : StateFormat::kFp32;
    return size_of(format.value_or(usual));
  }
  // The gradient is read, the parameter and its states are read and written.
  [[nodiscard]] Bytes moved(const UpdateRule& rule) const {
    return software_.states.gradient + 2.0 * (rule.parameter + rule.states);
  }

  const OptimizerSpec& optimizer_;
  const SoftwareSpec& software_;
  bool shards_;
};

}  // namespace

bool shards_are_master(const ParallelPlan& plan, const SoftwareSpec& software) {
  return software.fsdp_parameters_fp32 && (plan.zero == 3 || software.autocast != Autocast::kNone);
}

UpdateRule elementwise_rule(const OptimizerSpec& optimizer, const ParallelPlan& plan,
                            const SoftwareSpec& software) {
  return std::visit(RuleOf(optimizer, plan, software), optimizer.rule);
}

std::optional<UpdateRule> matrix_rule(const OptimizerSpec& optimizer, const ParallelPlan& plan,
                                      const SoftwareSpec& software) {
  const auto* muon = std::get_if<MuonSpec>(&optimizer.rule);
  return muon == nullptr ? std::nullopt
                         : std::optional(RuleOf(optimizer, plan, software).matrix(*muon));
}

std::optional<OptimizerOffload> offload_of(const OptimizerSpec& optimizer,
                                           const SoftwareSpec& software) {
  // The set's switch speaks of what is updated parameter by parameter.
  const bool by_set = software.memory.optimizer_on_host && optimizer.kind() != OptimizerKind::kMuon;
  return !optimizer.offload && by_set ? OptimizerOffload{} : optimizer.offload;
}

double share_on_device(const OptimizerSpec& optimizer, const SoftwareSpec& software) {
  const std::optional<OptimizerOffload> offload = offload_of(optimizer, software);
  return offload ? 1.0 - offload->share : 1.0;
}

bool gradients_leave_at_once(const OptimizerSpec& optimizer, const ParallelPlan& plan,
                             const SoftwareSpec& software) {
  const std::optional<OptimizerOffload> offload = offload_of(optimizer, software);
  return offload && offload->states == OffloadedStates::kAll &&
         (plan.zero >= 2 || plan.replicas() == 1);
}

SharesOnDevice shares_on_device(const OptimizerSpec& optimizer, const ParallelPlan& plan,
                                const SoftwareSpec& software) {
  SharesOnDevice shares;
  if (const std::optional<OptimizerOffload> offload = offload_of(optimizer, software)) {
    const double rest = 1.0 - offload->share;
    shares.moments = rest;
    shares.master = offload->states == OffloadedStates::kMoments ? 1.0 : rest;
    shares.gradients = gradients_leave_at_once(optimizer, plan, software) ? rest : 1.0;
  }
  if (optimizer.paged) {
    shares.moments = 0.0;
  }
  return shares;
}

}  // namespace stepcast
