deepspeed --num_gpus 8 --include localhost:0,1,2,3 train.py --model_name_or_path meta-llama/Llama-2-7b-hf \
  --bf16 True --model_max_length 1024 --per_device_train_batch_size 2 \
  --deepspeed '{"zero_optimization": {"stage": 2}}'
