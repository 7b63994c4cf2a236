from trl import SFTConfig, SFTTrainer
name = "Qwen/Qwen3-0.6B"
model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16, quantization_config=bnb)
bnb = BitsAndBytesConfig(load_in_4bit=True)
args = SFTConfig(output_dir="out", max_length=4 * 1024, packing=True, bf16=True,
                 per_device_train_batch_size=2, fsdp_config={"fsdp_version": 2, "x": None},
                 deepspeed={"zero_optimization": {"stage": 2}}, **more)
peft = LoraConfig(r=32, target_modules=["q_proj", "v_proj"], lora_dropout=0.1)
trainer = SFTTrainer(model=name, args=args, peft_config=peft)
