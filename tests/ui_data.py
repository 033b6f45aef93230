"""Data for the page's tests and screenshots: one shop with two versions and their traces, always the same except for
"now".

Three services over half an hour, a deploy in the middle that makes json::parse more expensive, traces whose spans have
samples, and names that try to break a page.
"""
import random
import time

from harness import Profiles, field, fixed64, packed, spans_request

HOSTILE = ["<script>window.__hacked=1</script>", "\u202eesrever\u202c שלום", "x" * 10_000, "<img src=x onerror=window.__hacked=1>"]
STACKS = {
    "checkout": {
        ("main", "Server::run", "handle_pay(Request const&)", "json::parse(Value&, std::string_view)", "json::parse_object"): 30,
        ("main", "Server::run", "handle_pay(Request const&)", "Db::query", "recv"): 18,
        ("main", "Server::run", "handle_pay(Request const&)", "std::vector<std::pair<int, json::Value>>::emplace_back(int&&, json::Value&&)", "malloc"): 9,
        ("main", "Server::run", "handle_cart(Request const&)", "Cart::load", "json::parse(Value&, std::string_view)", "json::parse_object"): 14,
        ("main", "Server::run", "handle_cart(Request const&)", "Cart::price"): 11,
        ("main", "Server::run", "epoll_wait"): 6,
    },
    "search": {("main", "serve", "Index::lookup", "Postings::next"): 40, ("main", "serve", "rank", "score"): 25},
    "gateway": {("main", "proxy", "SSL_read"): 12, ("main", "proxy", "SSL_write"): 8},
}
TRACES = 12
# Where the functions' source is, as a build elsewhere named it; the files themselves are in tests/ui_source.
SOURCE = {
    "json::parse_object": ("/build/shop/json.cc", 14), "json::parse(Value&, std::string_view)": ("/build/shop/json.cc", 25),
    "handle_pay(Request const&)": ("/build/shop/server.cc", 7), "handle_cart(Request const&)": ("/build/shop/server.cc", 12),
    "Cart::price": ("/build/shop/cart.cc", 40),
}
REPOSITORY = "https://repository.example/{service}/blob/{version}/{path}#L{line}"


def serve_options(root):
    """The server's options for this data."""
    return ["--source-root", str(root / "tests/ui_source"), "--repository-template", REPOSITORY]


def with_source(p):
    for name, (path, line) in SOURCE.items():
        if name in p.functions:
            p.file(name, path, line)
    return p


def trace_id(i):
    return bytes([7, i]) + bytes(13) + b"\x01"


def span_id(i, n):
    return bytes([i + 1, n + 1]) + bytes(5) + b"\x01"


def send_profiles(server, now, minutes=30):
    rng = random.Random(5)
    for service, stacks in STACKS.items():
        for minute in range(minutes):
            version = "v2" if minute >= minutes // 2 else "v1"
            p = Profiles(service, **{"service.version": version, "host.name": f"h{minute % 2}"})
            grown = 2 if version == "v2" and service == "checkout" else 1
            samples = [(p.stack(*names), max(1, round(rng.gauss(50 * weight, 4 * weight) * (grown if "json::parse_object" in names else 1))))
                       for names, weight in stacks.items()]
            p.profile(samples, now - (minutes - minute) * 60 * 10**9)
            assert server.send(with_source(p).encode()).status == 200


