#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains small models on one GPU and prints a canonical record with the time and the memory of a step.

    python3 scripts/measure_mixers/steps.py experiment.json... >records.jsonl

Each file is an experiment as a record has it (keys model, training, plan and software), of one GPU, in bf16 with fused
AdamW, nothing compiled. `stepcast project` on the same file is the prediction to write down before. Layers: attention
with shared keys, latent attention, latent attention to chosen keys, short convolutions, gated and Kimi delta rules; heads and
widths may be lists of one a layer, and a layer may lack its mixer or its feed-forward.
"""
import json
import os
import statistics
import sys

import torch
import torch.nn.functional as F
from chosen_keys import ChosenAttention, IndexerLoss, choose
from fla.layers import KimiDeltaAttention
from fla.modules import FusedRMSNormGated
from fla.modules.conv.causal_conv1d import causal_conv1d
from fla.ops.common import chunk_o
from fla.ops.gated_delta_rule import chunk_gated_delta_rule
from torch import nn

BF16 = torch.bfloat16
STEPS, ROUNDS = 10, 5
# Triton 3.4 to 3.7.0 compiles gradients of the gated rule wrongly for Hopper (fla-org/flash-linear-attention issue 640), so
# that the library refuses it. Here only its time matters.
chunk_o.TRITON_ABOVE_3_7_1 = True


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight)


def of_layer(value, layer):
    """A count of all layers, or the layer's own of a list that begins again behind its end."""
    return value[layer % len(value)] if isinstance(value, list) else value


def rotated(x, tables):
    """Positions on all of the last dimension; x [..., S, heads, D] or [..., S, D]."""
    cos, sin = tables
    if x.dim() == 4:
        cos, sin = cos[:, None], sin[:, None]
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class Attention(nn.Module):
    """Shared keys, norms of heads, a part of each head turned by positions, perhaps a gate."""

    def __init__(self, hidden, spec):
        super().__init__()
        self.spec, d = spec, spec["head_dim"]
        self.rope = spec.get("rope_head_dim", d)
        self.q, self.gate = linear(hidden, spec["heads"] * d), linear(hidden, spec["heads"] * d) if spec.get("output_gate") else None
        self.k, self.v = (linear(hidden, spec["kv_heads"] * d) for _ in range(2))
        self.q_norm, self.k_norm = Norm(d), Norm(d)
        self.o = linear(spec["heads"] * d, hidden)

    def turned(self, x, tables):
        if self.rope == x.shape[-1]:
            return rotated(x, tables)
        return torch.cat([rotated(x[..., :self.rope], tables), x[..., self.rope:]], -1)

    def forward(self, x, tables):
        batch, rows, _ = x.shape
        q, k, v = (w(x).view(batch, rows, -1, self.spec["head_dim"]) for w in (self.q, self.k, self.v))
        q, k = self.turned(self.q_norm(q), tables), self.turned(self.k_norm(k), tables)
        o = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), is_causal=True, enable_gqa=True)
        o = o.transpose(1, 2).reshape(batch, rows, -1)
        return self.o(o if self.gate is None else o * torch.sigmoid(self.gate(x)))


class LatentProducts(nn.Module):
    """Queries, latents and the dimensions of keys that positions turn."""

    def __init__(self, hidden, spec):
        super().__init__()
        self.spec, self.heads = spec, spec["heads"]
        self.nope, self.rope, self.rank = spec["qk_nope_head_dim"], spec["qk_rope_head_dim"], spec["kv_lora_rank"]
        q_rank = spec["q_lora_rank"]
        self.q_down, self.q_norm = (linear(hidden, q_rank), Norm(q_rank)) if q_rank else (None, None)
        self.q_up = linear(q_rank or hidden, self.heads * (self.nope + self.rope))
        self.kv_down, self.kv_norm = linear(hidden, self.rank + self.rope), Norm(self.rank)
        self.kv_up = linear(self.rank, self.heads * (self.nope + spec["v_head_dim"]))
        self.o = linear(self.heads * spec["v_head_dim"], hidden)

    def project(self, x):
        latent = self.q_norm(self.q_down(x)) if self.q_down else x
        q = self.q_up(latent).view(*x.shape[:-1], self.heads, self.nope + self.rope)
        kv = self.kv_down(x)
        return latent, q, self.kv_norm(kv[..., :self.rank]), kv[..., self.rank:]


