# SPDX-License-Identifier: Apache-2.0
"""Which plan trains Llama 3.1 70B fastest on 64 H100, and what memory does it take?

Usage: sweep_plot.py PLOT.png
"""

import sys

import matplotlib.pyplot as plt

import stepcast

plans = stepcast.sweep({
    "model": "llama3.1_70b",
    "cluster": {"gpu": "h100_sxm", "nodes": 8},
    "training": {"sequence_length": 8192, "micro_batch_size": [1, 2], "global_batch_size": 128,
                 "recompute": ["none", "selective", "full"]},
    "plan": {"tp": [1, 2, 4, 8], "pp": [1, 2, 4, 8], "zero": [1, 3]},
})

table = plans.table
front = plans.memory_pareto
best = plans[0]
print(f"{plans.priced} of {plans.space_size} plans run; the best: "
      f"{best['tokens_per_second_per_gpu']:.0f} tokens/s/GPU with tp {best['plan.tp']}, "
      f"pp {best['plan.pp']}, {best['peak_memory_bytes'] / 2**30:.0f} GiB")

figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
points = axes.scatter(table["peak_memory_bytes"] / 2**30, table["tokens_per_second_per_gpu"],
                      c=table["plan.tp"], cmap="viridis", s=18)
axes.step(front["peak_memory_bytes"] / 2**30, front["tokens_per_second_per_gpu"], where="post",
          color="black", linewidth=1, label="Pareto front")
axes.set_xlabel("peak memory of a GPU, GiB")
axes.set_ylabel("tokens/s/GPU")
axes.set_title("Llama 3.1 70B on 64 H100")
axes.legend(loc="lower right")
figure.colorbar(points, label="tensor parallelism")
figure.savefig(sys.argv[1], dpi=120)
