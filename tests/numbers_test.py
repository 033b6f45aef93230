#!/usr/bin/env python3
"""Numbers that must be right: averages of snapshots, rates, diffs of sides of different length."""
import gzip
import json
import time
import unittest

from harness import PROTOBUF, ROOT, Case, Profiles, field, fixed64, http, packed, spans_request
from pyroscope_test import pprof

SECOND = 10**9


def threads(value, time_ns, pod, seconds=10, service="shop", of=("threads", "count")):
    """One snapshot of an instance; seconds 0: without a duration."""
    p = Profiles(service, pod=pod)
    return p.profile([(p.stack("main", "run"), value)], time_ns, extra=field(4, seconds * SECOND), of=of).encode()


def cpu(samples, time_ns, pod="a", seconds=10, service="shop"):
    p = Profiles(service, pod=pod)
    return p.profile([(p.stack("main", "hot"), samples)], time_ns, extra=field(4, seconds * SECOND)).encode()


def average(answer):
    return int(answer["total"]) / answer["scale"]


class Averages(Case):
    def setUp(self):
        super().setUp()
        self.start = time.time_ns() // (600 * SECOND) * 600 * SECOND - 1800 * SECOND
        self.range = {"from": self.start, "to": self.start + 600 * SECOND}

    def test_instances_that_never_lived_together_are_not_added_up(self):
        with self.server() as server:
            for i in range(60):  # three deploys, six threads all the time
                server.send(threads(6, self.start + i * 10 * SECOND, f"pod-{i // 20}"))
            server.flush()
            whole = server.ask("top", query="shop", type="threads", **self.range)
            self.assertEqual((whole["averaged"], average(whole)), (True, 6))
            series = server.ask("series", query="shop", type="threads", step="60s", **self.range)
            self.assertEqual(series["groups"][0]["values"], [6000] * 10)
            self.assertEqual(series["observed_ms"], [60_000] * 10)
            parts = server.ask("series", query="shop", type="threads", step="600s", by="pod", **self.range)
            self.assertEqual([g["values"] for g in parts["groups"]], [[2000]] * 3, "parts add up")
            listed = server.ask("list", query="shop", type="threads", function="run", **self.range)
            self.assertEqual(int(listed["functions"][0]["self"]), 6000)
            exported = server.get("/api/v1/export", query="shop", type="threads", format="folded", **self.range)
            self.assertEqual(exported.body, b"main;run 6\n")

    def test_the_average_is_not_above_the_peak(self):
        """A heap that grows, restarted twice."""
        with self.server() as server:
            values = [1000 * (1 + i % 20) for i in range(60)]
            for i, v in enumerate(values):
                server.send(threads(v, self.start + i * 10 * SECOND, f"pod-{i // 20}", of=("inuse_space", "bytes")))
            server.flush()
            heap = server.ask("top", query="shop", type="inuse_space", **self.range)
            self.assertAlmostEqual(average(heap), sum(values) / 60, 2)
            self.assertLess(average(heap), max(values))

    def test_gaps_single_snapshots_equal_times_mixed_durations_several_services(self):
        with self.server() as server:
            ask = lambda query, **more: average(server.ask("top", query=query, type="threads", **{**self.range, **more}))
            at = lambda s: self.start + s * SECOND
            for i in range(10):
                server.send(threads(6, at(i * 10), "a", 0, "gap"))
                server.send(threads(10, at(500 + i * 10), "a", 0, "gap"))
            server.send(threads(7, at(30), "a", 0, "single"))
            server.send(threads(4, at(30), "a", 0, "moment"))
            server.send(threads(5, at(30), "b", 0, "moment"))
            for i in range(10):  # one series twice at the same moments
                server.send(threads(6, at(i * 10), "a", 10, "twice"))
                server.send(threads(10, at(i * 10), "a", 10, "twice"))
            server.send(threads(2, at(0), "a", 60, "mixed"))
            for i in range(6):
                server.send(threads(9, at(60 + i * 10), "a", 0, "mixed"))
            server.flush()
            self.assertAlmostEqual(ask("gap"), (6 * 110 + 10 * 100) / 210, 2, "twice the median distance before the gap")
            self.assertEqual(ask("single"), 7)
            self.assertEqual(ask("moment"), 9)
            self.assertEqual(ask("twice"), 8, "a series has one value at a time")
            self.assertAlmostEqual(ask("mixed"), 5.5, 2)
            both = ask('{service_name=~"twice|mixed"}')
            self.assertAlmostEqual(both, (8 * 100 + 2 * 60 + 9 * 60) / 120, 2, "over the time in which either was seen")

    def test_a_file_of_several_snapshots_is_averaged_too(self):
        with self.server() as server:
            for i in range(6):
                server.send(threads(6, self.start + i * 10 * SECOND, f"pod-{i // 3}"))
            server.flush()
            file = self.folder / "threads.otlp"
            file.write_bytes(server.get("/api/v1/export", query="shop", type="threads", format="otlp", **self.range).body)
            top = json.loads(server.cli("top", str(file), "--json").stdout)
            self.assertEqual(average(top), 6)