class LatentAttention(LatentProducts):
    def forward(self, x, tables):
        _, q, latents, k_rope = self.project(x)
        kv = self.kv_up(latents).view(*x.shape[:-1], self.heads, -1)
        if tables is not None:
            q = torch.cat([q[..., :self.nope], rotated(q[..., self.nope:], tables)], -1)
            k_rope = rotated(k_rope, tables)
        k = torch.cat([kv[..., :self.nope], k_rope[..., None, :].expand(*q.shape[:-1], self.rope)], -1)
        o = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, kv[..., self.nope:])), is_causal=True)
        return self.o(o.transpose(1, 2).reshape(*x.shape[:-1], -1))


class ChosenLatents(LatentProducts):
    """Latent attention to the keys that an indexer chooses; one sequence."""

    def __init__(self, hidden, spec):
        super().__init__(hidden, spec)
        self.index = spec["indexer"]
        heads, d = self.index["heads"], self.index["head_dim"]
        self.index_q = linear(spec["q_lora_rank"] or hidden, heads * d)
        self.index_k, self.index_norm, self.index_w = linear(hidden, d), nn.LayerNorm(d), linear(hidden, heads)
        self.losses = []

    def indexed(self, x, latent, tables):
        """What the model's loss does not reach: queries, keys, weights."""
        x, latent = x.detach(), latent.detach()
        q = self.index_q(latent).view(x.shape[0], self.index["heads"], -1)
        k = self.index_norm(self.index_k(x))
        q = torch.cat([rotated(q[None, ..., :self.rope], tables)[0], q[..., self.rope:]], -1)
        k = torch.cat([rotated(k[:, :self.rope], tables), k[:, self.rope:]], -1)
        return q, k, self.index_w(x)

    def forward(self, x, tables):
        x = x[0]
        latent, q, latents, k_rope = self.project(x)
        up = self.kv_up.weight.view(self.heads, -1, self.rank)
        absorbed = torch.bmm(q[..., :self.nope].transpose(0, 1), up[:, :self.nope]).transpose(0, 1)
        q = torch.cat([absorbed, rotated(q[None, ..., self.nope:], tables)[0]], -1)
        kv = torch.cat([latents, rotated(k_rope, tables)], -1)
        index = self.indexed(x, latent, tables)
        lists, values = choose(*(t.detach() for t in index), self.index["chosen"])
        scale = (self.nope + self.rope)**-0.5
        o, lse = ChosenAttention.apply(q, kv, lists, scale)
        if self.training:
            self.losses.append(IndexerLoss.apply(*index, (lists, values), (q.detach(), kv.detach(), lse, scale)))
        o = torch.bmm(o.transpose(0, 1), up[:, self.nope:].transpose(1, 2)).transpose(0, 1)
        return self.o(o.reshape(x.shape[0], -1))[None]


class Convolution(nn.Module):
    """LFM2's: a gate, the filter, another gate."""

    def __init__(self, hidden, spec):
        super().__init__()
        self.into, self.out = linear(hidden, 3 * hidden), linear(hidden, hidden)
        self.filter = nn.Parameter(torch.randn(hidden, spec["width"]) / spec["width"])

    def forward(self, x, _):
        b, c, x = self.into(x).chunk(3, -1)
        return self.out(c * causal_conv1d((b * x).contiguous(), self.filter)[0])


class GatedDelta(nn.Module):
    """Products at once, as Qwen3-Next and Megatron-LM have it."""

    def __init__(self, hidden, spec):
        super().__init__()
        self.spec = spec
        self.qk, self.v = spec["qk_heads"] * spec["qk_head_dim"], spec["heads"] * spec["v_head_dim"]
        self.into = linear(hidden, 2 * self.qk + 2 * self.v + 2 * spec["heads"])
        self.filter = nn.Parameter(torch.randn(2 * self.qk + self.v, spec["convolution_width"]) / 4)
        self.rate, self.shift = (nn.Parameter(torch.zeros(spec["heads"])) for _ in range(2))
        self.norm, self.out = FusedRMSNormGated(spec["v_head_dim"]), linear(self.v, hidden)

    def forward(self, x, _):
        spec = self.spec
        mixed, gate, step, decay = self.into(x).split([2 * self.qk + self.v, self.v, spec["heads"], spec["heads"]], -1)
        q, k, v = causal_conv1d(mixed.contiguous(), self.filter, activation="silu")[0].split([self.qk, self.qk, self.v], -1)
        q, k = (t.reshape(*x.shape[:-1], spec["qk_heads"], -1) for t in (q, k))
        v = v.reshape(*x.shape[:-1], spec["heads"], -1)
        g = -self.rate.float().exp() * F.softplus(decay.float() + self.shift.float())
        o, _ = chunk_gated_delta_rule(q, k, v, g, step.sigmoid(), use_qk_l2norm_in_kernel=True)
        return self.out(self.norm(o, gate.reshape(v.shape)).reshape(*x.shape[:-1], -1))


