#!/usr/bin/env python3
"""Latency of other senders while one sends requests that are small on the wire and expensive to process: printed, and
at most 100 ms (p99). Each kind of request is sent repeatedly for some seconds, ten per second, each a little different
so that none is a repeat.
"""
import gzip
import http.client
import multiprocessing
import time
import unittest

from harness import PROTOBUF, Case, Profiles, field, fixed64, one_profile, packed, resource, spans_request

SECONDS, PAUSE = 4, 0.1
DAY = 86_400 * 10**9


def pprof_with_labels(labels):
    strings = ["", "samples", "count", "main"] + [f"label{i}" for i in range(labels)]
    body = field(1, field(1, 1) + field(2, 2))
    body += field(2, packed(1, [1]) + packed(2, [1]) + b"".join(field(3, field(1, 4 + i) + field(2, 3)) for i in range(labels)))
    body += field(4, field(1, 1) + field(4, field(1, 1))) + field(5, field(1, 1) + field(2, 3))
    return body + b"".join(field(6, s) for s in strings) + field(9, time.time_ns())


def request(dictionary, profiles, resource_bytes=resource("hostile")):
    """An OTLP request of profiles (bytes each) of one resource; strings 1 to 4 are the usual ones."""
    return field(1, field(1, resource_bytes) + field(2, b"".join(field(2, p) for p in profiles))) + field(2, dictionary)


def dictionary(strings=(), functions=b"", locations=b"", attributes=b"", stacks=b""):
    table = b"".join(field(5, s) for s in ("", "samples", "count", "cpu", "nanoseconds", *strings))
    return field(1, b"") + field(2, b"") + locations + field(3, b"") + functions + field(4, b"") + table + field(6, b"") + attributes + field(7, b"") + stacks


def profile(samples, time_ns=None, extra=b""):
    return field(1, field(1, 1) + field(2, 2)) + b"".join(field(2, s) for s in samples) + fixed64(3, time_ns or time.time_ns()) + field(4, 10**10) + extra


def samples_with_attributes(samples, attributes):
    strings = [f"key{i}" for i in range(samples * attributes)]
    table = b"".join(field(6, field(1, 5 + i) + field(2, field(1, "v"))) for i in range(samples * attributes))
    return request(dictionary(strings, attributes=table),
                   [profile([packed(2, range(1 + s * attributes, 1 + (s + 1) * attributes)) + packed(4, [1]) for s in range(samples)])])


def one_long_stack(frames):
    return request(dictionary(locations=field(2, field(2, 7)), stacks=field(7, field(1, b"\1" * frames))), [profile([field(1, 1) + packed(4, [1])])])


def many_days(days):
    p = Profiles("hostile")
    stack = p.stack("main")
    for day in range(days):
        p.profile([(stack, 1)], time.time_ns() - day * DAY)
    return p.encode()


def many_profiles_of_a_wide_resource(profiles, attributes):
    wide = resource("hostile", **{f"attribute{i}": "x" * 20 for i in range(attributes)})
    table = b"".join(field(6, field(1, 5) + field(2, field(3, i))) for i in range(profiles))
    return request(dictionary(["number"], attributes=table), [profile([packed(4, [1])], extra=packed(11, [i + 1])) for i in range(profiles)], wide)


def many_spans_of_a_wide_resource(spans, attributes):
    wide = resource("hostile", **{f"attribute{i}": "x" * 20 for i in range(attributes)})
    now = time.time_ns()
    body = b"".join(field(2, field(1, b"t" * 16) + field(2, i.to_bytes(8, "big")) + fixed64(7, now) + fixed64(8, now + 5)) for i in range(1, spans + 1))
    return field(1, field(1, wide) + field(2, body))


