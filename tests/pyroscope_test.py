#!/usr/bin/env python3
"""Pyroscope's clients: /ingest and Push in all formats, cumulative profiles, links to spans, tenants."""
import concurrent.futures
import gzip
import json
import time
import unittest
import urllib.parse

from harness import TRACE, Case, Profiles, field, http, packed, spans_request, varint

ROOT, CHILD = bytes(range(1, 9)), bytes(range(11, 19))
PUSH = "/push.v1.PusherService/Push"
NOW = time.time_ns()


def pprof(types, samples, period=("cpu", "nanoseconds", 10_000_000), time_ns=None, duration_ns=0):
    """types: (type, unit) pairs; samples: (names root first, values, labels)."""
    strings, functions, body = [""], [], b""

    def text(s):
        if s not in strings:
            strings.append(s)
        return strings.index(s)
    for kind, unit in types:
        body += field(1, field(1, text(kind)) + field(2, text(unit)))
    for names, values, labels in samples:
        for name in names:
            if name not in functions:
                functions.append(name)
        one = packed(1, [functions.index(n) + 1 for n in reversed(names)]) + packed(2, values)
        for key, value in labels.items():
            one += field(3, field(1, text(key)) + (field(2, text(value)) if isinstance(value, str) else field(3, value)))
        body += field(2, one)
    for i, name in enumerate(functions, 1):
        body += field(4, field(1, i) + field(4, field(1, i)))
        body += field(5, field(1, i) + field(2, text(name)))
    body += field(9, NOW if time_ns is None else time_ns) + field(10, duration_ns)
    body += field(11, field(1, text(period[0])) + field(2, text(period[1]))) + field(12, period[2])
    return body + b"".join(field(6, s) for s in strings)


def cpu(value, names=("main", "parse"), **labels):
    return pprof([("cpu", "nanoseconds")], [(names, [value], labels)])


def push(*series):
    """series: (labels, [pprof, ...])"""
    out = b""
    for labels, profiles in series:
        one = b"".join(field(1, field(1, k) + field(2, v)) for k, v in labels.items())
        out += field(1, one + b"".join(field(2, field(1, p)) for p in profiles))
    return out


def form(**files):
    body = b""
    for name, content in files.items():
        body += (f'--X\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n\r\n').encode()
        body += content + b"\r\n"
    return body + b"--X--\r\n", {"content-type": "multipart/form-data; boundary=X"}


class PyroscopeCase(Case):
    def ingest(self, server, body, headers=None, **query):
        query = {"name": "shop", "from": NOW, "until": NOW + 10**10, **query}
        return http("POST", server.http + "/ingest?" + urllib.parse.urlencode(query), body,
                    headers or {"content-type": "application/octet-stream"})

    def push(self, server, body, headers=None):
        return http("POST", server.http + PUSH, body, {"content-type": "application/proto", **(headers or {})})

    def total(self, server, type, query="shop"):
        server.flush()
        return server.total(query, type)


