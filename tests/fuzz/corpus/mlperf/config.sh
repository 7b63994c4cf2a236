source $(dirname ${BASH_SOURCE[0]})/config_common_8b.sh
export MINIBS=$((16 / 2))
export TENSOR_MODEL_PARALLEL=2 FP8=True
export DGXNNODES=2
