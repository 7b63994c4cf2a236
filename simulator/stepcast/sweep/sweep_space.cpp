// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_space.hpp"

#include <algorithm>

#include "stepcast/plan/plan_keys.hpp"

namespace stepcast {
namespace {

// "plan.tp" without its section.
std::string_view inner_key(std::string_view key) { return key.substr(key.find('.') + 1); }

}  // namespace

SweepSpace::SweepSpace(Content content) : content_(std::move(content)) {
  strides_.resize(content_.axes.size());
  size_ = 1;
  for (std::size_t i = content_.axes.size(); i-- > 0;) {
    strides_[i] = size_;
    size_ *= content_.axes[i].size();
    if (i == content_.site_axes) {
      plans_a_site_ = size_;
    }
  }
  STEPCAST_CHECK(size_ == plans_a_site_ * std::ssize(content_.sites), "a site is missing");
  for (std::size_t i = content_.site_axes; i < content_.axes.size(); ++i) {
    AxisCopies copies;
    for (const std::string& key : content_.axes[i].keys) {
      if (key.starts_with("plan.")) {
        const PlanKey* member = plan_key(inner_key(key));
        STEPCAST_CHECK(member != nullptr, "no member for " + key);
        copies.plan.push_back(member->copy);
      } else {
        const TrainingKey* member = training_key(inner_key(key));
        STEPCAST_CHECK(member != nullptr, "no member for " + key);
        copies.training.push_back(member->copy);
      }
    }
    copies_.push_back(std::move(copies));
  }
}

SweepRequest SweepSpace::request(std::int64_t index) const {
  SweepRequest result;
  request(index, result);
  return result;
}

void SweepSpace::request(std::int64_t index, SweepRequest& result) const {
  result.site = site_of(index);
  const Experiment& site = content_.sites[result.site];
  result.plan = site.plan;
  result.training = site.training;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const SweepPatch& patch = content_.patches[i][digit(index, content_.site_axes + i)];
    for (const PlanCopy copy : copies_[i].plan) {
      copy(patch.plan, result.plan);
    }
    for (const TrainingCopy copy : copies_[i].training) {
      copy(patch.training, result.training);
    }
  }
}

Experiment SweepSpace::experiment(std::int64_t index) const {
  Experiment result = experiment_of(index);
  SweepRequest wanted = request(index);
  result.plan = std::move(wanted.plan);
  result.training = std::move(wanted.training);
  return result;
}

bool SweepSpace::gpus_vary() const {
  const std::int64_t gpus = content_.sites.front().cluster.gpus();
  return std::ranges::any_of(
      content_.sites, [gpus](const Experiment& site) { return site.cluster.gpus() != gpus; });
}

}  // namespace stepcast
