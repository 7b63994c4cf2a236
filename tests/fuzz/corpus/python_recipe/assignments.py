def f():
    a = [1, 2]
    c = Trainer.Config(model_spec=model_registry("70B"), x=(3 + 4) * 2, y=a, compile=CompileConfig(enable=True), z=b and "c")
    c.training.steps = 4
    c.parallelism.context_parallel_degree = 2
    return c
