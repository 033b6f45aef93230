"""The stage `hours` of bench/run: what sums by hour cost on the load, and the flame graph of one service over 30 days.

Two data directories of its own. In the first, whole hours of the load; they are summed up in a run of their own, so that its CPU time
can be told from that of ingest. In the second one service for 30 days: each hour has as many different stacks as an hour of the load, in
one profile, so that there are as many rows of hours as 156 M samples would make.
"""
import json
import time

import measure
from harness import Server
from load_tool import tool

HOUR = 3600


def rows_of(server):
    """Of hours, and their bytes on disk."""
    days = [day for day in server.ask("storage")["days"] if day["kind"] == "hours"]
    return sum(int(d["rows"]) for d in days), sum(int(d["bytes"]) for d in days)


def roll(bench, data, rest=0.0):
    """Lets a server sum up everything; (rows, bytes, CPU seconds above those at rest)."""
    server = Server(data, "--hours-wait", "1s")
    began = time.monotonic()
    with server:
        pid = server.process.pid
        before, rows, still = measure.cpu_seconds(pid), -1, 0
        while still < 3:  # the upkeep thread does two seconds of it at a time
            time.sleep(1)
            now, _ = rows_of(server)
            still, rows = (still + 1 if now == rows and now > 0 else 0), now
        bench.settle(pid)
        cpu = measure.cpu_seconds(pid) - before - rest * (time.monotonic() - began)
        rows, size = rows_of(server)
    return rows, size, cpu


def cost(bench):
    o = bench.o
    hours = max(1, round(o.hours))
    data = bench.folder / "hours"
    with Server(data, "--hours-wait", "3650d") as server:
        bench.server, kept = server, bench.server
        sent = bench.send(0.05 if o.smoke else hours, start=bench.start)
        bench.server = kept
        server.flush()
        bench.settle(server.process.pid)
        time.sleep(1)
        before, at = measure.cpu_seconds(server.process.pid), time.monotonic()
        time.sleep(1 if o.smoke else 10)
        rest = (measure.cpu_seconds(server.process.pid) - before) / (time.monotonic() - at)
    rows, size, cpu = roll(bench, data, rest)
    bench.add("hours, bytes a sample", size / sent["samples"], 0.8, "bytes/sample", note=f"{rows:,} rows for {sent['samples']:,} samples")
    bench.add("hours, CPU on the load", cpu / (hours * HOUR) * 100, 0.5, "% of a core", note=f"{cpu / (sent['samples'] / 1e6):.2f} CPU s per million samples")


def month(bench):
    o = bench.o
    days = 3 if o.smoke else 30
    stacks = o.stacks * 7 // 10
    data = bench.folder / "month"
    start = bench.start - days * 24 * HOUR
    with Server(data, "--hours-wait", "3650d") as server:
        sent = send_month(bench, server, days * 24, start, stacks)
        server.flush()
    rows, size, _ = roll(bench, data)
    with Server(data, "--hours-wait", "3650d") as server:
        client = measure.Client(server.http)
        where = {"query": "month-0", "type": "samples", "from": start, "to": start + days * 24 * HOUR}
        answer = json.loads(client.get("top", **where)[0])
        bench.expect("samples of 30 days", int(answer["total"]), sent["total"])
        bench.expect("tier of 30 days", (answer["tier"], answer["tier_hours"]), ("hours", days * 24))
        times = [bench.flame(client, sent["total"], **where) for _ in range(3 if o.smoke else 21)]
        bench.add(f"flame graph, one service, 30 days of hours, p95 ({rows:,} rows)", measure.percentile(times[1:], 0.95), 500, "ms",
                  note=f"p50 {measure.percentile(times[1:], 0.5):.0f} ms, the first {times[0]:.0f} ms; {size / 1e6:.0f} MB of hours")


def send_month(bench, server, steps, start, stacks):
    o = bench.o
    return tool(o.build, "bench_load", "--port", server.otlp_http.rsplit(":", 1)[1], "--services", 1, "--instances", 1, "--functions", o.functions,
                "--stacks", o.stacks, "--seed", o.seed, "--samples", stacks, "--prefix", "month", "--steps", steps, "--step-seconds", HOUR,
                "--start-ns", start * 10**9, "--connections", 4)


def measure_all(bench):
    cost(bench)
    month(bench)
