#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of fuzz_nsys and fuzz_rocpd: small exports of Nsight Systems and databases of rocprofv3, each with
some of its tables.

Usage: tests/fuzz/database_seeds.py [FOLDER], by default corpus beside this file."""
import pathlib
import sqlite3
import struct
import sys

PROCESS = 5 << 24
THREAD = PROCESS + 6
DOMAIN, SCHEMA_OF_CALL, SCHEMA_OF_COMMUNICATOR = 1, 20, 18
INTEGER, UNSIGNED, SIZE = 5, 18, 22


def payload(schema, values):
    return struct.pack("<IIIIQQ", DOMAIN, 0, schema, 0, len(values), 32 + len(values)) + values


TEXTS = [
    (1, "nvjet_tst_128x256"),
    (2, "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
    (3, "cudaLaunchKernel_v7000"),
    (4, "aten::mm, seq = 3, op_id = 7, sizes = [[8, 4], [4, 2]]"),
    (5, "ncclAllGather"),
    (6, "ncclCommInitRank"),
    (7, "flash_bwd_kernel"),
    (8, "cudaGraphLaunch_v10000"),
]
CALL = "start,'end',deviceId,streamId,correlationId,globalPid"
TABLES = {
    "StringIds": ("id INTEGER PRIMARY KEY,value", TEXTS),
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        CALL + ",demangledName,shortName,gridX,gridY,gridZ,blockX,blockY,blockZ",
        [
            (1000, 3000, 0, 7, 1, PROCESS, 1, 1, 8, 8, 1, 384, 1, 1),
            (2000, 5000, 0, 13, 2, PROCESS, 2, 2, 24, 1, 1, 544, 1, 1),
            (6000, 9000, 0, 7, 3, PROCESS, 7, 7, 8, 8, 1, 128, 1, 1),
            (6000, 9000, 1, 7, 3, PROCESS, None, 7, 8, 8, 1, 128, 1, 1),
        ],
    ),
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        "start,'end',globalTid,correlationId,nameId",
        [(100, 200, THREAD, 1, 3), (400, 450, THREAD, 2, 3), (700, 800, THREAD, 3, 8)],
    ),
    "NVTX_EVENTS": (
        "start,'end',globalTid,text,textId,binaryData",
        [
            (0, 600, THREAD, "step 3", None, None),
            (650, 900, THREAD, "step 4", None, None),
            (50, 250, THREAD, None, 4, None),
            (10, 40, THREAD, None, 6, payload(SCHEMA_OF_COMMUNICATOR, struct.pack("<Qiiii", 9, 2, 0, 0, 0))),
            (380, 500, THREAD, None, 5, payload(SCHEMA_OF_CALL, struct.pack("<QQ", 9, 4096))),
        ],
    ),
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": (
        "domainId,schemaId,type,name,offset",
        [
            (DOMAIN, SCHEMA_OF_CALL, UNSIGNED, "NCCL communicator ID", None),
            (DOMAIN, SCHEMA_OF_CALL, SIZE, "Message size [bytes]", 8),
            (DOMAIN, SCHEMA_OF_COMMUNICATOR, UNSIGNED, "NCCL communicator ID", None),
            (DOMAIN, SCHEMA_OF_COMMUNICATOR, INTEGER, "No. of ranks", 8),
        ],
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (CALL + ",copyKind", [(1, 2, 0, 7, 4, PROCESS, 8)]),
    "CUPTI_ACTIVITY_KIND_MEMSET": (CALL, [(3, 2, 0, 7, 5, PROCESS)]),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (CALL, [(10, 20, 0, 7, 6, PROCESS)]),
    "TARGET_INFO_GPU": (
        "id,cuDevice,name,totalMemory,smCount",
        [(3, 0, "NVIDIA H100 80GB HBM3", 85029158912, 132), (4, 1, "NVIDIA A100", 1, 108)],
    ),
    "TARGET_INFO_CUDA_DEVICE": ("gpuId,cudaId,pid", [(4, 0, 5)]),
}
ENDING = "_0a"
ROCPD = {
    "rocpd_string": ("id INTEGER PRIMARY KEY,string", [(1, "hipLaunchKernel"), (2, "MEMORY_COPY_HOST_TO_DEVICE")]),
    "rocpd_info_agent": (
        "id INTEGER PRIMARY KEY,type,name,product_name,extdata",
        [(1, "CPU", "EPYC", "EPYC", "{}"), (2, "GPU", "gfx942", "AMD Instinct MI300X", '{"cu_count": 304}')],
    ),
    "rocpd_info_kernel_symbol": (
        "id INTEGER PRIMARY KEY,kernel_name,display_name",
        [(1, "Cijk_Alik", "Cijk_Alik_Bljk_BBS_BH_MT256x256x64"), (2, "fmha_bwd", "fmha_bwd")],
    ),
    "rocpd_event": (
        "id INTEGER PRIMARY KEY,stack_id,extdata",
        [
            (1, 11, "{}"),
            (2, 12, "{}"),
            (3, 11, "{}"),
            (4, 13, '{"message": "aten::mm, seq = 3, sizes = [[8, 4], [4, 2]]"}'),
            (5, 14, '{"message": "step 7"}'),
        ],
    ),
    "rocpd_region": (
        "id INTEGER PRIMARY KEY,tid,start,'end',name_id,event_id",
        [(1, 6, 100, 200, 1, 3), (2, 6, 50, 250, 1, 4), (3, 6, 0, 600, 1, 5)],
    ),
    "rocpd_kernel_dispatch": (
        "id INTEGER PRIMARY KEY,agent_id,kernel_id,queue_id,start,'end',event_id",
        [(1, 2, 1, 1, 1000, 3000, 1), (2, 2, 2, 2, 2000, 5000, 2)],
    ),
    "rocpd_memory_copy": (
        "id INTEGER PRIMARY KEY,start,'end',name_id,dst_agent_id,src_agent_id,queue_id,event_id",
        [(1, 500, 700, 2, 2, 1, 1, 2)],
    ),
}
ROCPD_SEEDS = {
    "kernels": ["rocpd_kernel_dispatch", "rocpd_info_kernel_symbol"],
    "operators": ["rocpd_kernel_dispatch", "rocpd_info_kernel_symbol", "rocpd_event", "rocpd_region", "rocpd_string"],
    "copies": ["rocpd_kernel_dispatch", "rocpd_memory_copy", "rocpd_info_agent", "rocpd_string"],
}
KERNEL, TEXT = "CUPTI_ACTIVITY_KIND_KERNEL", "StringIds"
SEEDS = {
    "kernels": [TEXT, KERNEL],
    "operators": [TEXT, KERNEL, "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"],
    "collectives": [TEXT, KERNEL, "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "NVTX_PAYLOAD_SCHEMA_ENTRIES"],
    "copies": [TEXT] + [name for name in TABLES if name.endswith(("MEMCPY", "MEMSET", "GRAPH_TRACE"))],
    "devices": [TEXT, KERNEL, "TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE"],
    "no_texts": [KERNEL],
    "another_program": [],
}


def write(file, tables, contents, ending=""):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    database = sqlite3.connect(file)
    database.execute("PRAGMA page_size = 512")
    if not tables:
        database.execute("CREATE TABLE albums(id, title)")
    for name in tables:
        columns, rows = contents[name]
        database.execute(f"CREATE TABLE {name}{ending}({columns})")
        for row in rows:
            database.execute(f"INSERT INTO {name}{ending} VALUES ({','.join('?' * len(row))})", row)
    database.commit()
    database.close()


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "corpus"
    for seed, tables in SEEDS.items():
        write(folder / "nsys" / f"{seed}.sqlite", tables, TABLES)
    for seed, tables in ROCPD_SEEDS.items():
        write(folder / "rocpd" / f"{seed}.db", tables, ROCPD, ENDING)
