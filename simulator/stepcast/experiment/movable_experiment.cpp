// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/movable_experiment.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/base/units_text.hpp"

namespace stepcast {
namespace {

bool was_seen(SourceKind kind) {
  return kind == SourceKind::kFitted || kind == SourceKind::kMeasured;
}

// A part that was never measured: what others were measured for is assumed of it.
void assume_stand_in(DeviceSpec& device) {
  if (device.stand_in.empty()) {
    return;
  }
  for (Provenance& entry : device.provenance) {
    if (was_seen(entry.kind) && entry.stated_in != device.name) {
      entry.source =
          std::string(name(entry.kind)) + " on " + device.stand_in + ", never on " + device.name;
      entry.kind = SourceKind::kAssumed;
    }
  }
}

void assume_host(HostSpec& host) {
  for (Provenance& entry : host.provenance) {
    entry.source = "no cluster.host is given; measured on " + host.name;
    entry.kind = SourceKind::kAssumed;
  }
}

// By the experiment.
Provenance stated(std::string key, std::string value) {
  Provenance provenance;
  provenance.key = std::move(key);
  provenance.value = std::move(value);
  provenance.kind = SourceKind::kSpec;
  provenance.source = kOfExperiment;
  return provenance;
}

std::string text_of(const std::variant<double*, Seconds*>& number) {
  const auto* plain = std::get_if<double*>(&number);
  return plain != nullptr ? shortest_text(**plain) : format_quantity(*std::get<Seconds*>(number));
}

}  // namespace

MovableExperiment::MovableExperiment(Experiment experiment) : experiment_(std::move(experiment)) {
  assume_stand_in(experiment_.cluster.device);
  if (experiment_.named.host.empty()) {
    assume_host(experiment_.cluster.host);
  }
  locked_ = experiment_.locked_clock.value_or(Hertz{});
  own_.push_back(stated("cluster.gpu_clock", format_quantity(locked_)));
  numbers_.push_back({&own_.back(), &locked_});
  const std::vector<PlacedNumber> device = placed_numbers(experiment_.cluster);
  numbers_.insert(numbers_.end(), device.begin(), device.end());
  first_of_host_ = numbers_.size();
  const std::vector<PlacedNumber> host = placed_numbers(experiment_.cluster.host);
  numbers_.insert(numbers_.end(), host.begin(), host.end());
  add_software();
  const Hertz* peak = &experiment_.cluster.device.clock.peak;
  peak_clock_ =
      static_cast<std::size_t>(std::ranges::find_if(numbers_,
                                                    [peak](const PlacedNumber& entry) {
                                                      const auto* place =
                                                          std::get_if<Hertz*>(&entry.number);
                                                      return place != nullptr && *place == peak;
                                                    }) -
                               numbers_.begin());
}

void MovableExperiment::add_software() {
  SoftwareSpec& software = experiment_.software;
  const std::vector<HostWorkNumber> base = numbers_of(experiment_.software_base.host);
  for (const HostWorkNumber& number : numbers_of(software.host)) {
    const std::string text = text_of(number.number);
    const bool of_set = std::ranges::any_of(base, [&](const HostWorkNumber& entry) {
      return entry.key == number.key && text_of(entry.number) == text;
    });
    Provenance& own = own_.emplace_back(stated("software.host." + std::string(number.key), text));
    if (of_set) {
      own.kind = SourceKind::kFitted;
      own.source = software.title;
      own.file = "software/" + experiment_.named.software + ".yaml";
    }
    std::visit([this](auto* place) { numbers_.push_back({&own_.back(), place}); }, number.number);
  }
}

}  // namespace stepcast