def functions_of_one_long_name(functions, length):
    table = b"".join(field(3, field(1, 5) + field(4, i)) for i in range(functions))
    places = b"".join(field(2, field(3, field(1, i + 1))) for i in range(functions))
    stacks = b"".join(field(7, packed(1, range(1 + i, 1 + i + 1000))) for i in range(0, functions, 1000))
    return request(dictionary(["n" * length], table, places, stacks=stacks),
                   [profile([field(1, 1 + i) + packed(4, [1]) for i in range(functions // 1000)])])


def frames_of_one_long_attribute(frames, length):
    places = b"".join(field(2, field(2, i) + packed(4, [1])) for i in range(frames))
    attribute = field(6, field(1, 5) + field(2, field(1, "v" * length)))
    stacks = b"".join(field(7, packed(1, range(1 + i, 1 + i + 1000))) for i in range(0, frames, 1000))
    return request(dictionary(["key"], locations=places, attributes=attribute, stacks=stacks),
                   [profile([field(1, 1 + i) + packed(4, [1]) for i in range(frames // 1000)])])


def samples_of_one_long_attribute(samples, length):
    attribute = field(6, field(1, 5) + field(2, field(1, "v" * length)))
    return request(dictionary(["thread.id"], attributes=attribute), [profile([packed(2, [1]) + packed(4, [1])] * samples)])


def attributes_of_one_long_value(attributes, length):
    table = b"".join(field(6, field(1, 5) + field(2, field(8, 6))) for _ in range(attributes))
    return request(dictionary(["key", "v" * length], attributes=table), [profile([packed(2, [1]) + packed(4, [1])])])


def array_of_one_long_string(items, length):
    array = field(5, b"".join(field(1, field(8, 6)) for _ in range(items)))
    return request(dictionary(["key", "v" * length], attributes=field(6, field(1, 5) + field(2, array))), [profile([packed(2, [1]) + packed(4, [1])])])


def profiles_of_one_long_type(profiles, length):
    kind = field(1, field(1, 5) + field(2, 2))
    return request(dictionary(["t" * length]), [kind + field(2, packed(4, [1])) + fixed64(3, time.time_ns()) for _ in range(profiles)])


def entity_references(count):
    piece = field(1, field(3, field(1, "x")))
    return field(1, piece * count + field(2, field(2, profile([packed(4, [1])])))) + field(2, dictionary())


def many_services(services):
    own = lambda i: field(1, field(1, resource(f"hostile{i}")) + field(2, field(2, profile([packed(4, [1])]))))
    return b"".join(own(i) for i in range(services)) + field(2, dictionary())


def json_numbers(megabytes):
    return b'{"resourceSpans":[' + b",".join([b'{"scopeSpans":[]}'] * (megabytes * 55_000)) + b"]}"


def small_requests(address, done, out):
    """Sends one request every 10 ms: returns how long each took, and statuses other than 200."""
    connection = http.client.HTTPConnection(address, timeout=300)
    took, problems = [], []
    while not done.wait(0.01):
        body = one_profile("good", 1, ("main", f"f{len(took) % 50}"))
        start = time.monotonic()
        connection.request("POST", "/v1development/profiles", body, {"content-type": PROTOBUF})
        answer = connection.getresponse()
        answer.read()
        took.append(time.monotonic() - start)
        if answer.status != 200:
            problems.append(answer.status)
    connection.close()
    out.send((took, problems))


class Others:
    """Another sender, in a process of its own, so that this process's work does not affect its figures."""

    def __init__(self, server):
        self.done, (self.answer, out) = multiprocessing.Event(), multiprocessing.Pipe(False)
        self.process = multiprocessing.Process(target=small_requests, args=(server.otlp_http.removeprefix("http://"), self.done, out))

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *unused):
        self.done.set()
        self.took, self.problems = self.answer.recv()
        self.process.join()

    def at(self, share):
        return sorted(self.took)[min(int(len(self.took) * share), len(self.took) - 1)] * 1000


class Latency(Case):
    def send_meanwhile(self, server, name, body, path="/v1development/profiles", headers=None, port="otlp_http", statuses=(200, 400, 413, 429)):
        """Sends `body`, with meaningless bytes appended, for some seconds. Returns the last answer."""
        packed_body = gzip.compress(body, 6)
        address = getattr(server, port).removeprefix("http://")
        sent, start, answer = 0, time.monotonic(), (0, b"")
        with Others(server) as others:
            connection = http.client.HTTPConnection(address, timeout=300)
            while body and time.monotonic() - start < SECONDS:
                # An unknown field, as a gzip member of its own: another request, the same work.
                other = packed_body if body[:1] == b"{" else packed_body + gzip.compress(field(1000, sent))
                connection.request("POST", path, other, {"content-type": PROTOBUF, "content-encoding": "gzip", **(headers or {})})
                response = connection.getresponse()
                answer = (response.status, response.read())
                sent += 1
                time.sleep(PAUSE)
                if response.getheader("connection") == "close":
                    connection.close()
            connection.close()
            if not body:
                time.sleep(SECONDS)
        took = (time.monotonic() - start) / max(sent, 1) - PAUSE
        start = time.monotonic()
        server.flush()
        flushed = time.monotonic() - start
        print(f"  {name:48} {len(packed_body) / 1000:5.0f} kB gzip {answer[0]} {took * 1000:5.0f} ms each; others: {len(others.took):4} requests, "
              f"p50 {others.at(0.5):6.1f} p99 {others.at(0.99):7.1f} max {others.at(1):7.1f} ms; flush {flushed:4.1f} s", flush=True)
        self.assertIn(answer[0], statuses, (name, answer[1][:300]))
        self.assertEqual(others.problems, [], name)
        self.slow.append((others.at(0.99), name))
        return answer

    def test_others_do_not_wait(self):
        self.slow = []
        with self.server() as server:
            go = lambda *arguments, **more: self.send_meanwhile(server, *arguments, **more)[1]
            go("nothing", b"", statuses=(0,))
            self.assertIn(b"80000 labels", go("a pprof sample of 80,000 labels", pprof_with_labels(80_000), "/ingest?name=hostile&format=pprof", port="http", statuses=(422,)))
            self.assertIn(b"labels", go("20 samples of 10,000 attributes", samples_with_attributes(20, 10_000)))
            self.assertIn(b"60000000 frames", go("a stack of 60 M frames", one_long_stack(60_000_000)))
            self.assertIn(b"request", go("9,000 days", many_days(9_000)))
            go("50,000 profiles of a resource of 500 attributes", many_profiles_of_a_wide_resource(50_000, 500))
            self.assertIn(b"bytes in the store", go("2,000 spans of a resource of 9,000 attributes", many_spans_of_a_wide_resource(2_000, 9_000), "/v1/traces"))
            go("100,000 functions of one name of 1 MB", functions_of_one_long_name(100_000, 1_000_000))
            go("100,000 frames of one attribute of 1 MB", frames_of_one_long_attribute(100_000, 1_000_000))
            go("1 M samples of one attribute of 1 MB", samples_of_one_long_attribute(1_000_000, 1_000_000))
            go("1 M attributes of one value of 1 MB", attributes_of_one_long_value(1_000_000, 1_000_000))
            go("an array of 1 M times one string of 1 MB", array_of_one_long_string(1_000_000, 1_000_000))
            go("100,000 profiles of one type of 1 MB", profiles_of_one_long_type(100_000, 1_000_000))
            go("1 M times one entity reference", entity_references(1_000_000))
            go("20,000 services", many_services(20_000))
            go("60 MB of JSON", json_numbers(60), "/v1/traces", {"content-type": "application/json"})
            server.flush()
            self.assertGreater(server.total("good"), 100)
        # On a machine that has other work even nothing takes its time.
        quiet, worst = self.slow[0][0], max(self.slow)
        self.assertLessEqual(worst[0], max(100, 10 * quiet), worst[1])

    def test_the_subtree_of_a_long_chain_is_quick_and_bounded(self):
        with self.server() as server:
            now = time.time_ns() - 10**9
            for number, (length, status) in enumerate(((800, 200), (9_000, 200), (30_000, 429)), 1):
                trace, ids = number.to_bytes(16, "big"), [(number << 32 | i).to_bytes(8, "big") for i in range(1, length + 1)]
                chain = [{"trace": trace, "span": span, "parent": parent, "start": now + i, "end": now + 10**9 - i}
                         for i, (span, parent) in enumerate(zip(ids, [b""] + ids))]
                self.assertEqual(server.send(spans_request("chain", chain), "/v1/traces").status, 200)
                # Filed under the root, as most profilers do, with the times at which they were taken.
                p = Profiles("chain")
                times = b"".join((now + 10**8 * i).to_bytes(8, "little") for i in range(9))
                p.profile([field(1, p.stack("main", "work")) + field(3, p.link(trace, ids[0])) + packed(4, [1] * 9) + field(5, times)], now)
                self.assertEqual(server.send(p.encode()).status, 200)
                server.flush()
                start = time.monotonic()
                answer = server.get(f"/api/v1/traces/{trace.hex()}/flame", span=ids[1].hex(), subtree="true", type="samples")
                took = time.monotonic() - start
                print(f"  subtree of a chain of {length:6,} spans: {answer.status} after {took:.2f} s", flush=True)
                self.assertEqual(answer.status, status, answer.body[:300])
                self.assertLess(took, 5)
                if status == 200:
                    self.assertEqual(answer.json.get("filed_under"), ids[0].hex(), answer.body[-1500:])
                    self.assertGreater(int(answer.json["total"]), 0)
                else:
                    self.assertIn(b"subtree", answer.body)


if __name__ == "__main__":
    unittest.main(verbosity=1)
