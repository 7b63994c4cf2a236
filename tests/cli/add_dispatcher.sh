#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Adds a dispatcher by steps 1 to 3 of simulator/stepcast/dispatchers/README.md in a copy of the source tree: a row, a
# file with its line in a list of sources, and a section for each family of GPUs. Builds the program and uses it.
# Usage: add_dispatcher.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/run_checks.sh"
source "$here/scratch_tree.sh"

# 1. The row.
sed -i 's/^  ROW(kMinimalAsyncEp, .*)$/&                           \\\n  ROW(kMailbox, mailbox, kKernels)/' \
  "$copy/simulator/stepcast/hardware/dispatcher.hpp"

# 2. The file.
sed -i 's#^  stepcast/dispatchers/hybridep.cpp#&\n  stepcast/dispatchers/mailbox.cpp#' "$copy/simulator/CMakeLists.txt"
cat >"$copy/simulator/stepcast/dispatchers/mailbox.cpp" <<'FILE'
// SPDX-License-Identifier: Apache-2.0
// A dispatcher that leaves one row for each (token, expert) in a mailbox of its peer.
//
//   t = start_up + T K rows over links / rate
#include "stepcast/dispatchers/dispatcher_table.hpp"
#include "stepcast/dispatchers/exchange_kernel.hpp"

namespace stepcast {
namespace {

std::vector<ExchangeBuffer> mailboxes(const LayerExchange& exchange) {
  return {both_ways("mailboxes", exchange.rows, exchange.shape)};
}

OpCost mailbox_price(const ExpertExchange& op, const FabricContext& context,
                     const CollectiveModel& /*collectives*/) {
  const ClusterSpec& cluster = context.cluster;
  const std::int64_t units = units_of(op, constants_of(op, context).units, cluster.device);
  return kernel_price(op, expert_traffic(op, cluster.domain_size()), context, units);
}

}  // namespace

constinit const DispatcherModel dispatchers::mailbox = {
    .equation = "start_up + T K rows over links / rate",
    .assumptions = "no deduplication; mailboxes hold the worst case",
    .source = "a test of the recipe",
    .receives = {.worst_case = true, .usual = ReceiveBuffer::kWorstCase},
    .takes_num_sms = true,
    .units = HeldUnits::kProfile,
    .buffers = mailboxes,
    .price = mailbox_price,
};

}  // namespace stepcast
FILE

# 3. The section.
for family in "$copy"/hardware_profiles/exchange/*.yaml; do
  cat >>"$family" <<'SECTION'
mailbox:
  units: {value: 8, assumed: "a test of the recipe"}
  dispatch:
    start_up: {value: 10 us, assumed: "a test of the recipe"}
    row_rate: {value: 30 GB/s, assumed: "a test of the recipe"}
    link_share: {value: 0.9, assumed: "a test of the recipe"}
    network_share: {value: 0.9, assumed: "a test of the recipe"}
  combine:
    start_up: {value: 10 us, assumed: "a test of the recipe"}
    row_rate: {value: 30 GB/s, assumed: "a test of the recipe"}
    link_share: {value: 0.9, assumed: "a test of the recipe"}
    network_share: {value: 0.9, assumed: "a test of the recipe"}
SECTION
done

# Nothing else was touched.
changed=$({ diff -rq "$root/simulator" "$copy/simulator" || true; } | sed 's/.*[ /]\([a-zA-Z_]*\.[a-z]*\).*/\1/' | sort | tr '\n' ' ')
[ "$changed" = 'CMakeLists.txt dispatcher.hpp mailbox.cpp ' ] || complain "the recipe touched $changed"

build_copy
stepcast=$copy/build/bin/stepcast

exits 0 "${own[@]}" list dispatchers
says '^mailbox'
exits 0 "${own[@]}" describe mailbox
says 'T K rows over links'
moe=(--model deepseek_v2_lite --gpu h200_sxm --nodes 1 --ep 8 --gbs 64 --seq 4096)
exits 0 "${own[@]}" project "${moe[@]}" --set plan.dispatcher=mailbox --format json
says '"dispatcher": *"mailbox"'
exits 2 "${own[@]}" project "${moe[@]}" --set plan.dispatcher=mailbox --set expert_exchange.dispatch_dtype=fp8
says 'the dispatcher mailbox sends 16-bit rows'
exits 2 "${own[@]}" project "${moe[@]}" --set plan.dispatcher=alltoall --set expert_exchange.num_sms=8
says 'hybridep and mailbox have'
exit $failed