class KimiDelta(nn.Module):
    def __init__(self, hidden, spec):
        super().__init__()
        assert spec["qk_head_dim"] == spec["v_head_dim"] == spec["gate_rank"]
        self.layer = KimiDeltaAttention(hidden, head_dim=spec["qk_head_dim"], num_heads=spec["heads"],
                                        conv_size=spec["convolution_width"])

    def forward(self, x, _):
        return self.layer(x)[0]


def mixer(model, kind, layer):
    hidden = model["hidden_size"]
    attention = {key: of_layer(value, layer) for key, value in model["attention"].items()}
    if kind == "none":
        return None
    if kind == "convolution":
        return Convolution(hidden, model["convolution"])
    if kind == "linear_attention":
        kimi = model["linear_attention"].get("rule") == "kimi_delta"
        return (KimiDelta if kimi else GatedDelta)(hidden, model["linear_attention"])
    if attention.get("kind") != "mla":
        return Attention(hidden, attention)
    return (ChosenLatents if "indexer" in attention else LatentAttention)(hidden, attention)


class Layer(nn.Module):
    def __init__(self, model, kind, layer):
        super().__init__()
        hidden, ffn = model["hidden_size"], of_layer(model["mlp"]["ffn_hidden"], layer)
        self.mixer = mixer(model, kind, layer)
        self.mixer_norm = Norm(hidden) if self.mixer else None
        self.ffn_norm = Norm(hidden) if ffn else None
        if ffn:
            self.gate, self.up, self.down = linear(hidden, ffn), linear(hidden, ffn), linear(ffn, hidden)

    def forward(self, x, tables):
        if self.mixer:
            x = x + self.mixer(self.mixer_norm(x), tables)
        if not self.ffn_norm:
            return x
        h = self.ffn_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Model(nn.Module):
    def __init__(self, model, rows):
        super().__init__()
        hidden = model["hidden_size"]
        kinds = model.get("mixers", ["attention"])
        self.embedding = nn.Embedding(model["vocabulary"], hidden)
        self.layers = nn.ModuleList([Layer(model, kinds[i % len(kinds)], i) for i in range(model["layers"])])
        self.norm, self.head = Norm(hidden), linear(hidden, model["vocabulary"])
        attention = model["attention"]
        d = attention.get("qk_rope_head_dim") or attention.get("rope_head_dim") or attention["head_dim"]
        angles = torch.outer(torch.arange(rows), 10000.0**(-torch.arange(0, d, 2) / d)).repeat(1, 2)
        self.tables = None if model.get("positions") == "none" else tuple(t.to("cuda", BF16) for t in (angles.cos(), angles.sin()))

    def loss(self, tokens, targets):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, self.tables)
        logits = self.head(self.norm(x)).float()
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        own = [term for layer in self.layers for term in getattr(layer.mixer, "losses", [])]
        for layer in self.layers:
            getattr(layer.mixer, "losses", []).clear()
        return sum(own, loss)


def profiled(step):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
        torch.cuda.synchronize()
    total = {}
    for event in profile.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            times = total.setdefault(event.name[:110], [0, 0.0])
            times[0] += 1
            times[1] += event.device_time
    return dict(sorted(total.items(), key=lambda part: -part[1][1]))


def measure(experiment):
    torch.manual_seed(0)
    training = experiment["training"]
    rows, batch = training["sequence_length"], training["micro_batch_size"]
    model = Model(experiment["model"], rows).to("cuda", BF16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    tokens, targets = (torch.randint(experiment["model"]["vocabulary"], (batch, rows), device="cuda") for _ in range(2))

    def step():
        model.loss(tokens, targets).backward()
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(4):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(ROUNDS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(STEPS):
            step()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / STEPS * 1e-3)
    peak = torch.cuda.max_memory_allocated()
    print(json.dumps({"kernels": profiled(step)}), file=sys.stderr)
    return {"experiment": experiment,
            "measured": {"step_time_s": float(f"{statistics.median(times):.4g}"), "peak_memory_bytes": float(peak), "fits": True},
            "notes": f"{sum(p.numel() for p in model.parameters()):,} parameters; median of {ROUNDS} times {STEPS} steps, "
                     f"{min(times) * 1e3:.1f} to {max(times) * 1e3:.1f} ms"}


def main():
    for path in sys.argv[1:]:
        with open(path) as file:
            experiment = json.load(file)
        print(json.dumps({"id": os.path.basename(path).removesuffix(".json"), **measure(experiment)}), flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
