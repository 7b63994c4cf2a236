// SPDX-License-Identifier: Apache-2.0
// Calls of the public header about operators by themselves, and about backends that price them.
#include <map>
#include <set>

#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/config/told_name.hpp"
#include "stepcast/experiment/backend_choice.hpp"
#include "stepcast/report/priced_lines.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast {
namespace {

LinePricing line_pricing(const OperatorPricing& pricing, const DataRoot& data) {
  CostModel model = cost_model_of(pricing.backends, data);
  DeviceSpec device = load_gpu(pricing.gpu, data, {"gpu", 0, 0});
  std::optional<Hertz> clock;
  if (pricing.gpu_clock_mhz) {
    clock = locked_clock(*pricing.gpu_clock_mhz, device, {"gpu_clock_mhz", 0, 0});
  }
  if (!pricing.power_limit.empty()) {
    device.power.limit = power_limit(pricing.power_limit, device.power, {"power_limit", 0, 0});
  }
  const HostSpec host = load_named_host(host_name_of(device), data, {"gpu", 0, 0});
  return {std::move(model), fabric_of(device, host), clock,
          pricing.terms ? Detail::kTerms : Detail::kDuration};
}

}  // namespace

std::string Simulator::cost(const TextSource& lines, const OperatorPricing& pricing,
                            ReportFormat format) const {
  return answer_of([&] {
    const LinePricing how = line_pricing(pricing, {data_});
    const std::string text = text_of(lines, kLargestLines);
    const std::string name = told_name(lines.file);
    return format == ReportFormat::kCsv ? priced_csv(text, name, how)
                                        : priced_lines(text, name, how);
  });
}

std::vector<std::string> Simulator::measured_backends(const std::vector<std::string>& files) const {
  return answer_of([&] {
    std::map<BackendRole, std::vector<std::string>> by_role;
    for (const std::string& file : files) {
      std::set<BackendRole> roles;
      for (const MeasuredOperator& row : measured_in(file, {data_}).rows) {
        roles.insert(role_of(row.work.op.work));
      }
      if (roles.empty()) {
        throw ConfigError({"measured " + file, 0, 0}, "the file has no rows of operators");
      }
      for (const BackendRole role : roles) {
        by_role[role].push_back(file);
      }
    }
    return each_of(by_role, [](const auto& role) {
      return std::string(name(role.first)) + "=measured:" + text_list(role.second, ",");
    });
  });
}

}  // namespace stepcast
