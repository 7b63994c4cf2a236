#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times kernels beside linear attention on one GPU and prints a canonical record for each.

    python3 scripts/measure_mixers/kernels.py GPU >records.jsonl

GPU is the name of a part of stepcast, such as h100_sxm. Needs PyTorch and, on PYTHONPATH, flash-linear-attention.
A time is the sum of the kernels of a call as torch.profiler has them, the mean of REPEATS calls; every call works
on more bytes than the cache holds or is preceded by a write of as many.
"""
import json
import sys

import torch
import torch.nn.functional as F
from fla.modules.conv.causal_conv1d import causal_conv1d
from torch.nn.attention import SDPBackend, sdpa_kernel

REPEATS = 5
BF16 = torch.bfloat16
# Rows of the sequence, sequences, channels, width of the filter, with SiLU.
CONVOLUTIONS = [(8192, 2, 8192, 4, True), (8192, 2, 2048, 3, False), (8192, 2, 8192, 4, False), (8192, 2, 2048, 4, True),
                (4096, 4, 4096, 2, True), (4096, 4, 4096, 3, True), (4096, 4, 4096, 3, False), (16384, 1, 4096, 4, True),
                (2048, 4, 8192, 4, True), (4096, 1, 6144, 4, True), (4096, 2, 2048, 2, False), (32768, 1, 1024, 4, True)]
# Sequence, batch, heads, heads of keys, causal: head dimension 256.
ATTENTIONS = [(8192, 2, 16, 2, True), (4096, 2, 16, 2, True), (2048, 4, 16, 2, True), (4096, 1, 16, 16, True),
              (8192, 1, 8, 8, True), (16384, 1, 16, 2, True), (4096, 2, 16, 2, False), (2048, 2, 16, 16, False),
              (1024, 8, 16, 4, True), (8192, 1, 32, 8, True), (4096, 4, 8, 1, True), (4096, 1, 16, 4, False)]
UPDATES = [(4, 4096, 14336), (16, 2048, 6144), (3, 4096, 4096), (2, 32000, 2048)]


def kernels(call, prepare=lambda: None):
    """Microseconds of each kernel of a call, by name, with how often it ran."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    total = {}
    for _ in range(REPEATS):
        prepare()
        torch.cuda.synchronize()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            call()
            torch.cuda.synchronize()
        for event in profile.events():
            if event.device_type == torch.autograd.DeviceType.CUDA:
                times = total.setdefault(event.name[:90], [0, 0.0])
                times[0] += 1
                times[1] += event.device_time
    return {name: (count / REPEATS, time / REPEATS) for name, (count, time) in total.items()}


def emit(gpu, operator, parts, group, notes):
    seconds = sum(time for _, time in parts.values()) * 1e-6
    record = {"gpu": gpu, "operator": {**operator, "launch": "none"}, "measured": {"time_s": float(f"{seconds:.5g}")},
              "group": f"{gpu} {group}", "notes": notes}
    print(json.dumps(record), flush=True)
    longest = sorted(parts.items(), key=lambda part: -part[1][1])
    print(record["operator"], [(name[:60], count, round(time, 1)) for name, (count, time) in longest[:6]], file=sys.stderr)


def flush():
    torch.zeros(256 << 20, dtype=torch.uint8, device="cuda")


def measure_convolutions(gpu):
    for rows, batch, channels, width, silu in CONVOLUTIONS:
        x = torch.randn(batch, rows, channels, device="cuda", dtype=BF16, requires_grad=True)
        weight = torch.randn(channels, width, device="cuda", dtype=BF16, requires_grad=True)
        gradient = torch.randn_like(x)

        def forward():
            return causal_conv1d(x, weight, activation="silu" if silu else None)[0]

        y = forward()
        operator = {"kind": "memory_bound", "op": "activated_convolution" if silu else "short_convolution",
                    "rows": rows * batch, "cols": channels, "taps": width, "implementation": "fused"}
        notes = f"{batch} sequences"
        emit(gpu, {**operator, "pass": "fwd"}, kernels(forward, flush), "short convolution", notes)
        backward = kernels(lambda: torch.autograd.grad(y, (x, weight), gradient, retain_graph=True), flush)
        emit(gpu, {**operator, "pass": "bwd"}, backward, "short convolution", notes)


def measure_attention(gpu):
    head = 256
    for sequence, batch, heads, kv_heads, causal in ATTENTIONS:
        q, k, v = (torch.randn(batch, n, sequence, head, device="cuda", dtype=BF16, requires_grad=True)
                   for n in (heads, kv_heads, kv_heads))
        gradient = torch.randn_like(q)

        def forward():
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=heads > kv_heads)

        o = forward()
        operator = {"kind": "attention", "batch": batch, "seq": sequence, "heads": heads, "kv_heads": kv_heads,
                    "d_qk": head, "d_v": head, "causal": causal, "implementation": "cudnn"}
        emit(gpu, {**operator, "pass": "fwd"}, kernels(forward), "cudnn fwd d256", "")
        backward = kernels(lambda: torch.autograd.grad(o, (q, k, v), gradient, retain_graph=True))
        emit(gpu, {**operator, "pass": "bwd"}, backward, "cudnn bwd d256", "")


def measure_updates(gpu):
    for momentum in (0.0, 0.9):
        for count, rows, cols in UPDATES:
            weights = [torch.randn(rows, cols, device="cuda") for _ in range(count)]
            for weight in weights:
                weight.grad = torch.randn_like(weight)
            optimizer = torch.optim.SGD(weights, lr=1e-3, momentum=momentum, weight_decay=0.1, fused=True)
            operator = {"kind": "memory_bound", "op": "sgd_momentum" if momentum else "sgd", "rows": 1,
                        "cols": count * rows * cols, "dtype": "fp32", "implementation": "fused", "pass": "fwd"}
            emit(gpu, operator, kernels(optimizer.step, flush), "optimizer steps", f"{count} of {rows} x {cols}")
            del weights, optimizer


def main():
    gpu = sys.argv[1]
    measure_convolutions(gpu)
    measure_attention(gpu)
    measure_updates(gpu)


if __name__ == "__main__":
    main()
