// SPDX-License-Identifier: Apache-2.0
// The constants of a host's profile: hardware_profiles/hosts.
#pragma once

#include <array>

#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/hardware/constant.hpp"

namespace stepcast::host_tables {

inline constexpr Constant<HostSpec> constant(std::string_view key, std::string_view meaning,
                                             Seconds HostSpec::*member,
                                             Presence presence = Presence::kRequired) {
  return Constant<HostSpec>{key, "us", limits::kMicroseconds, kByHand, meaning, member, presence}
      .with(&ClusterScale::host_time);
}

inline constexpr Constant<HostSpec> share(std::string_view key, std::string_view meaning,
                                          double HostSpec::*member) {
  return {key, "", limits::kShare, kByHand, meaning, member, kIfGiven};
}

inline constexpr Constant<HostSpec> rate(std::string_view key, std::string_view meaning,
                                         std::optional<BytesPerSecond> HostSpec::*member) {
  return {key, "GB/s", limits::kGigabytesPerSecond, kByHand, meaning, member, kIfGiven};
}

inline constexpr std::array kConstants = {
    constant("eager_call",
             "an operator of a model called one by one, in either direction, with what Python and "
             "autograd do around it",
             &HostSpec::eager_call),
    constant("eager_kernel", "each further kernel that such a call launches",
             &HostSpec::eager_kernel),
    constant(
        "dispatch_mode",
        "more of an operator of the framework, views among them, that a mode written in Python "
        "sees, as recomputation by operator has one in forward and in what it recomputes",
        &HostSpec::dispatch_mode),
    constant("compiled_region",
             "entering compiled code in either direction: guards, and autograd's part of it",
             &HostSpec::compiled_region),
    constant("compiled_kernel", "each kernel that compiled code launches",
             &HostSpec::compiled_kernel),
    constant("graph_replay", "launching a captured graph", &HostSpec::graph_replay),
    constant("collective", "a collective called by a module", &HostSpec::collective),
    constant("message",
             "a send or a receive of calls one after the other; as a collective if left out",
             &HostSpec::message, kIfGiven),
    constant("functional_forward",
             "a collective called as an operator of the framework, whose result is a tensor that "
             "waits for it",
             &HostSpec::functional_forward),
    constant("functional_backward", "the same by autograd, in backward",
             &HostSpec::functional_backward),
    constant("device_read",
             "from the end of what the host reads from the device until what it launches next runs",
             &HostSpec::device_read),
    constant("unit_forward",
             "hooks of FSDP2 around one unit in forward: gather, copies, resharding",
             &HostSpec::unit_forward),
    constant("unit_backward", "the same in backward, with the reduction of gradients",
             &HostSpec::unit_backward),
    constant(
        "unit_entry",
        "more in backward for each entry of the table by which gradients are concatenated: one "
        "of 512 elements; 0 if left out",
        &HostSpec::unit_entry, kIfGiven),
    constant("unit_update", "the optimizer step and the zeroing of gradients of one unit of FSDP2",
             &HostSpec::unit_update),
    share("jitter",
          "standard deviation of what a host takes between two exchanges that it waits for, of its "
          "mean; 0 if left out",
          &HostSpec::jitter),
    constant("update_call", "the same of one layer whose parameters are whole tensors",
             &HostSpec::update_call),
    rate("device_link",
         "between a device and pinned memory of the host, in each direction; without it no "
         "optimizer can be on the host",
         &HostSpec::device_link),
    rate(
        "core_memory",
        "bytes of gradients, parameters and moments that one core by itself moves while it updates "
        "parameters; likewise",
        &HostSpec::core_memory),
    rate("socket_memory", "the most that all cores of one socket move together; likewise",
         &HostSpec::socket_memory),
    Constant<HostSpec>{"socket_devices", "", limits::kCounted, kByHand,
                       "devices whose cores share a socket; 1 if left out",
                       &HostSpec::socket_devices, kIfGiven},
    Constant<HostSpec>{"update_cores", "", limits::kCounted, kByHand,
                       "cores that update the parameters of one device unless an experiment says "
                       "how many; 1 if left out",
                       &HostSpec::update_cores, kIfGiven},
    rate("norm_memory", "bytes of gradients that their norm reads, which one core takes; likewise",
         &HostSpec::norm_memory),
};

inline constexpr auto kParts = parts_of(kConstants);

}  // namespace stepcast::host_tables