class Rates(Case):
    def setUp(self):
        super().setUp()
        self.start = time.time_ns() // (600 * SECOND) * 600 * SECOND - 7200 * SECOND

    def fill(self, server):
        """A baseline observed for a third of its time, with gaps, at 1 core; then 1.4 cores all the time."""
        for i in range(20):
            server.send(cpu(1000, self.start + i * 30 * SECOND))
        for i in range(60):
            server.send(cpu(1400, self.start + (600 + i * 10) * SECOND))
        server.flush()
        return {"from": self.start + 600 * SECOND, "to": self.start + 1200 * SECOND, "base_from": self.start, "base_to": self.start + 600 * SECOND}

    def test_per_second_is_of_the_time_that_was_seen(self):
        with self.server() as server:
            sides = self.fill(server)
            diff = server.ask("diff", query="shop", type="cpu", **sides)
            self.assertEqual((diff["observed_ms_before"], diff["observed_ms"]), (200_000, 600_000))
            rate = lambda total, ms: int(total) / 1e6 / ms
            self.assertAlmostEqual(rate(diff["total"], diff["observed_ms"]) / rate(diff["total_before"], diff["observed_ms_before"]), 1.4)
            flags = [f"--{k.replace('_', '-')}={v}" for k, v in sides.items()]
            said = json.loads(server.cli("diff", "shop", "--type", "cpu", "--mode", "rate", "--json", *flags).stdout)
            self.assertEqual((said["mode"], said["seconds_before"], said["seconds_after"]), ("rate", 200, 600))
            self.assertIn("+400 ms", server.cli("diff", "shop", "--type", "cpu", *flags).stdout, "1 s and 1.4 s per second")

    def test_instances_at_once_are_seen_once(self):
        with self.server() as server:
            for pod in "abc":
                for i in range(6):
                    server.send(cpu(500, self.start + i * 10 * SECOND, pod))
            server.flush()
            where = {"query": "shop", "type": "cpu", "from": self.start, "to": self.start + 600 * SECOND}
            flame = server.ask("flame", observed="true", **where)
            self.assertEqual((flame["observed_ms"], int(flame["total"])), (60_000, 90 * SECOND))
            self.assertNotIn("observed_ms", server.ask("flame", **where))
            self.assertEqual(server.get("/api/v1/flame", observed="yes", **where).status, 400)
            series = server.ask("series", step="600s", by="pod", **where)
            self.assertEqual(series["observed_ms"], [60_000], "of all groups together")

    def test_the_overview_leaves_gaps_out(self):
        with self.server() as server:
            for i in range(12):  # half a core, looked at for ten seconds of every minute
                server.send(cpu(500, self.start + i * 60 * SECOND))
            server.flush()
            answer = server.ask("overview", **{"from": self.start, "to": self.start + 720 * SECOND})
            shop, = answer["services"]
            self.assertEqual((shop["seen_ms"], answer["observed_ms"], sum(answer["step_observed_ms"])), (120_000, 120_000, 120_000))
            self.assertAlmostEqual(shop["cores"], 0.5)

    def test_files_are_compared_per_second_that_was_seen(self):
        with self.server() as server:
            sides = self.fill(server)
            files = []
            for name, begin in (("before", sides["base_from"]), ("after", sides["from"])):
                files.append(self.folder / f"{name}.otlp")
                files[-1].write_bytes(server.get("/api/v1/export", query="shop", type="samples", format="otlp",
                                                 **{"from": begin, "to": begin + 600 * SECOND}).body)
            said = json.loads(server.cli("diff", *map(str, files), "--type", "cpu", "--mode", "rate", "--json").stdout)
            self.assertEqual((said["seconds_before"], said["seconds_after"]), (200, 600))


