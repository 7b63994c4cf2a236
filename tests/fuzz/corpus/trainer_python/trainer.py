def main(args):
    model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B")
    model.gradient_checkpointing_enable()
    training = TrainingArguments("out", per_device_train_batch_size=args.batch, bf16=True)
    return Trainer(model=model, args=training)
