def llama3_70b_pretrain_64gpu_h100_bf16_config():
    """x"""
    cfg = llama3_70b_pretrain_config()
    cfg.mixed_precision = _perf_precision("fp8_cs")
    cfg.model.tensor_model_parallel_size = 4
    cfg.model.recompute_modules = ["core_attn", "mlp"]
    cfg.comm_overlap = C(
        tp_comm_overlap=True,
    )
    cfg.train.global_batch_size = 128
