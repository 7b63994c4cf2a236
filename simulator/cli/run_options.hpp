// SPDX-License-Identifier: Apache-2.0
// Options of a training run: how many tokens it takes, and what a GPU costs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/common_options.hpp"
#include "stepcast/result/projection.hpp"

namespace stepcast::cli {

struct PriceOptions {
  std::vector<std::string> prices;  // mi300x=2.50
  std::string currency;             // empty: that of GpuHourPrice
};

// --tokens, as the key training.tokens.
void add_tokens_option(CLI::App& command, ExperimentOptions& options);
// --price and --currency.
void add_price_options(CLI::App& command, PriceOptions& options);

// GPU -> price of an hour. Throws ConfigError with every price that is none, or of a GPU that is
// none of `gpus`, of which messages say that `nobody` has it: "no column has".
std::map<std::string, GpuHourPrice> prices_of(const PriceOptions& options,
                                              const std::vector<std::string>& gpus,
                                              const std::string& nobody);

}  // namespace stepcast::cli