class Ingest(PyroscopeCase):
    def test_every_format_arrives_with_its_total(self):
        with self.server() as server:
            body, headers = form(profile=gzip.compress(cpu(30)))
            self.assertEqual(self.ingest(server, body, headers, name="a", spyName="gospy").status, 200)
            self.assertEqual(self.ingest(server, gzip.compress(cpu(40)), name="b", format="pprof").status, 200)
            self.assertEqual(self.ingest(server, b"main;x 2\nmain;y 3\n", name="c", format="folded").status, 200)
            self.assertEqual(self.ingest(server, gzip.compress(b"main;x 2\n"), name="d", format="folded").status, 200)
            self.assertEqual(self.ingest(server, gzip.compress(b"main;x 2\n"), {"content-encoding": "gzip"}, name="e").status, 200)
            node = lambda name, value, *children: varint(len(name)) + name + varint(value) + varint(len(children)) + b"".join(children)
            self.assertEqual(self.ingest(server, node(b"", 0, node(b"main", 1, node(b"x", 7))), name="f.alloc_space", format="tree").status, 200)
            self.assertEqual(self.ingest(server, node(b"main;", 0, node(b"x", 7), node(b"y", 2)), name="g.wall", sampleRate=1000, format="trie").status, 200)
            self.assertEqual(self.ingest(server, b"main;x\nmain;x\n", name="h", sampleRate=100, format="lines").status, 200)
            for service, type, total in (("a", "cpu", 30), ("b", "cpu", 40), ("c", "cpu", 50_000_000), ("d", "cpu", 20_000_000),
                                         ("e", "cpu", 20_000_000), ("f", "alloc_space", 8), ("g", "wall", 9_000_000), ("h", "cpu", 20_000_000)):
                self.assertEqual(self.total(server, type, service), total, service)

    def test_a_retry_counts_once_and_another_interval_counts_again(self):
        with self.server() as server:
            for start in (NOW, NOW, NOW + 1000):
                self.assertEqual(self.ingest(server, b"main 1", **{"from": start}).status, 200)
            self.assertEqual(self.total(server, "cpu"), 20_000_000)

    def test_labels_are_selectable_and_private_ones_are_not_kept(self):
        with self.server() as server:
            self.ingest(server, b"main 1", name="shop{env=prod,otel.scope.name=x y,__session_id__=1}", spyName="gospy")
            self.assertEqual(self.total(server, "cpu", 'shop{env="prod", otel.scope.name="x y", pyroscope_spy=gospy}'), 10_000_000)
            names = server.ask("labels", query="shop", since="1h")["labels"]
            self.assertIn("otel.scope.name", names)
            self.assertNotIn("__session_id__", names)

    def test_samples_without_a_stack_are_kept(self):
        with self.server() as server:
            body = pprof([("goroutine", "count")], [((), [2], {}), (("main",), [3], {})], ("goroutine", "count", 1))
            self.assertEqual(self.ingest(server, body, format="pprof").status, 200)
            server.flush()
            top = server.ask("top", query="shop", type="goroutine", since="3000d")
            self.assertIn("[no stack]", json.dumps(top))

    def test_an_empty_profile_is_welcome(self):
        with self.server() as server:
            self.assertEqual(self.ingest(server, pprof([("cpu", "nanoseconds")], []), format="pprof").status, 200)

    def test_garbage_gets_400_with_a_reason(self):
        with self.server() as server:
            self.assertEqual(self.ingest(server, b"odd\nmain 1\n 2\n").status, 200)
            self.assertEqual(self.total(server, "cpu"), 30_000_000, "a line without a number is left out, one without a stack kept")
            for body, query in ((b"\x1f\x8bxx", {"format": "pprof"}), (b"\xff" * 50, {"format": "trie"}), (b"x", {"format": "jfr"}),
                                (b"{", {"format": "speedscope"}), (b"main", {}), (b"main 1", {"name": "a.b"}), (b"main 1", {"name": ""})):
                answer = self.ingest(server, body, **query)
                self.assertEqual(answer.status, 400, (body, query))
                self.assertTrue(answer.json["message"], answer.body)

    def test_a_refused_profile_does_not_stop_the_counter(self):
        def mutex(count, at):
            return pprof([("contentions", "count")], [(("main", "lock"), [count], {})], ("contentions", "count", 1), time_ns=at)
        with self.server() as server:
            for count, at, status in ((10, NOW, 200), (20, NOW + 10**15, 422), (30, NOW + 1000, 200), (40, NOW + 2000, 200)):
                self.assertEqual(self.ingest(server, mutex(count, at), format="pprof").status, status)
            self.assertEqual(self.total(server, "mutex_count"), 40)

    def test_what_unpacks_to_too_much_is_413(self):
        with self.server() as server:
            for format in ("folded", "pprof", "jfr", "tree"):
                self.assertEqual(self.ingest(server, gzip.compress(b"\0" * (65 << 20)), format=format).status, 413, format)
            bomb = gzip.compress(pprof([("cpu", "nanoseconds")], []) + field(2, packed(2, [1])) * 1_200_000)
            answer = self.push(server, push(({"service_name": "s"}, [bomb] * 16)))
            self.assertEqual(answer.status, 400)
            self.assertIn("too large", answer.json["message"])

    def test_times_out_of_range_are_422(self):
        with self.server() as server:
            self.assertEqual(self.ingest(server, b"main 1", **{"from": NOW + 10**13, "until": NOW + 10**13}).status, 422)


