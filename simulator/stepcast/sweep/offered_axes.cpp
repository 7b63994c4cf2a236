// SPDX-License-Identifier: Apache-2.0
// What a software set offers, as axes of a sweep.
#include <algorithm>
#include <array>
#include <string>

#include "stepcast/layer/exchange_rules.hpp"
#include "stepcast/sweep/sweep_defaults.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kDispatcher = "dispatcher";

// Switches that make no difference to some models.
struct Needs {
  std::string_view key;
  bool (*has)(const ModelSpec& model);
};
bool has_experts(const ModelSpec& model) { return model.moe.has_value(); }
constexpr std::array<Needs, 3> kNeeds = {{
    {kDispatcher, has_experts},
    {"ep_overlap", has_experts},
    {"shared_expert_overlap",
     [](const ModelSpec& model) { return model.moe && model.moe->shared_expert_ffn_hidden > 0; }},
}};

bool makes_difference(std::string_view key, const ModelSpec& model) {
  return std::all_of(kNeeds.begin(), kNeeds.end(),
                     [&](const Needs& needs) { return needs.key != key || needs.has(model); });
}

// Keys of a sweep file that settle a switch.
std::vector<std::string> keys_of(std::string_view switched) {
  const std::string own = "software." + std::string(switched);
  return switched == kDispatcher
             ? std::vector<std::string>{"plan.dispatcher", own, "software.deepep"}
             : std::vector<std::string>{own};
}

// Whether whatever the file says of the exchange belongs to this dispatcher.
bool takes(const Experiment& site, const std::string& dispatcher) {
  const std::span<const std::string_view> names = names_of<Dispatcher>();
  const auto place = std::find(names.begin(), names.end(), dispatcher);
  if (place == names.end()) {
    return false;
  }
  ExchangeSpec exchange = site.software.exchange;
  exchange.dispatcher = static_cast<Dispatcher>(place - names.begin());
  return exchange_problems(exchange, site.model.moe).empty();
}

bool offers(const SoftwareSpec& software, const std::string& key, const std::string& value) {
  return std::any_of(software.offers.begin(), software.offers.end(), [&](const auto& offer) {
    return offer.key == key &&
           std::find(offer.values.begin(), offer.values.end(), value) != offer.values.end();
  });
}

// What every site can run with. The dispatcher that the software has by itself comes first, since
// of plans that are equal the first one is kept.
std::vector<std::string> values_for(const std::vector<Experiment>& sites,
                                    const SoftwareOffer& offer) {
  std::vector<std::string> values;
  for (const std::string& value : offer.values) {
    const bool possible = std::all_of(sites.begin(), sites.end(), [&](const Experiment& site) {
      return makes_difference(offer.key, site.model) && offers(site.software, offer.key, value) &&
             (offer.key != kDispatcher || takes(site, value));
    });
    if (possible) {
      values.push_back(value);
    }
  }
  const std::string_view own = name(sites.front().software.exchange.dispatcher);
  std::stable_partition(values.begin(), values.end(),
                        [own](const std::string& value) { return value == own; });
  return values;
}

WrittenAxis axis_of(const std::string& key, const std::vector<std::string>& values,
                    const ConfigNode& place) {
  WrittenAxis axis;
  axis.keys = {key};
  axis.place = place;
  for (const std::string& value : values) {
    axis.values.push_back({{key, scalar_at(place, value), place.line, place.column}});
  }
  return axis;
}

}  // namespace

std::vector<WrittenAxis> offered_axes(const std::vector<Experiment>& sites, const GivenTexts& given,
                                      Offered offered, const ConfigNode& place) {
  std::vector<WrittenAxis> axes;
  for (const SoftwareOffer& offer : sites.front().software.offers) {
    const bool dispatcher = offer.key == kDispatcher;
    const std::vector<std::string> keys = keys_of(offer.key);
    const bool is_given = std::any_of(keys.begin(), keys.end(),
                                      [&](const std::string& key) { return given.contains(key); });
    if (is_given || dispatcher != (offered == Offered::kDispatcher)) {
      continue;
    }
    const std::vector<std::string> values = values_for(sites, offer);
    if (values.size() > 1) {
      axes.push_back(axis_of(keys.front(), values, place));
    }
  }
  return axes;
}

}  // namespace stepcast
