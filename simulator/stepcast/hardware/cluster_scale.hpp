// SPDX-License-Identifier: Apache-2.0
// A cluster whose parts are some share faster or slower than the one that was measured: what
// `cluster.scale` of an experiment says, and what sensitivities are taken with.
//
// kScaleFactors says what each factor is, and which constants follow it stands beside each of them
// (constant.hpp). What kernels and libraries reach is a share of these rates and scales with them.
// The constants by which a library picks a protocol are those of its source and stay, and so do the
// tables of a measured backend: they hold times, not rates.
#pragma once

#include <array>
#include <string_view>

namespace stepcast {

struct ClusterSpec;

// Factors, above 0.
struct ClusterScale {
  double matrix_rate = 1.0;
  double hbm_bandwidth = 1.0;
  double scale_up_bandwidth = 1.0;
  double scale_out_bandwidth = 1.0;
  double latency = 1.0;
  double host_time = 1.0;

  bool operator==(const ClusterScale&) const = default;
};

struct ScaleFactor {
  std::string_view name;
  double ClusterScale::*factor;
  std::string_view meaning;
  bool of_time = false;  // more of it is longer and not faster
};

inline constexpr std::array kScaleFactors = {
    ScaleFactor{"matrix_rate", &ClusterScale::matrix_rate,
                "products a clock cycle of every format; the energy of a FLOP stays, so that a "
                "part at its power limit gains less than its units do"},
    ScaleFactor{"hbm_bandwidth", &ClusterScale::hbm_bandwidth,
                "peak and achieved rate of HBM; its latency stays"},
    ScaleFactor{"scale_up_bandwidth", &ClusterScale::scale_up_bandwidth,
                "rate of a link of the scale-up fabric"},
    ScaleFactor{"scale_out_bandwidth", &ClusterScale::scale_out_bandwidth, "rate of a NIC"},
    ScaleFactor{"latency", &ClusterScale::latency,
                "from kernel to kernel in a stream or a graph; base and hop of collectives and "
                "messages on links and NICs. 1.01 is one per cent longer",
                true},
    ScaleFactor{"host_time", &ClusterScale::host_time,
                "each call of the host, whether its profile or the software states it; 1.5 where "
                "processes are not bound to the socket of their GPU",
                true},
};

ClusterSpec scaled(ClusterSpec cluster, const ClusterScale& scale);

}  // namespace stepcast