class Push(PyroscopeCase):
    def test_protobuf_json_gzip_and_grpc(self):
        with self.server() as server:
            labels = {"__name__": "process_cpu", "service_name": "shop", "env": "x"}
            answer = self.push(server, gzip.compress(push((labels, [cpu(5)]))), {"content-encoding": "gzip"})
            self.assertEqual((answer.status, answer.headers["content-type"]), (200, "application/proto"))
            import base64
            text = json.dumps({"series": [{"labels": [{"name": k, "value": v} for k, v in labels.items()],
                                           "samples": [{"rawProfile": base64.b64encode(gzip.compress(cpu(6))).decode()}]}]})
            self.assertEqual(self.push(server, text.encode(), {"content-type": "application/json"}).body, b"{}")
            self.assertEqual(server.send_grpc(push((labels, [cpu(7)])), PUSH)[0], 0)
            self.assertEqual(self.total(server, "cpu", "shop{env=x}"), 18)
            self.assertEqual(self.push(server, b"\xff\xff").status, 400)

    def test_cumulative_profiles_become_differences_over_restarts_of_both_sides(self):
        def heap(allocated, in_use):
            types = [("alloc_space", "bytes"), ("inuse_space", "bytes")]
            return pprof(types, [(("main", "a"), [allocated, in_use], {"bytes": 64})], ("space", "bytes", 524288), time_ns=time.time_ns())

        labels = {"__name__": "memory", "service_name": "shop", "instance": "i"}
        server = self.server()
        for allocated in (100, 150):
            self.assertEqual(self.push(server, push((labels, [heap(allocated, 10)]))).status, 200)
        server.kill()
        server.start()
        self.assertEqual(self.push(server, push((labels, [heap(175, 10)]))).status, 200)
        self.assertEqual(self.total(server, "alloc_space"), 175)
        self.assertEqual(self.push(server, push((labels, [heap(30, 10)]))).status, 200)  # the program was restarted
        self.assertEqual(self.total(server, "alloc_space"), 205)
        self.assertEqual(self.push(server, push(({**labels, "__delta__": "false"}, [heap(7, 10)]))).status, 200)
        self.assertEqual(self.total(server, "alloc_space"), 212)
        top = server.ask("top", query="shop", type="inuse_space", since="1h")
        self.assertEqual(int(top["total"]) / int(top["scale"]), 10, "a snapshot is averaged")
        self.assertNotIn("bytes", server.ask("labels", query="shop", since="1h")["labels"])
        server.stop()

    def counters(self, allocated, second, samples_each=1):
        """One Push per series, each with a counter at `allocated`."""
        for i in range(20):
            samples = [(("main", "a"), [allocated], {"n": n}) for n in range(samples_each)]
            profile = pprof([("alloc_space", "bytes")], samples, ("space", "bytes", 524288), time_ns=NOW + second * 10**9)
            yield push(({"__name__": "memory", "service_name": "shop", "instance": str(i)}, [profile]))

    def test_identical_cumulative_profiles_at_once_count_once(self):
        with self.server() as server:
            for allocated in (100, 150, 225):
                with concurrent.futures.ThreadPoolExecutor(8) as pool:
                    bodies = [body for body in self.counters(allocated, allocated, 100) for _ in range(4)]
                    for answer in pool.map(lambda body: self.push(server, body), bodies):
                        self.assertEqual(answer.status, 200)
            self.assertEqual(self.total(server, "alloc_space"), 20 * 100 * 225)

    def test_cumulative_profiles_sent_again_after_kill_9_count_once(self):
        server = self.server()
        for round in range(1, 6):
            bodies = list(self.counters(100 * round, round))
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                sent = [pool.submit(lambda b: self.push(server, b), body) for body in bodies]
                concurrent.futures.wait(sent[:3 * round], return_when=concurrent.futures.ALL_COMPLETED)
                server.kill()
            server.start()
            for body in bodies:  # whoever got no answer sends again; the others do no harm
                self.assertEqual(self.push(server, body).status, 200)
        self.assertEqual(self.total(server, "alloc_space"), 20 * 500)
        server.stop()


