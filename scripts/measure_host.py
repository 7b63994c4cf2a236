#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what a host takes to launch a step of PyTorch and prints a file for hardware_profiles/hosts.

Tensors are so small that the device never is the bottleneck. Needs two GPUs for collectives and FSDP2:

    torchrun --nproc-per-node=2 scripts/measure_host.py NAME >hardware_profiles/hosts/NAME.yaml
"""
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed._functional_collectives import all_to_all_single_autograd
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

WIDTH, TOKENS, LAYERS = 64, 64, 8
# The calls that stepcast lists for a Llama layer without compilation, forward and backward; and the operators of the
# framework that a mode sees of its forward, with the views and transposes around them.
CALLS, FORWARD_OPERATORS = 70, 65
SORT_KERNELS = 21
BF16 = torch.bfloat16


class Layer(nn.Module):
    """A Llama layer: seven products, two norms, rotations in fp32."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.gate, self.up, self.down = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
        self.norms = nn.ParameterList([nn.Parameter(torch.ones(WIDTH)) for _ in range(2)])

    @staticmethod
    def rotated(x, cos, sin):
        a, b = x.float().chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)

    def forward(self, x, cos, sin):
        h = F.rms_norm(x, (WIDTH,), self.norms[0].to(x.dtype))
        q, k, v = (w(h).view(1, TOKENS, 1, WIDTH) for w in (self.q, self.k, self.v))
        q, k = self.rotated(q, cos, sin), self.rotated(k, cos, sin)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        h = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(h.transpose(1, 2).reshape(1, TOKENS, WIDTH))
        h = F.rms_norm(x, (WIDTH,), self.norms[1].to(x.dtype))
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])

    def forward(self, x, cos, sin):
        for layer in self.layers:
            x = layer(x, cos, sin)
        return x


class Products(nn.Module):
    """A region of so many products, each with an activation."""

    def __init__(self, count):
        super().__init__()
        self.products = nn.ModuleList([nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(count)])

    def forward(self, x):
        for product in self.products:
            x = F.silu(product(x))
        return x


def median_seconds(call, repeats=25, after=torch.cuda.synchronize):
    times = []
    for i in range(repeats + 5):
        after()
        start = time.perf_counter()
        call()
        if i >= 5:
            times.append(time.perf_counter() - start)
    after()
    return statistics.median(times)


def in_a_loop(call, count=200):
    def calls():
        for _ in range(count):
            call()

    return median_seconds(calls, 5) / count


def passes(forward, parameters):
    """Host seconds of forward and of backward."""
    both = ([], [])
    for i in range(30):
        for parameter in parameters:
            parameter.grad = None
        torch.cuda.synchronize()
        times = [time.perf_counter()]
        result = forward()
        times.append(time.perf_counter())
        gradient = torch.ones_like(result)
        torch.cuda.synchronize()
        times.append(time.perf_counter())
        result.backward(gradient)
        times.append(time.perf_counter())
        if i >= 6:
            both[0].append(times[1] - times[0])
            both[1].append(times[3] - times[2])
    return [statistics.median(own) for own in both]


