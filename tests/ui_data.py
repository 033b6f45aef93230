"""Data for the page's tests and screenshots: one shop with two versions and their traces, always the same but for "now".

Three services over half an hour, a deploy in the middle that makes json::parse dearer, traces whose spans have
samples, and names that try to break a page.
"""
import random
import time

from harness import Profiles, spans_request

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
            assert server.send(p.encode()).status == 200


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
        assert server.send(p.encode()).status == 200


def send_hostile(server, now):
    p = Profiles("hostile <b>&amp;</b>/service")
    p.profile([(p.stack("main", *HOSTILE[:2]), 5), (p.stack("main", HOSTILE[2]), 3), (p.stack("main", HOSTILE[3], HOSTILE[0]), 2)], now - 60 * 10**9)
    assert server.send(p.encode()).status == 200
    deep = Profiles("deep")
    deep.profile([(deep.stack("main", *[f"level{i % 50}" for i in range(2000)]), 7)], now - 60 * 10**9)
    assert server.send(deep.encode()).status == 200
    wide = Profiles("wide")
    wide.profile([(wide.stack("main", "fan", f"leaf{i:05d}"), 1 + i % 3) for i in range(30_000)], now - 60 * 10**9)
    assert server.send(wide.encode()).status == 200


def send_all(server):
    now = time.time_ns()
    send_profiles(server, now)
    send_traces(server, now)
    send_hostile(server, now)
    server.flush()