class Links(PyroscopeCase):
    def span_profile(self, server, span=None):
        more = {"span": span.hex()} if span else {}
        return server.ask(f"traces/{TRACE.hex()}/flame", type="cpu", **more)

    def spans(self, server, **attributes):
        spans = [dict(trace=TRACE, span=ROOT, name="root", start=NOW, end=NOW + 10**9, attributes=attributes),
                 dict(trace=TRACE, span=CHILD, parent=ROOT, name="child", start=NOW + 10**8, end=NOW + 4 * 10**8)]
        self.assertEqual(server.send(spans_request("shop", spans), "/v1/traces").status, 200)

    def test_every_spelling_is_a_link_and_no_label(self):
        spellings = ({"span_id": ROOT.hex(), "trace_id": TRACE.hex()}, {"profile_id": ROOT.hex()},
                     {"span id": str(int.from_bytes(ROOT, "big"))}, {"span id": int.from_bytes(ROOT, "big")},
                     {"otel.traceid": TRACE.hex(), "span_id": ROOT.hex()})
        with self.server() as server:
            self.spans(server)
            for value, labels in enumerate(spellings, 1):
                self.push(server, push(({"__name__": "process_cpu", "service_name": "shop"},
                                        [pprof([("cpu", "nanoseconds")], [(("main", "parse"), [10**value], labels)])])))
            self.push(server, push(({"__name__": "process_cpu", "service_name": "shop"}, [cpu(7, ("main", "idle"))])))
            server.flush()
            self.assertEqual(int(self.span_profile(server, ROOT)["total"]), 111110)
            self.assertEqual(int(self.span_profile(server)["total"]), 111110, "the whole trace")
            self.assertEqual(self.total(server, "cpu"), 111117)
            self.assertEqual(self.total(server, "cpu", f'shop{{span_id="{ROOT.hex()}"}}'), 111110)
            self.assertEqual(self.total(server, "cpu", f"{{trace_id={TRACE.hex()}}}"), 100010, "those that name the trace")
            wrong = server.get("/api/v1/series", query=f"shop{{span_id={ROOT.hex()}}}", type="cpu", since="1h")
            self.assertEqual(wrong.status, 400)
            self.assertIn("span_id", wrong.json["error"]["message"])
            self.assertFalse({"span_id", "profile_id", "span id", "trace_id", "otel.traceid"} &
                             set(server.ask("labels", query="shop", since="1h")["labels"]))

    def test_a_child_of_a_root_that_has_the_samples(self):
        with self.server() as server:
            self.spans(server)
            self.push(server, push(({"__name__": "process_cpu", "service_name": "shop"}, [cpu(50, span_id=ROOT.hex())])))
            server.flush()
            answer = self.span_profile(server, CHILD)
            self.assertNotIn("filed_under", answer, "nothing is shown")
            self.assertIn(f"under the local root span {ROOT.hex()} (root); they carry no times", answer["hint"])
            self.assertEqual(int(answer["total"]), 0)
            self.assertEqual(int(self.span_profile(server, ROOT)["total"]), 50)

    def test_the_attribute_of_a_span_names_its_samples(self):
        with self.server() as server:
            self.spans(server, **{"pyroscope.profile.id": "abcdabcdabcdabcd"})
            self.push(server, push(({"__name__": "process_cpu", "service_name": "shop"}, [cpu(50, profile_id="abcdabcdabcdabcd")])))
            server.flush()
            answer = self.span_profile(server, ROOT)
            self.assertEqual((int(answer["total"]), answer.get("filed_under")), (50, None))
            self.assertEqual(int(self.span_profile(server)["total"]), 50, "the whole trace")

    def test_with_times_the_child_gets_what_was_taken_while_it_ran(self):
        with self.server() as server:
            self.spans(server)
            p = Profiles("shop")
            link, stack = p.link(TRACE, ROOT), p.stack("main", "parse")
            times = b"".join((NOW + t * 10**8).to_bytes(8, "little") for t in (0, 1, 2, 5))
            sample = field(1, stack) + field(3, link) + field(5, times)
            self.assertEqual(server.send(p.profile([sample], NOW).encode()).status, 200)
            server.flush()
            answer = self.span_profile(server, CHILD)
            self.assertEqual((answer["filed_under"], int(answer["total"])), (ROOT.hex(), 20_000_000))
            self.assertNotIn("hint", answer, "there is something to show")
            self.assertEqual(int(self.span_profile(server, ROOT)["total"]), 40_000_000)
            late = bytes(8 * [0x77])
            server.send(spans_request("shop", [dict(trace=TRACE, span=late, parent=ROOT, name="late", start=NOW + 8 * 10**8, end=NOW + 9 * 10**8)]), "/v1/traces")
            server.flush()
            answer = self.span_profile(server, late)
            self.assertIn("none of them was taken while this span ran", answer["hint"])
            self.assertNotIn("filed_under", answer)