def send_traces(server, now):
    """Every trace: gateway -> checkout -> db; the checkout's span has samples, the db's none."""
    for i in range(TRACES):
        start = now - (TRACES - i) * 90 * 10**9
        width = (80 + 60 * i) * 10**6
        trace = trace_id(i)
        gateway, checkout, parse, db = (span_id(i, n) for n in range(4))
        status = 2 if i == 3 else 0
        assert server.send(spans_request("gateway", [
            {"trace": trace, "span": gateway, "name": "POST /pay", "start": start, "end": start + width, "status": status,
             "attributes": {"http.route": "/pay", "http.response.status_code": "500" if status else "200"}}]), "/v1/traces").status == 200
        assert server.send(spans_request("checkout", [
            {"trace": trace, "span": checkout, "parent": gateway, "name": "handle_pay", "start": start + 10**6, "end": start + width - 10**6},
            {"trace": trace, "span": parse, "parent": checkout, "name": "parse body", "start": start + 3 * 10**6, "end": start + width // 2},
            {"trace": trace, "span": db, "parent": checkout, "name": "SELECT cart", "start": start + width // 2, "end": start + width // 2 + 3 * 10**6},
        ]), "/v1/traces").status == 200
        p = Profiles("checkout", **{"service.version": "v2", "host.name": "h0"})
        p.profile([(p.stack("main", "Server::run", "handle_pay(Request const&)", "json::parse(Value&, std::string_view)", "json::parse_object"), 3 + i, p.link(trace, parse)),
                   (p.stack("main", "Server::run", "handle_pay(Request const&)", "Db::query", "recv"), 2, p.link(trace, checkout))], start)
        assert server.send(with_source(p).encode()).status == 200


def send_rootless(server, now):
    """A trace whose root span has not arrived."""
    start = now - 400 * 10**9
    assert server.send(spans_request("late", [
        {"trace": bytes([13]) * 16, "span": span_id(60, 1), "parent": span_id(60, 0), "name": "second half", "start": start, "end": start + 70 * 10**6}]), "/v1/traces").status == 200


def send_many_traces(server, now, traces=120):
    """One function in more traces than a page lists: where it takes most the traces are shortest and oldest."""
    start = lambda i: now - (600 + i) * 10**9
    trace, span = lambda i: bytes([8, i]) + bytes(13) + b"\x01", lambda i: bytes([200, i]) + bytes(5) + b"\x01"
    rows = [{"trace": trace(i), "span": span(i), "name": "find", "start": start(i), "end": start(i) + (200 - i) * 10**6} for i in range(traces)]
    assert server.send(spans_request("search", rows), "/v1/traces").status == 200
    p = Profiles("search", **{"service.version": "v2", "host.name": "h0"})
    stack = p.stack("main", "serve", "rank", "score")
    p.profile([(stack, 1 + i, p.link(trace(i), span(i))) for i in range(traces)], now - 700 * 10**9)
    assert server.send(p.encode()).status == 200


def send_timed(server, now):
    """A service whose samples carry their times: busy in the first 100 ms of every second. Also heap in use."""
    second = (now // 10**9 - 300) * 10**9
    p = Profiles("ticker", **{"service.version": "2.1", "host.name": "h0", "telemetry.sdk.name": "opentelemetry", "telemetry.sdk.version": "1.30.0", "telemetry.sdk.language": "cpp"})
    tick, idle = p.stack("main", "on_tick", "encode"), p.stack("main", "poll")
    timed = lambda stack, times: field(1, stack) + packed(4, [1] * len(times)) + b"".join(fixed64(5, t) for t in times)
    rng = random.Random(7)
    for s in range(240):
        start = second + s * 10**9
        p.profile([timed(tick, sorted(start + rng.randrange(100) * 10**6 for _ in range(8))), timed(idle, [start + rng.randrange(1000) * 10**6])], start)
    assert server.send(p.encode()).status == 200


def send_hostile(server, now):
    p = Profiles("hostile <b>&amp;</b>/service")
    p.profile([(p.stack("main", *HOSTILE[:2]), 5), (p.stack("main", HOSTILE[2]), 3), (p.stack("main", HOSTILE[3], HOSTILE[0]), 2)], now - 60 * 10**9)
    assert server.send(p.encode()).status == 200
    deep = Profiles("deep")
    deep.profile([(deep.stack("main", *[f"level{i % 50}" for i in range(10_000)]), 7)], now - 60 * 10**9)
    assert server.send(deep.encode()).status == 200
    wide = Profiles("wide")
    wide.profile([(wide.stack("main", "fan", f"leaf{i:06d}"), 1 + i % 3) for i in range(100_000)], now - 60 * 10**9)
    assert server.send(wide.encode()).status == 200
    one = Profiles("one")
    one.profile([(one.stack("main", "once"), 1)], now - 60 * 10**9)
    assert server.send(one.encode()).status == 200
    zero = Profiles("zero")
    zero.profile([(zero.stack("main", "never"), 0)], now - 60 * 10**9)
    assert server.send(zero.encode()).status == 200


LARGE_TRACE = bytes([9]) * 16


def send_large_trace(server, now, spans=100_000):
    """One trace: a root, 100 batches, the rest below those."""
    start = now - 120 * 10**9
    id = lambda i: (i + 1).to_bytes(8, "big")
    rows = [{"trace": LARGE_TRACE, "span": id(0), "name": "batch job", "start": start, "end": start + 60 * 10**9}]
    for i in range(1, spans):
        at = start + i * (60 * 10**9 // spans)
        rows.append({"trace": LARGE_TRACE, "span": id(i), "parent": id(0) if i <= 100 else id(1 + i % 100), "name": f"step {i % 37}", "start": at, "end": at + 10**6 * (1 + i % 50)})
    for i in range(0, spans, 20_000):
        assert server.send(spans_request("batch", rows[i:i + 20_000]), "/v1/traces").status == 200


def send_all(server):
    now = time.time_ns()
    send_profiles(server, now)
    send_traces(server, now)
    send_many_traces(server, now)
    send_rootless(server, now)
    send_timed(server, now)
    send_hostile(server, now)
    send_large_trace(server, now)
    server.flush()
