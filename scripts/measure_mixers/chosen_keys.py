# SPDX-License-Identifier: Apache-2.0
"""Attention over chosen latent keys and the indexer that chooses them, as functions that PyTorch differentiates.

Forward of attention is FlashMLA's sparse prefill (libflash_mla.so, see README.md); the other kernels are written after
what TileLang's examples/deepseek_v32 and examples/dsa_sparse_finetune describe: one query a program, which walks over
its list of keys. One sequence; latent keys of 512 and 64 dimensions; a list is padded with -1.

    o(t) = softmax(q(t) . k(list)) v(list)               I(t, s) = sum over heads of w(t, h) ReLU(q(t, h) . k(s))
"""
import ctypes
import os

import torch
import triton
import triton.language as tl

LATENT, POSITIONS = 512, 64
WIDTH = LATENT + POSITIONS
LOG2E = 1.4426950408889634


@triton.jit
def output_products(o, gradient, products, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = rows[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(products + rows, tl.sum(tl.load(o + at).to(tl.float32) * tl.load(gradient + at).to(tl.float32), 1))


@triton.jit
def attention_backward(q, kv, gradient, lists, lse, products, dq, dkv, scale, H, CHOSEN, BH: tl.constexpr, BK: tl.constexpr,
                       D: tl.constexpr, R: tl.constexpr):
    query, heads = tl.program_id(0).to(tl.int64), tl.program_id(1) * BH + tl.arange(0, BH)
    d, r, keys = tl.arange(0, D), tl.arange(0, R), tl.arange(0, BK)
    rows = query * H + heads
    q_d = tl.load(q + rows[:, None] * (D + R) + d[None, :])
    q_r = tl.load(q + rows[:, None] * (D + R) + D + r[None, :])
    do = tl.load(gradient + rows[:, None] * D + d[None, :])
    sums = tl.load(lse + rows) * 1.4426950408889634
    product = tl.load(products + rows)
    dq_d = tl.zeros((BH, D), tl.float32)
    dq_r = tl.zeros((BH, R), tl.float32)
    for first in range(0, CHOSEN, BK):
        chosen = tl.load(lists + query * CHOSEN + first + keys)
        valid = chosen >= 0
        at = tl.where(valid, chosen, 0).to(tl.int64)[:, None] * (D + R)
        k_d = tl.load(kv + at + d[None, :])
        k_r = tl.load(kv + at + D + r[None, :])
        scores = tl.dot(q_d, k_d.T) + tl.dot(q_r, k_r.T)
        p = tl.where(valid[None, :], tl.exp2(scores * (scale * 1.4426950408889634) - sums[:, None]), 0.0)
        ds = (p * (tl.dot(do, k_d.T) - product[:, None]) * scale).to(tl.bfloat16)
        dq_d = tl.dot(ds, k_d, dq_d)
        dq_r = tl.dot(ds, k_r, dq_r)
        dk_d = tl.dot(p.to(tl.bfloat16).T, do, tl.dot(ds.T, q_d))
        tl.atomic_add(dkv + at + d[None, :], dk_d, mask=valid[:, None], sem="relaxed")
        tl.atomic_add(dkv + at + D + r[None, :], tl.dot(ds.T, q_r), mask=valid[:, None], sem="relaxed")
    tl.store(dq + rows[:, None] * (D + R) + d[None, :], dq_d.to(tl.bfloat16))
    tl.store(dq + rows[:, None] * (D + R) + D + r[None, :], dq_r.to(tl.bfloat16))


@triton.jit
def teacher(q, kv, lists, lse, target, scale, H, CHOSEN, BH: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
            R: tl.constexpr):
    query, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    d, r, keys = tl.arange(0, D), tl.arange(0, R), block * BK + tl.arange(0, BK)
    chosen = tl.load(lists + query * CHOSEN + keys)
    at = tl.where(chosen >= 0, chosen, 0).to(tl.int64)[:, None] * (D + R)
    k_d = tl.load(kv + at + d[None, :])
    k_r = tl.load(kv + at + D + r[None, :])
    total = tl.zeros((BK,), tl.float32)
    for head in range(0, H, BH):
        rows = query * H + head + tl.arange(0, BH)
        q_d = tl.load(q + rows[:, None] * (D + R) + d[None, :])
        q_r = tl.load(q + rows[:, None] * (D + R) + D + r[None, :])
        sums = tl.load(lse + rows) * 1.4426950408889634
        scores = tl.dot(q_d, k_d.T) + tl.dot(q_r, k_r.T)
        total += tl.sum(tl.exp2(scores * (scale * 1.4426950408889634) - sums[:, None]), 0)
    tl.store(target + query * CHOSEN + keys, tl.where(chosen >= 0, total / H, 0.0))


@triton.jit
def index_scores(q, k, w, scores, S, H: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    first, last = tl.program_id(1) * BM, tl.program_id(0) * BN
    rows, cols, d = first + tl.arange(0, BM), last + tl.arange(0, BN), tl.arange(0, D)
    at = rows[:, None].to(tl.int64) * S + cols[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    if last < first + BM:
        keys = tl.load(k + cols[:, None] * D + d[None, :])
        for head in range(H):
            queries = tl.load(q + (rows[:, None] * H + head) * D + d[None, :])
            weight = tl.load(w + rows * H + head).to(tl.float32)
            total += tl.maximum(tl.dot(queries, keys.T), 0.0) * weight[:, None]
    tl.store(scores + at, tl.where(cols[None, :] <= rows[:, None], total, float("-inf")))


@triton.jit
def index_backward(q, k, w, lists, student, target, dq, dk, dw, CHOSEN, H: tl.constexpr, D: tl.constexpr, BK: tl.constexpr):
    query = tl.program_id(0).to(tl.int64)
    heads, d, keys = tl.arange(0, H), tl.arange(0, D), tl.arange(0, BK)
    queries = tl.load(q + (query * H + heads[:, None]) * D + d[None, :])
    weight = tl.load(w + query * H + heads).to(tl.float32)
    dq_sum = tl.zeros((H, D), tl.float32)
    dw_sum = tl.zeros((H,), tl.float32)
    for first in range(0, CHOSEN, BK):
        chosen = tl.load(lists + query * CHOSEN + first + keys)
        at = tl.where(chosen >= 0, chosen, 0)[:, None] * D
        rows = tl.load(k + at + d[None, :])
        listed = query * CHOSEN + first + keys
        di = tl.load(student + listed) - tl.load(target + listed)
        scores = tl.maximum(tl.dot(rows, queries.T), 0.0)
        ds = tl.where(scores > 0, di[:, None] * weight[None, :], 0.0).to(tl.bfloat16)
        dw_sum += tl.sum(scores * di[:, None], 0)
        dq_sum = tl.dot(ds.T, rows, dq_sum)
        tl.atomic_add(dk + at + d[None, :], tl.dot(ds, queries), mask=(chosen >= 0)[:, None], sem="relaxed")
    tl.store(dq + (query * H + heads[:, None]) * D + d[None, :], dq_sum.to(tl.bfloat16))
    tl.store(dw + query * H + heads, dw_sum.to(tl.bfloat16))


def prefill(q, kv, lists, scale):
    """FlashMLA's forward: the result, and the logarithm of the sum of exponentials."""
    library = ctypes.CDLL(os.environ["FLASH_MLA"])
    queries, heads, _ = q.shape
    o = q.new_empty(queries, heads, LATENT)
    maxima, lse = (torch.empty(queries, heads, device=q.device) for _ in range(2))
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in (q, kv, lists, o, maxima, lse)]
    library.sparse_prefill(queries, kv.shape[0], heads, lists.shape[1], ctypes.c_float(scale), *pointers,
                           ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
    return o, lse


class ChosenAttention(torch.autograd.Function):
    """q [S, H, 576], kv [S, 576], lists [S, chosen] -> [S, H, 512], and the log-sum-exp, which has no gradient."""
    block = {"BH": 32, "BK": 32, "num_warps": 8, "num_stages": 1}

    @staticmethod
    def forward(ctx, q, kv, lists, scale):
        q = q.contiguous()
        o, lse = prefill(q, kv, lists, scale)
        ctx.save_for_backward(q, kv, lists, o, lse)
        ctx.scale = scale
        ctx.mark_non_differentiable(lse)
        return o, lse

    @staticmethod
    def backward(ctx, gradient, _):
        q, kv, lists, o, lse = ctx.saved_tensors
        queries, heads, _ = q.shape
        gradient = gradient.contiguous()
        products = torch.empty_like(lse)
        output_products[(queries * heads // 4,)](o, gradient, products, D=LATENT, ROWS=4)
        dq, dkv = torch.empty_like(q), torch.zeros(kv.shape, device=q.device)
        block = ChosenAttention.block
        attention_backward[(queries, heads // block["BH"])](q, kv, gradient, lists, lse, products, dq, dkv, ctx.scale, heads,
                                                            lists.shape[1], D=LATENT, R=POSITIONS, **block)
        return dq, dkv.to(q.dtype), None, None


class IndexerLoss(torch.autograd.Function):
    """The divergence of the indexer's distribution from attention's, by its gradient alone: the value is 0."""

    @staticmethod
    def forward(ctx, q, k, w, choice, attention):
        ctx.save_for_backward(q, k, w, *choice, *attention[:3])
        ctx.scale = attention[3]
        return torch.zeros((), device=q.device)

    @staticmethod
    def backward(ctx, _):
        q, k, w, lists, values, main_q, main_kv, lse = ctx.saved_tensors
        queries, chosen = lists.shape
        target = torch.empty(queries, chosen, device=q.device)
        teacher[(queries, chosen // 64)](main_q, main_kv, lists, lse, target, ctx.scale, main_q.shape[1], chosen, BH=64, BK=64,
                                         D=LATENT, R=POSITIONS, num_warps=4, num_stages=1)
        student = torch.softmax(values, -1)
        dq, dw, dk = torch.empty_like(q), torch.empty_like(w), torch.zeros(k.shape, device=q.device)
        index_backward[(queries,)](q, k, w, lists, student, target, dq, dk, dw, chosen, H=q.shape[1], D=q.shape[2], BK=64,
                                   num_warps=4, num_stages=1)
        return dq, dk.to(k.dtype), dw, None, None


def choose(q, k, w, chosen):
    """The keys of the largest scores of each query, and their scores. q [S, H, D], k [S, D], w [S, H]."""
    queries = q.shape[0]
    scores = torch.empty(queries, queries, device=q.device)
    with torch.no_grad():
        index_scores[(queries // 128, queries // 64)](q, k, w, scores, queries, H=q.shape[1], D=q.shape[2], BM=64, BN=128,
                                                      num_warps=4, num_stages=3)
        values, lists = torch.topk(scores, chosen, dim=-1)
        return torch.where(values == float("-inf"), -1, lists).int(), values