class Tenants(PyroscopeCase):
    def test_tenants_are_apart_and_ignored_without_the_switch(self):
        with self.server("--tenants") as server:
            self.assertEqual(self.ingest(server, b"main 1").status, 401)
            self.assertEqual(self.push(server, push(({"a": "b"}, []))).status, 401)
            for name, count in (("red", b"main 1"), ("blue", b"main 2")):
                self.assertEqual(self.ingest(server, count, {"x-scope-orgid": name}).status, 200)
            server.flush()
            for name, total in (("red", 10_000_000), ("blue", 20_000_000)):
                answer = http("GET", server.http + "/api/v1/top?query=shop&type=cpu&since=1h", headers={"x-scope-orgid": name})
                self.assertEqual(int(answer.json["total"]), total)
        with self.server(name="other") as server:
            self.ingest(server, b"main 1", {"x-scope-orgid": "red"})
            self.assertEqual(self.total(server, "cpu"), 10_000_000)

    def test_two_names_with_one_number_are_not_one_tenant(self):
        server = self.server("--tenants")
        first, second = {"x-scope-orgid": "team-3194"}, {"x-scope-orgid": "team-28812"}
        ask = lambda tenant, path: http("GET", server.http + path, headers=tenant)
        services, render = "/api/v1/services?since=1h", "/pyroscope/render?query=process_cpu:cpu:nanoseconds:cpu:nanoseconds{}&from=now-1h"
        self.assertEqual(ask(second, services).json["services"], [], "asking claims nothing")
        self.assertEqual(self.ingest(server, b"main 1", first).status, 200)
        server.flush()
        for start in range(2):
            for answer in (self.ingest(server, b"main 1", second), self.push(server, push(({"service_name": "shop"}, [cpu(1)])), second),
                           ask(second, services), ask(second, render), ask(second, "/jaeger/api/services")):
                self.assertEqual(answer.status, 400, answer.body)
                self.assertIn(b"team-3194", answer.body)
            self.assertEqual(len(ask(first, services).json["services"]), 1)
            server.kill()
            server.start()
        server.stop()


if __name__ == "__main__":
    unittest.main()