def layer_passes(wrap):
    """Of one of LAYERS layers that `wrap` has changed; and the seconds of its update."""
    model = wrap(Layers().cuda())
    x = torch.randn(1, TOKENS, WIDTH, device="cuda", dtype=BF16, requires_grad=True)
    angles = torch.randn(1, TOKENS, 1, WIDTH // 2, device="cuda")
    cos, sin = angles.cos().to(BF16), angles.sin().to(BF16)

    def forward():
        return model(x, cos, sin)

    own = list(model.parameters())
    times = passes(forward, own)
    optimizer = torch.optim.AdamW(own, lr=1e-5, fused=True)
    forward().sum().backward()
    times.append(median_seconds(optimizer.step))
    return [t / LAYERS for t in times]


def plain(model):
    return model.to(BF16)


def by_operator(model):
    def save_half():
        seen = [0, 0]

        def policy(context, operator, *args, **kwargs):
            product = operator == torch.ops.aten.mm.default
            seen[context.is_recompute] += product
            saved = product and seen[context.is_recompute] % 2 == 1
            return CheckpointPolicy.MUST_SAVE if saved else CheckpointPolicy.PREFER_RECOMPUTE

        return create_selective_checkpoint_contexts(policy)

    for i, layer in enumerate(model.layers):
        model.layers[i] = checkpoint_wrapper(layer, context_fn=save_half, preserve_rng_state=False)
    return model.to(BF16)


def sharded(model):
    policy = MixedPrecisionPolicy(param_dtype=BF16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy)
    return fully_shard(model, mp_policy=policy)


def eager():
    index = torch.randint(0, 1 << 16, (1 << 16,), device="cuda")
    forward, backward, update = layer_passes(plain)
    watched = sum(layer_passes(by_operator)[:2])
    sort = in_a_loop(lambda: torch.argsort(index, stable=True), 20)
    return {
        "eager_call": (forward + backward) / CALLS,
        "eager_kernel": sort / SORT_KERNELS,
        "dispatch_mode": (watched - 2 * forward - backward) / (2 * FORWARD_OPERATORS),
        "update_call": update,
    }, (forward, backward)


def compiled():
    x = torch.randn(TOKENS, WIDTH, device="cuda", dtype=BF16, requires_grad=True)
    times = []
    for count in (1, 8):
        torch._dynamo.reset()
        regions = nn.Sequential(*[Products(count) for _ in range(LAYERS)]).to("cuda", BF16)
        for region in regions:
            region.compile()
        times.append(sum(passes(lambda: regions(x), list(regions.parameters()))) / LAYERS)
    # A product is two kernels forward and three backward.
    kernel = (times[1] - times[0]) / (7 * 5)
    return {"compiled_region": max(0.0, (times[0] - 5 * kernel) / 2), "compiled_kernel": kernel}


def graph_and_read():
    a = torch.randn(4096, 4096, device="cuda", dtype=BF16)
    few = torch.zeros(8, device="cuda")
    small = a[:64, :64].contiguous()
    torch.mm(small, small)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.mm(small, small)
    idle = []
    for _ in range(40):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.mm(a, a)
        torch.mm(a, a)
        start.record()
        few.tolist()
        end.record()
        torch.cuda.synchronize()
        idle.append(start.elapsed_time(end) * 1e-3)
    return {"graph_replay": in_a_loop(graph.replay), "device_read": statistics.median(idle)}


def between_ranks(forward, backward):
    world = dist.get_world_size()
    part = torch.zeros(1024, device="cuda", dtype=BF16)
    whole = torch.zeros(1024 * world, device="cuda", dtype=BF16)
    x = torch.randn(TOKENS, WIDTH, device="cuda", dtype=BF16, requires_grad=True)
    splits = [TOKENS // world] * world
    index = torch.randperm(TOKENS, device="cuda")

    def exchanges():
        y = x
        for _ in range(LAYERS):
            y = all_to_all_single_autograd(y, splits, splits, dist.group.WORLD).index_select(0, index)
        return y

    def selections():
        y = x
        for _ in range(LAYERS):
            y = y.index_select(0, index)
        return y

    functional = [(a - b) / LAYERS for a, b in zip(passes(exchanges, [x]), passes(selections, [x]))]
    unit_forward, unit_backward, update = layer_passes(sharded)
    return {
        "collective": in_a_loop(lambda: dist.all_gather_into_tensor(whole, part)),
        "functional_forward": functional[0],
        "functional_backward": functional[1],
        "unit_forward": unit_forward - forward,
        "unit_backward": unit_backward - backward,
        "unit_update": update,
    }


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
    times, (forward, backward) = eager()
    times |= compiled() | graph_and_read()
    if dist.get_world_size() > 1:
        times |= between_ranks(forward, backward)
    if dist.get_rank() == 0:
        print(f"name: {sys.argv[1]}\ntitle: {sys.argv[1]}\nframework: PyTorch {torch.__version__}")
        print(f'sources: {{MEASURED: "scripts/measure_host.py on {dist.get_world_size()} GPUs"}}')
        for key, seconds in times.items():
            print(f"{key}: {{value: {max(0.0, seconds) * 1e6:.4g} us, source: MEASURED, kind: measured}}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
