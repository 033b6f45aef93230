"""Requests of a shop, some of them slow for a known reason: for tests and the benchmark."""
import random

from harness import Profiles, field, spans_request

SECOND, MS = 10**9, 10**6
CLIENT = field(6, 3)


def trace_id(i):
    return bytes([31]) + i.to_bytes(4, "big") + bytes(10) + b"\x01"


def span_id(i, n=0):
    return bytes([32, n]) + i.to_bytes(4, "big") + b"\x00\x01"


def send_shop(server, requests, now):
    """checkout -> inventory; every tenth request computes 60 ms more in `reprice`."""
    rng = random.Random(3)
    checkout, inventory, samples = [], [], []
    p = Profiles("inventory", **{"telemetry.sdk.name": "wherefore", "service.version": "v2", "host.name": "a"})
    work, slow_stack = p.stack("main", "serve", "work"), p.stack("main", "serve", "reprice", "sort")
    for i in range(requests):
        start = now - 1800 * SECOND + i * 100 * MS
        own, cpu = rng.gammavariate(4, 2) * MS, rng.gammavariate(4, 5) * MS
        extra = 60 * MS if i % 10 == 0 else 0
        took = int(cpu + extra + rng.gammavariate(4, 1) * MS)
        own = int(own)
        checkout.append({"trace": trace_id(i), "span": span_id(i), "name": "POST /pay", "start": start, "end": start + own + took + 2 * MS, "attributes": {"cart": "large" if extra else "small"}})
        checkout.append({"trace": trace_id(i), "span": span_id(i, 1), "parent": span_id(i), "name": "reserve", "start": start + own, "end": start + own + took + 2 * MS, "extra": CLIENT})
        inventory.append({"trace": trace_id(i), "span": span_id(i, 2), "parent": span_id(i, 1), "name": "Reserve", "start": start + own + MS, "end": start + own + MS + took})
        link = p.link(trace_id(i), span_id(i, 2))
        for stack, time_ns in ((work, cpu), (slow_stack, extra)):
            n = int(time_ns / (10 * MS) + rng.random())
            if n:
                samples.append((stack, n, link))
    p.profile(samples, now - 1800 * SECOND)
    for service, spans in (("checkout", checkout), ("inventory", inventory)):
        for k in range(0, len(spans), 5000):
            assert server.send(spans_request(service, spans[k:k + 5000]), "/v1/traces").status == 200
    assert server.send(p.encode()).status == 200
    server.flush()
