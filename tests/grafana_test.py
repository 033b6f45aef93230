#!/usr/bin/env python3
"""What Grafana asks: the request sequences of its Pyroscope and Jaeger datasources, of Profiles Drilldown and of
profilecli, replayed against the real server and checked against our own API."""
import base64
import json
import os
import shutil
import struct
import subprocess
import time
import unittest
import urllib.parse

from harness import SPAN, TRACE, Case, Profiles, field, fixed64, http, one_profile, spans_request

SERVICE = "/querier.v1.QuerierService/"
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
SAMPLES = "process_cpu:samples:count:cpu:nanoseconds"
UTF8 = {"accept": "*/*;allow-utf8-labelnames=true"}
# A whole second, so that steps have round edges.
NOW = int(time.time()) // 60 * 60 - 600


def decode(message):
    """Field number -> list of values: integers, bytes, or doubles for 64-bit fields."""
    out, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 1:
            value = struct.unpack("<d", message[at:at + 8])[0]
            at += 8
        else:
            size = varint()
            value = message[at:at + size]
            at += size
        out.setdefault(key >> 3, []).append(value)
    return out


def decode_varints(numbers):
    out, value, shift = [], 0, 0
    for byte in numbers:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            out.append(value - (1 << 64) if value >> 63 else value)
            value = shift = 0
    return out


def boxes(levels, width=4):
    """Absolute boxes of every level: (start, total, self, name) for a single graph."""
    out = []
    for level in levels:
        level = [int(v) for v in level]
        end, row = 0, []
        for i in range(0, len(level), width):
            start = end + level[i]
            end = start + level[i + 1]
            row.append((start, *level[i + 1:i + width]))
        out.append(row)
    return out


