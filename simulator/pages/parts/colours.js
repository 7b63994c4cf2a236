// SPDX-License-Identifier: Apache-2.0
// One colour a meaning, the same on every page: each of these is a variable of page.css, and no two meanings share one.

// What the time of a step goes to.
const timeColours = {
  compute_s: "var(--computation)", tp_communication_s: "var(--tp)", ep_communication_s: "var(--ep)", cp_communication_s: "var(--cp)",
  dp_communication_s: "var(--dp)", pp_communication_s: "var(--pp)", pipeline_bubble_s: "var(--bubble)", optimizer_s: "var(--optimizer)",
  host_s: "var(--host)",
};

// What lies in the memory of a GPU.
const memoryColours = {
  parameters_bytes: "var(--parameters)", gradients_bytes: "var(--gradients)", optimizer_bytes: "var(--states)",
  activations_bytes: "var(--activations)", buffers_bytes: "var(--buffers)", outside_bytes: "var(--outside)",
};

// Passes of a pipeline, as a drawing point by point needs them. Computation is blue in all its parts.
const passColours = {
  forward: "--forward", backward: "--backward", "input gradient": "--input-gradient", "weight gradient": "--weight-gradient",
  "forward and backward": "--paired", optimizer: "--optimizer", parameters: "--dp",
};

// What bounds a step; what waits for others has the colour that it has among the times.
const limitColours = {
  "matrix and vector units": "var(--units)", HBM: "var(--hbm)", caches: "var(--caches)", "memory inside the units": "var(--scratch)",
  exponentials: "var(--exponentials)", "launches and latency": "var(--latency)", interconnect: "var(--interconnect)",
  "scale-out network": "var(--scale-out)", "scale-up fabric": "var(--scale-up)",
  "computation and communication sharing the GPU": "var(--sharing)", "pipeline bubble": "var(--bubble)", host: "var(--host)",
};

// Kinds of operators.
const categoryColours = { GEMM: "var(--gemm)", "grouped GEMM": "var(--grouped-gemm)", attention: "var(--attention)" };

// How a constant came about.
const provenanceColours = {
  measured: "var(--known-measured)", fitted: "var(--known-fitted)", derived: "var(--known-derived)",
  specified: "var(--known-specified)", assumed: "var(--known-assumed)",
};

// What has no meaning of its own but to be told from its neighbours: GPUs, values of a key, kinds that nothing above names.
const seriesColour = (i) => `var(--s${(i % 8) + 1})`;
