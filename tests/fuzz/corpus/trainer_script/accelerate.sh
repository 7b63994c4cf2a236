#!/bin/bash
#SBATCH --nodes=2
export CUDA_VISIBLE_DEVICES=0,1,2,3
MODEL=${MODEL:-Qwen/Qwen3-8B}
ARGS=( --bf16 True --max_length 2048 --per_device_train_batch_size 2 )
accelerate launch --use_fsdp --fsdp_version 2 --num_machines 2 --num_processes 8 \
  train.py --model_name_or_path $MODEL "${ARGS[@]}" --use_peft True --lora_r 8
