"""The stage `why` of bench/run: where the time of traces went, slow against typical requests, and explain.

Data of its own: two large traces (tests/ui_data.py) and 10,000 requests (tests/shop_data.py), whose answers are known.
"""
import json
import time

import measure
import shop_data
import ui_data
from harness import Profiles, Server

SECOND = 10**9


def send_trace(server, now, trace, spans):
    """A trace of `batch` with a sample in every tenth of its spans."""
    ui_data.LARGE_TRACE = trace
    ui_data.send_large_trace(server, now, spans)
    p = Profiles("batch", **{"telemetry.sdk.name": "wherefore"})
    stack = p.stack("main", "step")
    p.profile([(stack, 1, p.link(trace, (i + 1).to_bytes(8, "big"))) for i in range(0, spans, 10)], now - 120 * SECOND)
    assert server.send(p.encode()).status == 200


def p50(bench, client, what, limit, path, check, **parameters):
    """Adds the median time of an answer, the first left out; `check` gets every answer."""
    times = []
    for _ in range(4 if bench.o.smoke else 11):
        body, ms = client.get(path, **parameters)
        check(json.loads(body))
        times.append(ms)
    bench.add(f"{what}, p50", measure.percentile(times[1:], 0.5), limit, "ms")


def traces(bench, server, client, now):
    for number, (spans, limit) in enumerate(((1_000, 50), (2_000 if bench.o.smoke else 100_000, 1000))):
        trace = bytes([21 + number]) * 16
        send_trace(server, now, trace, spans)
        server.flush()

        def adds_up(answer, spans=spans):
            bench.expect("spans accounted for", len(answer["span"]), spans)
            sums = map(sum, zip(*(part["value"] for part in answer["parts"].values())))
            bench.expect("parts against durations", list(sums), answer["duration"])

        def without_gaps(answer):
            bench.expect("critical path", sum(int(s["duration_ns"]) for s in answer["segments"]), int(answer["duration_ns"]))
        where = f"a trace of {spans:,} spans"
        p50(bench, client, f"accounting of {where}", limit, f"traces/{trace.hex()}/accounting", adds_up)
        p50(bench, client, f"critical path of {where}", limit, f"traces/{trace.hex()}/critical-path", without_gaps)


def requests(bench, server, client, now):
    count = 1_000 if bench.o.smoke else 10_000
    shop_data.send_shop(server, count, now)

    def planted(answer):
        bench.expect("what slow requests do", (answer["causes"][0]["part"], answer["causes"][0]["function"]), ("on_cpu", "sort"))
        bench.expect("parts of the gap", sum(row["change_ns"] for row in answer["parts"]), answer["gap_ns"])

    def named(answer):
        bench.expect("where", next(line["text"] for line in answer["lines"] if line["label"] == "Where").split(":")[0], "inventory/Reserve")
    p50(bench, client, f"slow against typical, {count:,} requests", 500, "slow", planted, service="inventory", name="Reserve", since="1h")
    p50(bench, client, "explain, a trace", 1000, "explain", named, trace=shop_data.trace_id(0).hex())
    p50(bench, client, "explain, an endpoint", 1000, "explain", named, service="checkout", name="POST /pay", since="1h")


def measure_all(bench):
    with Server(bench.folder / "data-why") as server:
        client = measure.Client(server.http)
        now = time.time_ns()
        traces(bench, server, client, now)
        requests(bench, server, client, now)
        client.connection.close()
