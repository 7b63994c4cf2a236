FORCE_TORCHRUN=1 trl sft --model_name_or_path Qwen/Qwen3-0.6B --output_dir out --packing
