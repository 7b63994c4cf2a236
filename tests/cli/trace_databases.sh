#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `stepcast trace-compare` and `validate` with databases: a projected step as Nsight Systems exports one is the step of the
# JSON trace, in whatever order its rows lie. Usage: trace_databases.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
failed=0
complain() { echo "FAILED: $*"; failed=1; }
exits() { # expected code, arguments; output to $made/out
  local code=0 expected=$1
  shift
  "$stepcast" "$@" >"$made/out" 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || complain "$* exits $code, not $expected: $(head -n 3 "$made/out")"
}
says() { grep -q -- "$1" "$made/out" || complain "no '$1' in: $(head -n 5 "$made/out")"; }

cat >"$made/experiment.yaml" <<'EOY'
model: llama3.1_8b
cluster: {gpu: h200_sxm, nodes: 1, gpus_per_node: 2}
training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 2}
plan: {zero: 3}
EOY
"$stepcast" trace "$made/experiment.yaml" --out "$made/step.json"

# The trace as an export without blobs and with marks by emit_nvtx; its ranges in their order, turned round, and by their end;
# and once with a step that is called something else.
python3 - "$made" <<'PYTHON'
import json, sqlite3, sys

folder = sys.argv[1]
events = [event for event in json.load(open(folder + "/step.json"))["traceEvents"] if event["ph"] == "X"]
PROCESS = 5 << 24
TABLES = {
    "StringIds": "id INTEGER PRIMARY KEY, value TEXT",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start, end, deviceId, streamId, correlationId, globalPid, demangledName",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start, end, deviceId, streamId, correlationId, globalPid, copyKind",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start, end, globalTid, correlationId, nameId",
    "NVTX_EVENTS": "start, end, globalTid, text",
    "TARGET_INFO_GPU": "id, cuDevice, name, totalMemory, smCount",
}


def rows_of(step):
    rows = {table: [] for table in TABLES}
    rows["TARGET_INFO_GPU"].append((0, 0, "NVIDIA H200", 151397597184, 132))
    ids = {}

    def text(name):
        if name not in ids:
            ids[name] = len(ids) + 1
            rows["StringIds"].append((ids[name], name))
        return ids[name]

    for event in events:
        start = round(event["ts"] * 1000)
        end = start + round(event["dur"] * 1000)
        thread, name, args = PROCESS + event["tid"], event["name"], event["args"]
        on_device = (start, end, 0, args.get("stream"), args.get("correlation"), PROCESS)
        if event["cat"] == "kernel":
            rows["CUPTI_ACTIVITY_KIND_KERNEL"].append((*on_device, text(name)))
        elif event["cat"] == "gpu_memcpy":
            rows["CUPTI_ACTIVITY_KIND_MEMCPY"].append((*on_device, 1))
        elif event["cat"] == "cuda_runtime":
            rows["CUPTI_ACTIVITY_KIND_RUNTIME"].append((start, end, thread, args["correlation"], text(name)))
        elif event["cat"] == "cpu_op":
            shapes = ", sizes = " + json.dumps(args["Input Dims"]) if "Input Dims" in args else ""
            rows["NVTX_EVENTS"].append((start, end, thread, f"{name}, seq = 1, op_id = 3{shapes}"))
        elif event["cat"] == "user_annotation":
            rows["NVTX_EVENTS"].append((start, end, thread, step))
    return rows


def write(name, rows):
    database = sqlite3.connect(f"{folder}/{name}.sqlite")
    for table, columns in TABLES.items():
        names = [f'"{column}"' if column == "end" else column for column in columns.split(", ")]
        database.execute(f"CREATE TABLE {table}({', '.join(names)})")
        database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})", rows[table])
    database.commit()
    database.close()


rows = rows_of("ProfilerStep#0")
write("written", rows)
write("turned", {table: list(reversed(lines)) if lines else lines for table, lines in rows.items()})
write("by_end", {**rows, "NVTX_EVENTS": sorted(rows["NVTX_EVENTS"], key=lambda row: row[1])})
write("loop", rows_of("iteration 1"))
write("unmarked", rows_of("forward"))
PYTHON

# What a report says of the trace but for its name: the step, its calls, its time, that of each category, and products and
# attention by shape. Without blobs collectives have no sizes, so that what slows them down is not known.
told_of() { # report in JSON
  python3 - "$1" <<'PYTHON'
import json, sys

report = json.load(open(sys.argv[1]))
del report["trace"]["file"], report["trace"]["gpu"], report["trace"]["rank"], report["trace"]["world_size"]
print(report["trace"], report["state"], f"{report['step']['measured_s']:.9f}")
for row in report["categories"]:
    print(row["category"], f"{row['measured_s']:.9f}")
for row in report["operators"]:
    if row["category"] in ("gemm", "attention_forward", "attention_backward"):
        print(row["category"], row["shape"], row["traced"], row["traced_calls"], f"{row['measured_s']:.9f}")
PYTHON
}
compare=(trace-compare "$made/experiment.yaml")
exits 0 "${compare[@]}" "$made/step.json" --format json
told_of "$made/out" >"$made/expected"
grep -q "'step': 'ProfilerStep#0'.*'calls': 9[0-9][0-9], 'calls_with_operator': 9.* after_pause 0.41" "$made/expected" ||
  complain "the JSON trace is another step: $(head -n 1 "$made/expected")"
grep -q '^gemm 28672 x 4096 x 4096 ' "$made/expected" || complain "the JSON trace has no product by its shape"
for order in written turned by_end; do
  exits 0 "${compare[@]}" "$made/$order.sqlite" --format json
  told_of "$made/out" >"$made/told"
  diff "$made/expected" "$made/told" || complain "the database with its rows $order is another step than the JSON trace"
done
# A loop that counts from 1 begins after a pause, whatever its steps are called.
exits 0 "${compare[@]}" "$made/loop.sqlite" --format json
told_of "$made/out" >"$made/told"
sed "s/ProfilerStep#0/iteration 1/" "$made/expected" | diff - "$made/told" || complain "'iteration 1' is another step"

# Without marks all is one step to trace-compare, which says so, and none to validate.
exits 0 "${compare[@]}" "$made/unmarked.sqlite"
says "no range is called a step with its number ('step 7'), so that all that was recorded is"
exits 0 validate --experiment "$made/experiment.yaml" "$made/written.sqlite"
says 'category_s:gemm'
exits 2 validate --experiment "$made/experiment.yaml" "$made/unmarked.sqlite"
says "no range is called a step with its number"

# A path may begin with two slashes; what cannot be read says why.
exits 0 "${compare[@]}" "/$made/written.sqlite"
head -c 100000 "$made/written.sqlite" >"$made/torn.sqlite"
exits 2 "${compare[@]}" "$made/torn.sqlite"
says 'the database is damaged or cut off ('
exit $failed
