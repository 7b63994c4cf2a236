// SPDX-License-Identifier: Apache-2.0
#include "cli/run_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "cli/option_keys.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/result/training_run.hpp"

namespace stepcast::cli {
namespace {

std::optional<double> positive_number(const std::string& text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, value);
  const bool good = result.ec == std::errc{} && result.ptr == end && is_amount(value);
  return good ? std::optional(value) : std::nullopt;
}

void check_currency(const PriceOptions& options, Diagnostics& diagnostics) {
  const Location where{"--currency " + options.currency, 0, 0};
  if (options.currency.empty()) {
    return;
  }
  if (!is_currency(options.currency)) {
    diagnostics.error(where, "write a sign or a short word without digits, e.g. EUR");
  } else if (options.prices.empty()) {
    diagnostics.error(where, "there is no price; add --price GPU=PRICE, e.g. mi300x=2.50");
  }
}

}  // namespace

void add_tokens_option(CLI::App& command, ExperimentOptions& options) {
  command.add_option_function<std::string>(
      "--tokens",
      [&options](const std::string& value) {
        options.direct.push_back(override_by("--tokens", key_of("--tokens"), value));
      },
      "of a whole training run, 15T: its days, GPU-hours, energy and, with --price, price");
}

void add_price_options(CLI::App& command, PriceOptions& options) {
  command.add_option("--price", options.prices, "of a GPU-hour: mi300x=2.50 (repeatable)")
      ->allow_extra_args(false)
      ->take_all();
  command.add_option("--currency", options.currency, "of prices: EUR; $ unless given");
}

namespace {

std::string remedy_among(const std::string& gpu, const std::vector<std::string>& gpus) {
  if (std::string nearest = did_you_mean(gpu, gpus); !nearest.empty()) {
    return nearest;
  }
  std::string known;
  for (const std::string& one : gpus) {
    known += (known.empty() ? "; give that of " : " or ") + one;
  }
  return known;
}

}  // namespace

std::map<std::string, GpuHourPrice> prices_of(const PriceOptions& options,
                                              const std::vector<std::string>& gpus,
                                              const std::string& nobody) {
  std::map<std::string, GpuHourPrice> prices;
  Diagnostics diagnostics;
  check_currency(options, diagnostics);
  for (const std::string& text : options.prices) {
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string gpu = text.substr(0, equals);
    const std::optional<double> price =
        positive_number(text.substr(std::min(equals + 1, text.size())));
    GpuHourPrice gpu_hour{price.value_or(0.0)};
    gpu_hour.currency = options.currency.empty() ? gpu_hour.currency : options.currency;
    if (!price) {
      diagnostics.error({"--price " + text, 0, 0},
                        "write GPU=PRICE, the price of a GPU-hour above 0, e.g. mi300x=2.50");
    } else if (std::find(gpus.begin(), gpus.end(), gpu) == gpus.end()) {
      diagnostics.error({"--price " + text, 0, 0},
                        nobody + " the GPU '" + gpu + "'" + remedy_among(gpu, gpus));
    } else if (!prices.emplace(gpu, gpu_hour).second) {
      diagnostics.error({"--price " + text, 0, 0}, "the GPU has a price already");
    }
  }
  diagnostics.throw_if_any();
  return prices;
}

}  // namespace stepcast::cli