class Looks(Case):
    """Off-CPU and wall clock: one look may stand for more time than a short span took."""
    MS = 10**6

    def setUp(self):
        super().setUp()
        self.now = time.time_ns() - 60 * SECOND
        self.trace = bytes(range(1, 17))

    def send(self, server, spans, looks, type="off_cpu", trace=None, service="svc"):
        """spans: id -> (parent, from ms, to ms); looks: (span, ms a look, how many)."""
        trace, id = trace or self.trace, lambda n: bytes([n]) * 8
        at = lambda ms: self.now + int(ms * self.MS)
        server.send(spans_request(service, [{"trace": trace, "span": id(n), "parent": id(p) if p else b"", "start": at(a), "end": at(b)}
                                            for n, (p, a, b) in spans.items()]), "/v1/traces")
        p = Profiles(service)
        # How many looks a sample adds up is sent beside it, as libwherefore does.
        p.strings.append("wherefore.profile.observations")
        key, body = len(p.strings) - 1, p.profile([(p.stack("main", f"wait{n}"), ms * many * self.MS, p.link(trace, id(n))) for n, ms, many in looks],
                                                  self.now - SECOND, of=(type, "nanoseconds"), extra=packed(11, [1])).encode()
        observations = field(6, field(1, key) + field(2, field(7, bytes(many for _, _, many in looks))))
        server.send(body + field(2, observations))

    def flame(self, server, trace=None, **more):
        return server.ask(f"traces/{(trace or self.trace).hex()}/flame", type=more.pop("type", "off_cpu"), **more)

    def test_a_span_shows_at_most_its_own_time_with_its_error_and_how_many_looks(self):
        with self.server() as server:
            # 55 ms, of which a child has 20 and another 5: 30 by itself.
            self.send(server, {1: (0, 0, 55), 2: (1, 10, 30), 3: (1, 40, 45)}, [(1, 74, 2), (2, 74, 1), (3, 1, 1)])
            server.flush()
            whole = self.flame(server)
            hex = lambda n: (bytes([n]) * 8).hex()
            self.assertEqual(whole["by_span"], {hex(1): 30 * self.MS, hex(2): 20 * self.MS, hex(3): 1 * self.MS})
            self.assertEqual(int(whole["total"]), 51 * self.MS, "together no more than the trace")
            self.assertEqual((int(whole["count"]), whole["looks"]["count"]), (4, 4))
            looks = whole["looks"]["by_span"]
            self.assertEqual({s: v["count"] for s, v in looks.items()}, {hex(1): 2, hex(2): 1, hex(3): 1})
            self.assertEqual(looks[hex(1)]["error_ns"], 30 * self.MS, "no error is more than there can be")
            self.assertAlmostEqual(looks[hex(3)]["error_ns"] / self.MS, 4.66, delta=0.01)
            one = self.flame(server, span=hex(1))
            self.assertEqual((int(one["total"]), one["looks"]["count"]), (30 * self.MS, 2))
            below = self.flame(server, span=hex(1), subtree="true")
            self.assertEqual(int(below["total"]), 51 * self.MS)
            listed, = server.ask("traces")["traces"]
            waited = {p["type"]: p for p in listed["profiled"]}["off_cpu"]
            self.assertEqual((int(waited["value"]), waited["count"], waited["error_ns"]), (51 * self.MS, 4, whole["looks"]["error_ns"]))
            said = server.cli("trace", self.trace.hex(), "--type", "off_cpu").stdout
            self.assertIn("30 ms ± 30 ms in 2 looks", said)
            self.assertIn("20 ms ± 20 ms in 1 look\n", said)
            self.assertIn("30 ms ± 30 ms in 2 looks", server.cli("trace", self.trace.hex(), "--span", hex(1), "--type", "off_cpu").stdout)
            seen = server.ask("function-traces", query="svc", type="off_cpu", function="wait1", since="1h")
            self.assertEqual((int(seen["traces"][0]["value"]), int(seen["linked_value"])), (30 * self.MS, 148 * self.MS), "over all of them it is a sum")

    def test_selections_of_spans_and_traces_show_no_more(self):
        """In flame graphs, tables and Pyroscope's routes alike."""
        with self.server() as server:
            self.send(server, {1: (0, 0, 55), 2: (1, 10, 30), 3: (1, 40, 45)}, [(1, 74, 2), (2, 74, 1), (3, 1, 1)])
            self.send(server, {1: (0, 100, 105)}, [(1, 74, 1)], trace=b"\2" * 16)
            server.flush()
            hex = lambda n: (bytes([n]) * 8).hex()
            first, second = f'trace_id="{self.trace.hex()}"', f'trace_id="{"02" * 16}"'
            ways = {f'span_id="{hex(2)}"': (20, 1), f'span_id="{hex(1)}", {first}': (30, 2), first: (51, 4), second: (5, 1),
                    f'span_id="{hex(1)}"': (35, 3)}  # of two traces
            for selector, (ms, looks) in ways.items():
                flame = server.ask("flame", query=f"svc{{{selector}}}", type="off_cpu", since="1h")
                self.assertEqual((int(flame["total"]), int(flame["count"])), (ms * self.MS, looks), selector)
                top = server.ask("top", query=f"svc{{{selector}}}", type="off_cpu", since="1h")
                self.assertEqual(int(top["total"]), ms * self.MS, selector)
            def ask(method, **question):
                range = dict(start=self.now // self.MS - 3600_000, end=self.now // self.MS + 60_000)
                answer = http("POST", f"{server.http}/querier.v1.QuerierService/{method}", json.dumps({**range, **question}).encode(),
                              {"Content-Type": "application/json"})
                self.assertEqual(answer.status, 200, answer.body)
                return answer.json
            type, = ask("ProfileTypes")["profileTypes"]
            total = lambda method, **more: int(ask(method, profileTypeID=type["ID"], labelSelector="{}", **more)["flamegraph"]["total"])
            self.assertEqual(total("SelectMergeSpanProfile", spanSelector=[hex(2)]), 20 * self.MS)
            self.assertEqual(total("SelectMergeStacktraces"), (74 * 4 + 1) * self.MS, "over a selection it is a sum")

    def test_sums_over_many_spans_stay_what_was_sent(self):
        with self.server() as server:
            for i in range(20):
                self.send(server, {1: (0, i, i + 5)}, [(1, 74, 1)], trace=bytes([i + 1]) * 16)
            server.flush()
            self.assertEqual(server.total("svc", "off_cpu"), 20 * 74 * self.MS)

    def test_one_that_waits_while_its_children_run_has_all_of_its_time(self):
        with self.server() as server:
            self.send(server, {1: (0, 0, 100), 2: (1, 0, 100)}, [(1, 60, 1), (2, 200, 1)])
            server.flush()
            self.assertEqual(sorted(self.flame(server)["by_span"].values()), [60 * self.MS, 100 * self.MS])

    def test_wall_clock_too_but_not_cpu(self):
        with self.server() as server:
            self.send(server, {1: (0, 0, 8)}, [(1, 20, 3)], type="wall")
            self.send(server, {1: (0, 0, 8)}, [(1, 20, 3)], type="cpu", trace=b"\2" * 16)
            server.flush()
            self.assertEqual(int(self.flame(server, type="wall")["total"]), 8 * self.MS)
            cpu = self.flame(server, b"\2" * 16, type="cpu")
            self.assertEqual(int(cpu["total"]), 60 * self.MS)
            self.assertNotIn("looks", cpu)


class Sums(Case):
    def test_a_file_against_a_selection_is_in_the_same_units(self):
        with self.server() as server:
            p = Profiles("heap")
            p.profile([(p.stack("main", "keep"), 1 << 20)], time.time_ns() - 60 * SECOND, of=("inuse_space", "bytes"))
            server.send(p.encode())
            server.flush()
            file = self.folder / "heap.otlp"
            file.write_bytes(server.get("/api/v1/export", query="heap", type="inuse_space", format="otlp").body)
            for sides in ((str(file), "heap"), ("heap", str(file))):
                said = server.cli("diff", *sides, "--type", "inuse_space", "--mode", "raw").stdout
                self.assertIn("before 1 MiB, after 1 MiB, change 0 B", said)
                exact = json.loads(server.cli("diff", *sides, "--type", "inuse_space", "--json").stdout)
                self.assertEqual((exact["total_before"], exact["total_after"], exact["scale"]), (1000 << 20, 1000 << 20, 1000))

    def test_the_subtree_of_a_go_span_with_a_cpp_span_below_has_both(self):
        """The Go profiler files all samples of a request under its root; the C++ one links every span."""
        with self.server() as server:
            now = time.time_ns() - 60 * SECOND
            ms = lambda n: now + n * 10**6
            trace, root, inner, cpp, deeper = bytes(range(1, 17)), b"\1" * 8, b"\2" * 8, b"\3" * 8, b"\4" * 8
            span = lambda id, parent, a, b: {"trace": trace, "span": id, "parent": parent, "start": ms(a), "end": ms(b)}
            server.send(spans_request("go", [span(root, b"", 0, 100), span(inner, root, 20, 80), span(deeper, inner, 30, 40)]), "/v1/traces")
            server.send(spans_request("cpp", [span(cpp, inner, 50, 70)]), "/v1/traces")
            go = Profiles("go")
            times = [5, 25, 35, 45, 90]  # of which three are within the inner span, one of those within the one below it
            go.profile([field(1, go.stack("main", "go")) + field(3, go.link(trace, root)) + packed(4, [1] * len(times)) +
                        b"".join(fixed64(5, ms(t)) for t in times)], now - SECOND)
            server.send(go.encode())
            other = Profiles("cpp")
            other.profile([(other.stack("main", "cpp"), 7, other.link(trace, cpp))], now - SECOND)
            server.send(other.encode())
            server.flush()
            flame = lambda **more: server.ask(f"traces/{trace.hex()}/flame", type="samples", **more)
            below = flame(span=inner.hex(), subtree="true")
            self.assertEqual(below["by_span"], {inner.hex(): 2, deeper.hex(): 1, cpp.hex(): 7}, "each observation once, the innermost span's")
            self.assertEqual((below["total"], below["filed_under"]), (10, root.hex()))
            self.assertEqual(flame(span=inner.hex())["total"], 3)
            self.assertEqual(flame(span=root.hex(), subtree="true")["by_span"], {root.hex(): 5, cpp.hex(): 7}, "the root has them all")

    def test_a_function_with_value_and_no_whole_observation_is_found(self):
        with self.server() as server:
            now = time.time_ns() - 60 * SECOND
            trace, span = bytes(range(1, 17)), b"\1" * 8
            server.send(spans_request("svc", [{"trace": trace, "span": span, "start": now, "end": now + SECOND}]), "/v1/traces")
            p = Profiles("svc")
            p.strings.append("wherefore.profile.observations")
            key = len(p.strings) - 1
            p.profile([(p.stack("main", "goes_on"), 3_000_000, p.link(trace, span)), (p.stack("main", "other"), 5_000_000)], now,
                      of=("off_cpu", "nanoseconds"), extra=packed(11, [1]))
            server.send(p.encode() + field(2, field(6, field(1, key) + field(2, field(7, bytes([0, 1]))))))
            server.flush()
            seen = server.ask("function-traces", query="svc", type="off_cpu", function="goes_on")
            self.assertEqual((seen["value"], seen["count"], seen["found"]), (3_000_000, 0, 1))
            self.assertNotIn("hint", seen)
            self.assertIn("no function is called", server.ask("function-traces", query="svc", type="off_cpu", function="nobody")["hint"])

    def test_sums_beyond_64_bits_say_so(self):
        with self.server() as server:
            p = Profiles("huge")
            now = time.time_ns() - 60 * SECOND
            for i in range(2):
                p.profile([(p.stack("main", "hot"), 2**63 - 1), (p.stack("main", "more"), 2**63 - 1)], now + i * SECOND)
            server.send(p.encode())
            server.send(cpu(5, now, service="fine"))
            server.flush()
            most = str(2**63 - 1)
            for path, more in (("top", {}), ("flame", {}), ("list", {"function": "hot"})):
                answer = server.ask(path, query="huge", type="samples", **more)
                self.assertEqual((answer["total"], answer["overflow"]), (most, True), path)
                self.assertNotIn("overflow", server.ask(path, query="fine", type="samples", **({"function": "hot"} if more else {})), path)
            top = server.ask("top", query="huge", type="samples")
            self.assertEqual((top["count"], top["rows"][0]["self"]), (most, most))
            series = server.ask("series", query="huge", type="samples", step="1h")
            self.assertIs(series["overflow"], True)
            self.assertTrue(all(int(v) >= 0 for g in series["groups"] for v in g["values"]))
            self.assertIs(server.ask("top", query="huge", type="cpu")["overflow"], True, "counts times their period")
            self.assertIs(server.ask("diff", query="huge", base_query="fine", type="samples")["overflow"], True)
            self.assertIn("overflow: ", server.cli("top", "huge", "--type", "samples").stderr)
            self.assertEqual({s["name"]: s["profiles"] for s in server.ask("overview")["services"]}, {"huge": 2, "fine": 1}, "nobody else notices")


class Out(Case):
    """OTLP export returns what came in."""

    def types(self, server, **query):
        services = server.ask("services", since="3000d")["services"]
        return {s["name"]: sorted(t["id"] for t in s["types"]) for s in services}

    def sent_on(self, first, second, form="otlp", **query):
        body = first.get("/api/v1/export", format=form, since="30000d", **query).body
        kind = "application/json" if form == "otlp-json" else PROTOBUF
        self.assertEqual(second.send(body, headers={"content-type": kind}).status, 200)
        second.flush()

    def test_a_block_profile_sent_on_stays_one(self):
        """Go's block profile has the types of its mutex profile; only its name tells them apart."""
        types = [("contentions", "count"), ("delay", "nanoseconds")]
        config = {t: {"units": u, "display-name": f"block_{t}", "sampled": False} for t, u in types}
        file = gzip.compress(pprof(types, [(("main", "wait"), [3, 900], {})], ("contentions", "count", 1), time_ns=time.time_ns() - 10 * SECOND))
        boundary = "0011223344"
        part = lambda name, data: (f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n\r\n').encode() + data + b"\r\n"
        form = part("profile", file) + part("sample_type_config", json.dumps(config).encode()) + f"--{boundary}--\r\n".encode()
        with self.server(name="first") as first:
            until = time.time_ns() // SECOND
            answer = http("POST", f"{first.http}/ingest?name=shop&from={until - 10}&until={until}&spyName=gospy", form,
                          {"content-type": f"multipart/form-data; boundary={boundary}"})
            self.assertEqual(answer.status, 200, answer.body)
            first.flush()
            came = self.types(first)
            self.assertEqual({id.split(":")[0] for id in came["shop"]}, {"block"})
            for form in ("otlp", "otlp-json"):
                with self.server(name=form) as second:
                    self.sent_on(first, second, form, query="shop", type="block")
                    self.assertEqual(self.types(second), came)
                    self.assertEqual(second.total("shop", "block"), 900)
                    self.assertNotIn("wherefore.profile.name", second.ask("labels", query="shop", since="3000d")["labels"])

    def test_a_pushed_recording_keeps_its_observations(self):
        """Samples of a JFR file add up events of different weight."""
        recording = str(ROOT / "tests/golden/java_agent_wall.jfr.gz")
        types = ("cpu", "wall", "mutex", "block", "live")
        with self.server(name="first") as first, self.server(name="second") as second:
            counts = {t: json.loads(first.cli("top", recording, "--type", t, "--json").stdout)["count"] for t in types}
            self.assertGreater(counts["live"], 100)
            first.cli("push", recording, "--service", "java")
            first.flush()
            stored = lambda server: {t: int(server.ask("top", query="java", type=t, since="30000d")["count"]) for t in types}
            self.assertEqual(stored(first), counts)
            for t in types:
                self.sent_on(first, second, query="java", type=t)
            self.assertEqual(stored(second), counts)


if __name__ == "__main__":
    unittest.main(verbosity=1)