class Grafana(Case):
    def setUp(self):
        super().setUp()
        self.running = self.server()
        self.fill()

    def fill(self):
        """Two services; counts with a CPU period; one sample linked to a span; labels plain and dotted."""
        for service, value, minute in (("shop", 3, 0), ("shop", 5, 1), ("cart", 7, 1)):
            p = Profiles(service, region="eu", **{"k8s.pod.name": f"{service}-{minute}"})
            p.profile([(p.stack("main", "work"), value), (p.stack("main", "work", "hot"), 10, p.link(TRACE, SPAN)),
                       (p.stack("main", "idle"), 1)],
                      time_ns=(NOW + 60 * minute) * 10**9, id=bytes([minute + 1, value]) * 8)
            self.assertEqual(self.running.send(p.encode()).status, 200)
        self.running.flush()

    def call(self, method, body, headers=None, service=SERVICE, status=200):
        """Connect with JSON, like the Drilldown app."""
        answer = http("POST", self.running.http + service + method, json.dumps(body).encode(),
                      {"content-type": "application/json", **(headers or {})})
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def call_proto(self, method, body, headers=None):
        """Connect with protobuf, like the datasource's backend."""
        answer = http("POST", self.running.http + SERVICE + method, body,
                      {"content-type": "application/proto", "connect-protocol-version": "1", **(headers or {})})
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.headers["content-type"], "application/proto")
        return decode(answer.body)

    def range(self, **more):
        return {"start": (NOW - 60) * 1000, "end": (NOW + 300) * 1000, **more}

    def tearDown(self):
        self.running.stop()

    # --- Pyroscope: what there is ---

    def test_the_health_check_lists_types_with_and_without_a_range(self):
        for body in (b"", field(1, (NOW - 60) * 1000) + field(2, (NOW + 300) * 1000)):
            types = [decode(t) for t in self.call_proto("ProfileTypes", body)[1]]
            self.assertEqual([t[1][0].decode() for t in types], [CPU, SAMPLES])
            self.assertEqual([t[tag][0].decode() for t in types[:1] for tag in (2, 4, 5, 6, 7)], CPU.split(":"))
        self.assertEqual(self.call("ProfileTypes", {"start": "1000", "end": "2000"}), {})
        status, message, body = self.running.send_grpc(b"", SERVICE + "ProfileTypes")
        self.assertEqual((status, message), (0, ""))
        self.assertEqual([decode(t)[1][0].decode() for t in decode(body)[1]], [CPU, SAMPLES])

    def test_label_names_hide_what_older_clients_cannot_take(self):
        private = ["__name__", "__period_type__", "__period_unit__", "__profile_type__", "__service_name__", "__type__",
                   "__unit__"]
        names = self.call("LabelNames", self.range(matchers=['{service_name="shop"}']))["names"]
        self.assertEqual(names, [*private, "region", "service_name"])
        names = self.call("LabelNames", self.range(), UTF8)["names"]
        self.assertIn("k8s.pod.name", names)
        self.assertNotIn("service.name", names)
        answer = self.call("LabelNames", self.range(), {"accept": "/;="}, status=400)
        self.assertEqual(answer["code"], "invalid_argument")

    def test_label_values_follow_every_matcher(self):
        def values(name, *matchers):
            return self.call("LabelValues", self.range(name=name, matchers=list(matchers))).get("names", [])
        self.assertEqual(values("service_name"), ["cart", "shop"])
        self.assertEqual(values("service_name", f'{{__profile_type__="{CPU}"}}', '{region="eu"}'), ["cart", "shop"])
        self.assertEqual(values("k8s.pod.name", '{service_name="shop"}', '{"k8s.pod.name"!="shop-0"}'), ["shop-1"])
        self.assertEqual(values("__profile_type__"), [CPU, SAMPLES])
        self.assertEqual(values("__name__", 'process_cpu{region=~"e."}'), ["process_cpu"])
        self.assertEqual(values("service_name", "memory{}"), [])
        self.assertEqual(self.call("LabelValues", self.range(name="a", matchers=["{a="]), status=400)["code"],
                         "invalid_argument")

    def test_series_are_projected_on_the_labels_asked_for(self):
        sets = self.call("Series", self.range(labelNames=["service_name", "__profile_type__"]))["labelsSet"]
        found = [{p["name"]: p["value"] for p in s["labels"]} for s in sets]
        self.assertEqual(sorted((f["service_name"], f["__profile_type__"]) for f in found),
                         [(s, t) for s in ("cart", "shop") for t in (CPU, SAMPLES)])
        self.assertEqual(len(self.call("Series", self.range(), UTF8)["labelsSet"]), 6)

    def test_times_are_required_and_in_order(self):
        for bad in ({}, {"start": 5}, {"start": 2000, "end": 1000}):
            self.assertEqual(self.call("LabelNames", bad, status=400)["code"], "invalid_argument")
        stats = self.call("GetProfileStats", {})
        self.assertEqual(stats, {"dataIngested": True, "oldestProfileTime": str(NOW * 1000),
                                 "newestProfileTime": str((NOW + 60) * 1000)})
        self.assertEqual(self.call("AnalyzeQuery", self.range(query="{}")), {})

    # --- Pyroscope: profiles ---

    def test_a_flame_graph_adds_up_to_our_own_total(self):
        own = int(self.running.ask("top", query="shop", type="cpu", since="1d")["total"])
        self.assertEqual(own, (3 + 10 + 1 + 5 + 10 + 1) * 10_000_000)
        selection = self.range(profileTypeID=CPU, labelSelector='{service_name="shop"}', maxNodes=16384)
        graph = self.call("SelectMergeStacktraces", selection)["flamegraph"]
        self.assertEqual(int(graph["total"]), own)
        self.assertEqual(graph["names"][0], "total")
        rows = boxes([level["values"] for level in graph["levels"]])
        self.assertEqual(rows[0], [(0, own, 0, 0)])
        named = {graph["names"][b[3]]: b for row in rows for b in row}
        self.assertEqual(named["hot"][1:3], (200_000_000, 200_000_000))
        self.assertEqual(named["work"][1:3], (280_000_000, 80_000_000))
        for upper, lower in zip(rows, rows[1:]):  # every box lies inside one above it
            for start, total, _, _ in lower:
                self.assertTrue(any(u[0] <= start and start + total <= u[0] + u[1] for u in upper))
        request = (field(1, CPU + ":delta") + field(2, '{service_name="shop"}') + field(3, (NOW - 60) * 1000) +
                   field(4, (NOW + 300) * 1000))
        binary = decode(self.call_proto("SelectMergeStacktraces", request)[1][0])
        self.assertEqual(binary[3], [own])
        self.assertEqual([decode_varints(decode(l)[1][0]) for l in binary[2]],
                         [[int(v) for v in level["values"]] for level in graph["levels"]])

    def test_counts_are_there_under_their_own_id_too(self):
        graph = self.call("SelectMergeStacktraces", self.range(profileTypeID=SAMPLES, labelSelector="{}"))["flamegraph"]
        self.assertEqual(int(graph["total"]), 48)

    def test_snapshots_are_added_up_here_and_averaged_in_our_own_api(self):
        for minute, value in ((0, 10), (1, 30)):
            answer = http("POST", f"{self.running.http}/ingest?name=heap.inuse_space&format=folded"
                                  f"&from={NOW + 60 * minute}&until={NOW + 60 * minute + 10}", b"main;keep %d" % value)
            self.assertEqual(answer.status, 200, answer.body)
        self.running.flush()
        matcher = '{__type__="inuse_space"}'
        type_id, = self.call("LabelValues", self.range(name="__profile_type__", matchers=[matcher]))["names"]
        graph = self.call("SelectMergeStacktraces", self.range(profileTypeID=type_id, labelSelector="{}"))["flamegraph"]
        self.assertEqual(int(graph["total"]), 40)
        own = self.running.ask("top", query="heap", type="inuse_space", since="1d")
        self.assertEqual((own["averaged"], own["total"] // own["scale"]), (True, 20))

    def test_what_does_not_fit_is_called_other_and_totals_stay(self):
        graph = self.call("SelectMergeStacktraces",
                          self.range(profileTypeID=SAMPLES, labelSelector="{}", maxNodes=3))["flamegraph"]
        self.assertEqual(int(graph["total"]), 48)
        self.assertIn("other", graph["names"])

    def test_every_format_has_the_same_total(self):
        selection = self.range(profileTypeID=SAMPLES, labelSelector='{service_name="cart"}')
        tree = self.call("SelectMergeStacktraces", {**selection, "format": "PROFILE_FORMAT_TREE"})["tree"]
        data = base64.b64decode(tree)
        self.assertEqual(data[:3], bytes([0, 0, 1]))  # the root: no name, no value, one child
        self.assertIn(b"\x04main\x00\x02", data)
        dot = self.call("SelectMergeStacktraces", {**selection, "format": 3})["dot"]
        self.assertIn("digraph", dot)
        self.assertIn("hot", dot)
        pprof = self.call("SelectMergeStacktraces", {**selection, "format": "PROFILE_FORMAT_PPROF"})["pprof"]["profile"]
        self.assertEqual(sum(int(s["value"][0]) for s in pprof["sample"]), 18)
        self.assertEqual(len(pprof["sampleType"]), 1)
        merged = self.call("SelectMergeProfile", {**selection, "profileTypeID": CPU})
        self.assertEqual(sum(int(s["value"][0]) for s in merged["sample"]), 180_000_000)
        self.assertIn("hot", merged["stringTable"])
        unknown = self.call("SelectMergeStacktraces", {**selection, "format": "PROFILE_FORMAT_FUNCTIONS"}, status=501)
        self.assertEqual(unknown["code"], "unimplemented")

    def test_one_span_or_trace_or_profile_or_call_site(self):
        selection = self.range(profileTypeID=SAMPLES, labelSelector='{service_name="shop"}')

        def total(method="SelectMergeStacktraces", **more):
            return int(self.call(method, {**selection, **more})["flamegraph"].get("total", 0))
        self.assertEqual(total("SelectMergeSpanProfile", spanSelector=[SPAN.hex()]), 20)
        self.assertEqual(total(spanSelector=[SPAN.hex()]), 20)
        self.assertEqual(total(traceIdSelector=[TRACE.hex()]), 20)
        self.assertEqual(total(profileIdSelector=["01030103-0103-0103-0103-010301030103"]), 14)
        self.assertEqual(total(stackTraceSelector={"callSite": [{"name": "main"}, {"name": "idle"}]}), 2)
        empty = self.call("SelectMergeSpanProfile", {**selection, "spanSelector": ["00000000000000ff"]})
        self.assertEqual(empty, {"flamegraph": {"names": ["total"], "levels": [{"values": ["0"] * 4}]}})
        self.call("SelectMergeStacktraces", {**selection, "spanSelector": [SPAN.hex()], "traceIdSelector": [TRACE.hex()]},
                  status=400)

    def test_series_have_points_at_start_plus_steps(self):
        body = self.range(profileTypeID=SAMPLES, labelSelector="{}", step=60, groupBy=["service_name"])
        body["start"] = NOW * 1000
        series = self.call("SelectSeries", body)["series"]
        found = {s["labels"][0]["value"]: [(int(p["timestamp"]), p["value"]) for p in s["points"]] for s in series}
        self.assertEqual(found, {"shop": [(NOW * 1000, 14.0), ((NOW + 60) * 1000, 16.0)],
                                 "cart": [((NOW + 60) * 1000, 18.0)]})
        limited = self.call("SelectSeries", {**body, "limit": 1})["series"]
        self.assertEqual([s["labels"][0]["value"] for s in limited], ["shop"])
        average = self.call("SelectSeries", {**body, "groupBy": [], "step": 300, "start": NOW * 1000 - 1,
                                             "aggregation": "TIME_SERIES_AGGREGATION_TYPE_AVERAGE"})["series"]
        self.assertEqual([p["value"] for p in average[0]["points"]], [16.0])
        under = self.call("SelectSeries", {**body, "groupBy": [],
                                           "stackTraceSelector": {"callSite": [{"name": "main"}, {"name": "idle"}]}})
        self.assertEqual([p["value"] for p in under["series"][0]["points"]], [1.0, 2.0])
        self.call("SelectSeries", {**body, "step": 0}, status=400)

    def test_exemplars_and_heatmaps_name_single_profiles(self):
        body = self.range(profileTypeID=SAMPLES, labelSelector="{}", step=60, start=NOW * 1000,
                          exemplarType="EXEMPLAR_TYPE_INDIVIDUAL")
        points = self.call("SelectSeries", body)["series"][0]["points"]
        self.assertEqual([(p["exemplars"][0]["profileId"], p["exemplars"][0]["value"]) for p in points],
                         [("01030103-0103-0103-0103-010301030103", "14"), ("02070207-0207-0207-0207-020702070207", "18")])
        series = self.call("SelectHeatmap", {**body, "queryType": "HEATMAP_QUERY_TYPE_INDIVIDUAL"})["series"]
        slots = series[0]["slots"]
        self.assertEqual([int(s["timestamp"]) for s in slots], [NOW * 1000, (NOW + 60) * 1000])
        self.assertEqual([sum(s["counts"]) for s in slots], [1, 2])
        self.assertEqual((slots[0]["counts"][0], slots[1]["counts"][19], len(slots[0]["yMin"])), (1, 1, 20))
        self.assertEqual(slots[0]["exemplars"][0]["value"], "14")
        self.call("SelectHeatmap", {**body, "queryType": "HEATMAP_QUERY_TYPE_SPAN"}, status=501)

    def test_a_difference_has_both_sides(self):
        left = self.range(profileTypeID=SAMPLES, labelSelector='{service_name="cart"}')
        right = self.range(profileTypeID=SAMPLES, labelSelector='{service_name="shop"}')
        graph = self.call("Diff", {"left": left, "right": right})["flamegraph"]
        self.assertEqual((graph["leftTicks"], graph["rightTicks"], graph["total"]), ("18", "30", "48"))
        self.assertEqual(graph["levels"][0]["values"], ["0", "18", "0", "0", "30", "0", "0"])
        self.assertTrue(all(len(level["values"]) % 7 == 0 for level in graph["levels"]))


    # --- what the Drilldown app asks for besides ---

    def test_small_services_say_that_there_is_nothing(self):
        for method in ("settings.v1.SettingsService/Get", "settings.v1.RecordingRulesService/ListRecordingRules",
                       "capabilities.v1.FeatureFlagsService/GetFeatureFlags"):
            self.assertEqual(self.call(method, {}, service="/"), {})
        self.assertEqual(self.call("version.v1.Version/Version", {}, service="/"), {"QuerierAPI": "1"})
        self.assertEqual(self.call("vcs.v1.VCSService/GithubApp", {}, service="/", status=501)["code"], "unimplemented")

    def test_ad_hoc_profiles(self):
        adhoc = "/adhocprofiles.v1.AdHocProfileService/"

        def upload(name, content):
            return self.call("Upload", {"name": name, "profile": base64.b64encode(content).decode()}, service=adhoc)
        folded = upload("a b.txt", b"main;work 3\nmain;idle 4\n")
        self.assertRegex(folded["id"], r"^[0-9A-Z]{26}-a_b\.txt$")
        saved = json.loads(folded["flamebearerProfile"])
        self.assertEqual((saved["flamebearer"]["numTicks"], saved["metadata"]["format"]), (7, "single"))
        self.assertEqual(folded["profileTypes"], ["samples"])
        again = upload("saved.json", folded["flamebearerProfile"].encode())
        self.assertEqual(json.loads(again["flamebearerProfile"])["flamebearer"], saved["flamebearer"])
        pprof = self.running.get("/render", query=CPU + "{}", format="pprof", **{"from": NOW - 60, "until": NOW + 300})
        cpu = upload("cpu.pb.gz", pprof.body)
        self.assertEqual((cpu["profileType"], json.loads(cpu["flamebearerProfile"])["flamebearer"]["numTicks"]),
                         ("cpu", 480_000_000))
        otlp = upload("p.otlp", one_profile("svc", 9))
        self.assertEqual(json.loads(otlp["flamebearerProfile"])["flamebearer"]["numTicks"], 9)
        listed = self.call("List", {}, service=adhoc)["profiles"]
        self.assertEqual({p["id"] for p in listed}, {p["id"] for p in (folded, again, cpu, otlp)})
        got = self.call("Get", {"id": otlp["id"], "profileType": "samples", "maxNodes": "100"}, service=adhoc)
        self.assertEqual(got["flamebearerProfile"], otlp["flamebearerProfile"])
        diff = self.call("Diff", {"leftId": folded["id"], "rightId": otlp["id"]}, service=adhoc)
        diff = json.loads(diff["flamebearerProfile"])
        self.assertEqual((diff["leftTicks"], diff["rightTicks"]), (7, 9))
        for bad, status in (({"id": "nothing"}, 404), ({"id": otlp["id"], "profileType": "x"}, 400)):
            self.call("Get", bad, service=adhoc, status=status)
        self.call("Upload", {"name": "x", "profile": "AAAA"}, service=adhoc, status=400)

    # --- Pyroscope: the older routes ---

    def render(self, path="/pyroscope/render", **more):
        parameters = {"query": SAMPLES + '{service_name="shop"}', "from": NOW - 60, "until": f"{NOW + 300}000", **more}
        return self.running.get(path, **parameters)

    def test_render_gives_the_flamebearer_with_its_timeline(self):
        for path in ("/pyroscope/render", "/render"):
            answer = self.render(path, groupBy="k8s.pod.name", **{"max-nodes": 1024}).json
            self.assertEqual(answer["flamebearer"]["numTicks"], 30)
            self.assertEqual(boxes(answer["flamebearer"]["levels"])[0], [(0, 30, 0, 0)])
            self.assertEqual(answer["metadata"], {"format": "single", "spyName": "", "sampleRate": 100,
                                                  "units": "objects", "name": "samples"})
            timeline = answer["timeline"]
            self.assertEqual((timeline["startTime"], timeline["durationDelta"]), (NOW - 60, 15))
            self.assertEqual(len(timeline["samples"]), 25)
            self.assertEqual({i: v for i, v in enumerate(timeline["samples"]) if v}, {4: 14, 8: 16})
            self.assertEqual(sorted(answer["groups"]), ["shop-0", "shop-1"])
            self.assertIsNone(answer["heatmap"])
        self.assertEqual(self.render(**{"from": 0}).json["flamebearer"]["numTicks"], 30)
        cpu = self.render(query=CPU + "{}").json
        self.assertEqual((cpu["metadata"]["units"], cpu["metadata"]["sampleRate"]), ("samples", 10**9))
        self.assertIn("digraph", self.render(format="dot").body.decode())
        for bad in ({"query": ""}, {"query": "cpu{}"}, {"from": "x"}, {"format": "png"}):
            answer = self.render(**bad)
            self.assertEqual((answer.status, answer.json["code"]), (400, "invalid_argument"))

    def test_render_diff_has_both_sides(self):
        times = {side + edge: value for side in ("left", "right")
                 for edge, value in (("From", NOW - 60), ("Until", NOW + 300))}
        answer = self.running.get("/pyroscope/render-diff", leftQuery=SAMPLES + '{service_name="cart"}',
                                  rightQuery=SAMPLES + '{service_name="shop"}', **times).json
        self.assertEqual(answer["metadata"]["format"], "double")
        self.assertEqual((answer["leftTicks"], answer["rightTicks"], answer["flamebearer"]["numTicks"]), (18, 30, 48))
        answer = self.running.get("/render-diff", leftQuery=SAMPLES + "{}", rightQuery=CPU + "{}", **times)
        self.assertEqual(answer.status, 400)

    def test_older_label_routes_and_application_names(self):
        self.assertEqual(self.running.get("/pyroscope/label-values", label="__name__").json, [CPU, SAMPLES])
        self.assertEqual(self.running.get("/label-values", label="service_name").json, ["cart", "shop"])
        self.assertEqual(self.running.get("/label-values", label="service_name",
                                          query=CPU + '{"k8s.pod.name"="cart-1"}').json, ["cart"])
        self.assertIn("region", self.running.get("/labels").json)
        apps = self.running.get("/api/apps").json
        self.assertEqual([(a["name"], a["__profile_type__"]) for a in apps],
                         [(s, t) for s in ("cart", "shop") for t in (CPU, SAMPLES)])
        self.assertEqual(self.running.get("/api/v1/status/buildinfo").json["status"], "success")

    def test_go_tool_pprof_opens_a_profile_by_its_url(self):
        if not shutil.which("go"):
            self.assertNotEqual(os.environ.get("CI"), "true", "go is missing")
            print("skipped: go is not installed")
            return
        url = self.running.http + "/pyroscope/render?" + urllib.parse.urlencode(
            {"query": CPU + '{service_name="shop"}', "from": NOW - 60, "until": NOW + 300, "format": "pprof"})
        environment = {**os.environ, "PPROF_TMPDIR": str(self.folder)}
        done = subprocess.run(["go", "tool", "pprof", "-top", "-unit=ms", url], capture_output=True, text=True,
                              timeout=120, env=environment, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"Type: cpu")
        self.assertRegex(done.stdout, r"200ms 66\.67% .* hot")


class Jaeger(Case):
    """The sequence of Grafana's Jaeger datasource, with and without a prefix in its URL."""

    def setUp(self):
        super().setUp()
        self.running = self.server()
        self.start = NOW * 10**9
        event = field(11, fixed64(1, self.start + 1000) + field(2, "retry") + field(3, field(1, "n") + field(2, field(3, 2))))
        link = field(13, field(1, bytes(15) + b"\x07") + field(2, SPAN))
        count = field(9, field(1, "count") + field(2, field(3, 5)))
        self.send("shop", [{"trace": TRACE, "span": SPAN, "name": "GET /", "start": self.start,
                            "end": self.start + 5_000_000, "attributes": {"http.route": "/"}, "status": 2,
                            "extra": event + link + count}])
        self.send("cart", [{"trace": TRACE, "span": SPAN[::-1], "parent": SPAN, "name": "list",
                            "start": self.start + 1_000_000, "end": self.start + 2_000_000},
                           {"trace": bytes(8) + TRACE[:8], "span": SPAN, "name": "tick", "start": self.start + 10**9,
                            "end": self.start + 10**9 + 1000}])
        self.running.flush()

    def send(self, service, spans):
        self.assertEqual(self.running.send(spans_request(service, spans), "/v1/traces").status, 200)

    def tearDown(self):
        self.running.stop()

    def data(self, path, **parameters):
        answers = [self.running.get(prefix + path, **parameters) for prefix in ("", "/jaeger")]
        self.assertEqual(answers[0].body, answers[1].body)
        self.assertEqual(answers[0].status, 200, answers[0].body)
        self.assertIsNone(answers[0].json["errors"])
        return answers[0].json["data"]

    def test_services_and_operations(self):
        self.assertEqual(self.data("/api/services"), ["cart", "shop"])
        self.assertEqual(self.data("/api/services/cart/operations"), ["list", "tick"])
        self.assertEqual([o["name"] for o in self.data("/api/operations", service="shop")], ["GET /"])
        self.assertEqual(self.data("/api/services/nobody/operations"), [])

    def test_a_trace_by_its_id(self):
        trace, = self.data("/api/traces/" + TRACE.hex())
        self.assertEqual(trace["traceID"], TRACE.hex())
        root, child = trace["spans"]
        self.assertEqual((root["operationName"], root["startTime"], root["duration"]), ("GET /", NOW * 10**6, 5000))
        self.assertEqual(trace["processes"][root["processID"]]["serviceName"], "shop")
        self.assertEqual(trace["processes"][child["processID"]]["serviceName"], "cart")
        self.assertEqual(child["references"], [{"refType": "CHILD_OF", "traceID": TRACE.hex(), "spanID": SPAN.hex()}])
        self.assertEqual(root["references"],
                         [{"refType": "FOLLOWS_FROM", "traceID": "0000000000000007", "spanID": SPAN.hex()}])
        tags = {t["key"]: (t["type"], t["value"]) for t in root["tags"]}
        self.assertEqual(tags["http.route"], ("string", "/"))
        self.assertEqual(tags["count"], ("int64", 5))
        self.assertEqual(tags["span.kind"], ("string", "server"))
        self.assertEqual(tags["error"], ("bool", True))
        self.assertEqual(tags["otel.status_code"], ("string", "ERROR"))
        log, = root["logs"]
        self.assertEqual((log["timestamp"], log["fields"][0]["value"]), (NOW * 10**6 + 1, "retry"))
        short = TRACE[:8].hex().lstrip("0")
        self.assertEqual(self.data("/api/traces/" + short)[0]["traceID"], TRACE[:8].hex())
        for unknown, status in (("f" * 32, 404), ("xyz", 400)):
            answer = self.running.get("/api/traces/" + unknown)
            self.assertEqual((answer.status, answer.json["data"], answer.json["errors"][0]["code"]), (status, None, status))

    def test_search(self):
        def found(**parameters):
            parameters = {"service": "cart", "start": (NOW - 60) * 10**6, "end": (NOW + 60) * 10**6, "limit": 20,
                          "lookback": "custom", **parameters}
            return [t["traceID"] for t in self.data("/api/traces", **parameters)]
        first, second = TRACE.hex(), TRACE[:8].hex()
        self.assertEqual(found(), [second, first])
        self.assertEqual(found(limit=1), [second])
        self.assertEqual(found(operation="list"), [first])
        self.assertEqual(found(minDuration="500us"), [first])
        self.assertEqual(found(maxDuration="0.5ms"), [second])
        self.assertEqual(found(service="shop", tags=json.dumps({"error": "true", "http.route": "/"})), [first])
        self.assertEqual(found(service="shop", tags="span.kind=server count=5"), [first])
        self.assertEqual(found(service="shop", tags="span.kind=client"), [])
        self.assertEqual(found(start=1, end=2), [])
        for bad in ({"limit": "x"}, {"tags": "{"}, {"start": "x"}, {"minDuration": "x"}):
            self.assertEqual(self.running.get("/api/traces", service="shop", **bad).status, 400, bad)
        self.assertEqual(self.running.get("/api/traces").status, 400)

    def test_dependencies(self):
        self.assertEqual(self.data("/api/dependencies", endTs=(NOW + 60) * 1000, lookback=3600_000),
                         [{"parent": "shop", "child": "cart", "callCount": 1}])


class Tenants(Case):
    def test_with_tenants_a_request_must_say_whose_it_is(self):
        with self.server("--tenants") as server:
            answer = http("POST", server.http + SERVICE + "ProfileTypes", b"{}", {"content-type": "application/json"})
            self.assertEqual((answer.status, answer.json["code"]), (401, "unauthenticated"))
            self.assertEqual(server.send_grpc(b"", SERVICE + "ProfileTypes")[0], 16)
            answer = http("POST", server.http + SERVICE + "ProfileTypes", b"{}",
                          {"content-type": "application/json", "x-scope-orgid": "team"})
            self.assertEqual((answer.status, answer.json), (200, {}))


if __name__ == "__main__":
    unittest.main()
