#!/usr/bin/env python3
"""What only the page requests about profiles."""
import json
import socket
import time
import unittest

import ui_data
from harness import ROOT, Case, Profiles, field, fixed64, http, one_profile, packed, spans_request


def address(*names):
    """A frame's address as docs/format.md describes it, for functions without a module."""
    lanes = [0, 0]
    for name in names:
        own = [0x811C9DC5, 0x9747B28C]
        for byte in name.encode() + b"\xff":
            own = [(own[0] ^ byte) * 0x01000193 & 0xFFFFFFFF, (own[1] ^ byte) * 0x5BD1E995 & 0xFFFFFFFF]
            own[1] ^= own[1] >> 15
        for i, prime in enumerate((0x01000193, 0x5BD1E995)):
            x = ((lanes[i] << 5 | lanes[i] >> 27) & 0xFFFFFFFF ^ own[i]) * prime & 0xFFFFFFFF
            lanes[i] = x ^ x >> 16
    return f"{lanes[0]:08x}{lanes[1]:08x}"


class Queries(Case):
    def test_below_a_frame(self):
        with self.server() as server:
            p = Profiles("svc")
            p.profile([(p.stack("main", "a", "b"), 3), (p.stack("main", "a", "c"), 4), (p.stack("main", "d"), 5)])
            server.send(p.encode())
            server.flush()
            part = server.ask("flame", query="svc", type="samples", root=address("main", "a"))
            self.assertEqual([part["functions"][f][0] for f in part["function"]], ["a", "b", "c"])
            self.assertEqual((part["total"], part["depth"]), (7, [0, 1, 1]))
            self.assertEqual(server.get("/api/v1/flame", query="svc", root="0" * 15).status, 400)
            self.assertEqual(server.get("/api/v1/flame", query="svc", root="1" * 16).status, 404)

    def test_one_lens_for_the_page_the_command_and_files(self):
        with self.server() as server:
            p = Profiles("svc")
            p.profile([(p.stack("main", "a", "f", "a", "g"), 3), (p.stack("main", "b", "f"), 4), (p.stack("main", "b"), 5)])
            server.send(p.encode())
            server.flush()
            folded = lambda lens: server.get("/api/v1/export", query="svc", type="samples", format="folded", lens=lens).body.decode().splitlines()
            self.assertEqual(folded("invert"), ["b;main 5", "f;b;main 4", "g;a;f;a;main 3"])
            self.assertEqual(folded("recursion:^a$"), ["main;a;g 3", "main;b 5", "main;b;f 4"])
            self.assertEqual(folded("focus-path:main;b"), ["b 5", "b;f 4"])
            self.assertEqual(folded("merge-path:main;b"), ["main 5", "main;a;f;a;g 3", "main;f 4"])
            plain, turned = (json.loads(server.cli("top", "svc", "--type", "samples", "--json", *lens).stdout) for lens in ([], ["--lens", "invert"]))
            self.assertEqual(plain["rows"], turned["rows"])
            flame = server.ask("flame", query="svc", type="samples", lens="invert")
            self.assertIs(flame["inverted"], True)
            self.assertNotIn("inverted", server.ask("flame", query="svc", type="samples"))
            # Callers stay callers.
            for side in ("callers", "callees"):
                ask = lambda **more: server.ask("flame", query="svc", type="samples", function="f", side=side, **more)
                names = lambda answer: sorted(answer["functions"][f][0] for f in answer["function"])
                self.assertEqual(names(ask()), names(ask(lens="invert")), side)
            self.assertEqual(server.get("/api/v1/flame", query="svc", lens="focus-path:").status, 400)

    def test_one_function_from_all_its_call_sites(self):
        with self.server() as server:
            p = Profiles("svc")
            p.profile([(p.stack("main", "a", "f", "g"), 3), (p.stack("main", "b", "f"), 4), (p.stack("main", "b"), 5)])
            server.send(p.encode())
            server.flush()
            names = lambda side: [t["functions"][f][0] for t in [server.ask("flame", query="svc", type="samples", function="f", side=side)] for f in t["function"]]
            self.assertEqual(names("callees")[1:], ["f", "g"])
            self.assertEqual(names("callers")[1:], ["f", "a", "main", "b", "main"])
            self.assertIn("no function is called", server.ask("flame", query="svc", type="samples", function="x", side="callers")["hint"])
            self.assertEqual(server.get("/api/v1/flame", query="svc", function="f", side="up").status, 400)

    def test_functions_of_one_name_are_told_apart_by_module(self):
        with self.server() as server:
            p = Profiles("svc")
            p.profile([(p.stack("main", ("f", "/lib/libone.so"), "x"), 3), (p.stack("main", ("f", "/lib/libother.so"), "y"), 4)])
            server.send(p.encode())
            server.flush()
            callees = lambda **more: server.ask("flame", query="svc", type="samples", function="f", side="callees", **more)
            self.assertEqual((callees()["total"], callees(module="libone.so")["total"], callees(module="libother.so")["total"]), (7, 3, 4))
            self.assertIn("in libno.so", callees(module="libno.so")["hint"])

    def test_exports_of_a_lens_a_trace_and_a_difference(self):
        with self.server() as server:
            now = time.time_ns()
            trace, span = b"\5" * 16, b"\1" * 8
            server.send(spans_request("svc", [{"trace": trace, "span": span, "start": now, "end": now + 10**9}]), "/v1/traces")
            p = Profiles("svc")
            p.profile([(p.stack("main", "a", "b"), 3, p.link(trace, span)), (p.stack("main", "=c"), 4)])
            server.send(p.encode())
            server.flush()
            get = lambda path, **more: server.get("/api/v1/" + path, **{"type": "samples", **more})
            self.assertEqual(get("export", query="svc", format="folded", lens="hide:^a$").body, b"main;=c 4\nmain;b 3\n")
            lines = get("export", query="svc", format="csv").body.split(b"\r\n")
            self.assertEqual(lines[0], b"function,module,file,self (count),total (count),self samples,total samples")
            self.assertIn(b"'=c,,,4,4,4,4", lines)  # no spreadsheet runs it
            path = f"traces/{trace.hex()}/flame"
            self.assertEqual(get(path, format="folded").body, b"main;a;b 3\n")
            self.assertEqual(get(path, format="folded", lens="collapse:^a$").body, b"main;a 3\n")
            self.assertIn(b"<svg", get(path, format="svg").body)
            self.assertEqual(get(path, format="json", lens="drop:^b$").json["total"], 0)
            for where in (dict(path="export", query="svc", lens="hide:^a$"), dict(path=path)):
                looked = http("POST", server.http + "/api/v1/adhoc", get(**where, format="pprof").body, {"content-type": "application/octet-stream"}).json
                self.assertEqual(looked["total"], get(**where, format="folded").body.count(b"b 3") * 3 + (4 if "query" in where else 0))
            same = dict(query="svc", base_query="svc")
            self.assertEqual(get("diff", **same, format="folded").body, b"main;=c 4 4\nmain;a;b 3 3\n")
            self.assertIn(b"\r\nb,,,3,3,3,3\r\n", get("diff", **same, format="csv").body)
            self.assertEqual(get("export", query="svc", format="otlp", lens="my-code").status, 400)
            self.assertEqual(get("traces/" + "77" * 16 + "/flame", format="folded").status, 404)

    def test_settings_name_the_ports_and_what_is_kept(self):
        with self.server("--retention", "2d") as server:
            settings = server.ask("settings")
            self.assertEqual((settings["otlp_http_port"], settings["retention_ms"]), (int(server.otlp_http.rsplit(":", 1)[1]), 172_800_000))
            self.assertEqual(settings["otlp_grpc_port"], int(server.otlp_grpc.rsplit(":", 1)[1]))

    def test_top_by_total(self):
        with self.server() as server:
            p = Profiles("svc")
            p.profile([(p.stack("main", "a"), 3), (p.stack("main", "b"), 4)])
            server.send(p.encode())
            server.flush()
            rows = lambda sort: [(r["name"], r["total"]) for r in server.ask("top", query="svc", type="samples", sort=sort)["rows"]]
            self.assertEqual(rows("self"), [("b", 4), ("a", 3), ("main", 7)])
            self.assertEqual(rows("total"), [("main", 7), ("b", 4), ("a", 3)])
            self.assertEqual(server.get("/api/v1/top", query="svc", sort="name").status, 400)

    def test_a_search_looks_at_everything(self):
        with self.server() as server:
            p = Profiles("svc")
            p.profile([(p.stack("main", f"big{i:05d}"), 100) for i in range(3000)] + [(p.stack("main", "deep", "Needle", "needle::inner"), 2), (p.stack("main", "needle"), 1)])
            server.send(p.encode())
            server.flush()
            top = server.ask("top", query="svc", type="samples", limit=1000)
            self.assertFalse([r for r in top["rows"] if "eedle" in r["name"]], "too small for the rows that are sent")
            found = server.ask("top", query="svc", type="samples", limit=1000, search="NEEDLE")
            self.assertEqual([(r["name"], r["self"], r["total"]) for r in found["rows"]], [("needle::inner", 2, 2), ("needle", 1, 1), ("Needle", 0, 2)])
            matched = {"value": 3, "count": 3, "functions": 3, "nodes": 3}
            self.assertEqual((found["search"], found["total"], found["functions"], found["other"]), (matched, 300_003, top["functions"], 300_000))
            tree = server.ask("flame", query="svc", type="samples", max_nodes=50, search="needle")
            names = [tree["functions"][f][0] for f in tree["function"]]
            self.assertEqual([n for n in names if "eedle" in n], ["Needle", "needle::inner", "needle"])
            self.assertEqual((tree["search"], tree["total"], sum(tree["self"])), (matched, 300_003, 300_003))
            self.assertEqual(len(names) - names.count("other"), 50)
            self.assertNotIn("Needle", str(server.ask("flame", query="svc", type="samples", max_nodes=50)))
            # After the lens: what it takes away is not found.
            self.assertEqual(server.ask("flame", query="svc", type="samples", lens="drop:inner", search="needle")["search"]["value"], 1)
            both = server.ask("diff", query="svc", base_query="svc", type="samples", max_nodes=50, search="needle")
            self.assertEqual((both["search"]["value"], both["search"]["value_before"]), (3, 3))
            for path in ("flame", "top", "diff"):
                bad = server.get("/api/v1/" + path, query="svc", search="a(b")
                self.assertEqual((bad.status, "at character 2" in bad.json["error"]["message"]), (400, True), bad.body)
                self.assertEqual(server.get("/api/v1/" + path, query="svc", search="x" * 1001).status, 400)
            said = server.cli("top", "svc", "--type", "samples", "--search", "needle").stdout
            self.assertIn("search: 0.0 %", said)
            self.assertIn("needle::inner", said)
            self.assertNotIn("big", said)
            self.assertEqual(json.loads(server.cli("--json", "top", "svc", "--type", "samples", "--search", "needle").stdout)["search"], matched)
            self.assertIn("* needle::inner", server.cli("tree", "svc", "--type", "samples", "--search", "needle").stdout)
            self.assertIn("*big00000", server.cli("flame", "svc", "--type", "samples", "--search", "big00000|main", "--lens", "focus:big0000").stdout)
            self.assertEqual(server.cli("top", "svc", "--search", "nobody", check=False).returncode, 1)
            self.assertEqual(server.cli("top", "svc", "--search", "a(b", check=False).returncode, 2)

    def test_clients_that_go_away_leave_nothing_in_the_next_answer(self):
        with self.server() as server:
            now = time.time_ns()
            ui_data.send_large_trace(server, now, 20_000)
            server.send(one_profile("svc", 3))
            server.flush()
            host, port = server.http.removeprefix("http://").split(":")
            for i in range(80):
                with socket.create_connection((host, int(port))) as gone:
                    gone.sendall(f"GET /api/v1/traces/{ui_data.LARGE_TRACE.hex()}?format=columns HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                    time.sleep(i % 20 / 500)
                for path, parameters in (("services", {}), ("series", {"query": "svc"}), ("span-names", {})):
                    answer = server.get("/api/v1/" + path, **parameters)
                    self.assertEqual(answer.status, 200, (i, path, answer.body))

    def test_lines_of_one_file(self):
        with self.server() as server:
            p = Profiles("svc")
            stack = p.stack("main", "f", "g")
            for name, path, line in (("main", "m.cc", 1), ("f", "lib.cc", 5), ("g", "lib.cc", 9)):
                p.file(name, path, line)
            p.profile([(stack, 3)])
            server.send(p.encode())
            server.flush()
            listed = server.ask("list", query="svc", type="samples", function=".", file="lib.cc")["functions"]
            self.assertEqual(sorted((f["name"], f["lines"]) for f in listed), [("f", [[5, 0, 3]]), ("g", [[9, 3, 3]])])

    def test_times_nothing_is_stored_for_are_refused_by_name(self):
        with self.server() as server:
            def refused(path="services", **times):
                answer = server.get("/api/v1/" + path, **times)
                return answer.json["error"]["message"] if answer.status == 400 else answer.status
            now = int(time.time())
            self.assertRegex(refused(**{"from": "99999999999999"}), r"^parameter 'from': '99999999999999' is not a time from 1970 to 2261")
            self.assertRegex(refused(**{"from": str(now + 200_000)}), r"^parameter 'from': '\d+' is 20\d\d-.*Z, which is to come; Unix times may be in s, ms, us or ns")
            self.assertRegex(refused(to="2000"), r"^parameter 'to': '2000' is 1970-01-01T00:33:20Z, before anything that is stored")
            self.assertRegex(refused("diff", query="a", base_from="1", base_to="2000"), r"^parameter 'base_to'")
            for unit in (1, 10**3, 10**6, 10**9):
                self.assertEqual(refused(**{"from": str((now - 3600) * unit), "to": str(now * unit)}), 200)
            self.assertEqual(refused(**{"from": "0", "to": "2100-01-01T00:00:00Z"}), 200)

    def test_functions_without_a_module_can_be_asked_for(self):
        with self.server() as server:
            p = Profiles("svc")
            p.profile([(p.stack("main", "f"), 3), (p.stack("main", ("f", "/lib/libf.so")), 5)])
            server.send(p.encode())
            server.flush()
            listed = lambda **more: sorted((f["module"], f["self"]) for f in server.ask("list", query="svc", type="samples", function="^f$", **more)["functions"])
            self.assertEqual(listed(), [("", 3), ("libf.so", 5)])
            self.assertEqual((listed(module=""), listed(module="libf.so")), ([("", 3)], [("libf.so", 5)]))
            callers = lambda **more: server.ask("flame", query="svc", type="samples", function="f", side="callers", **more)["total"]
            self.assertEqual((callers(), callers(module=""), callers(module="libf.so")), (8, 3, 5))

    def test_heat_map(self):
        with self.server() as server:
            second = (time.time_ns() // 10**9 - 600) * 10**9
            p = Profiles("timed")
            stack = p.stack("main", "f")
            # Two observations at 0 ms, one at 41 ms of the same second; three a minute later at 999 ms.
            timed = lambda times: field(1, stack) + packed(4, [1] * len(times)) + b"".join(fixed64(5, t) for t in times)
            p.profile([timed([second, second + 10**6, second + 41 * 10**6]), timed([second + 60 * 10**9 + 999 * 10**6] * 3)], second)
            server.send(p.encode())
            q = Profiles("plain")
            for i, value in enumerate((10, 10, 100)):
                q.profile([(q.stack("main"), value)], second + i * 60 * 10**9)
            server.send(q.encode())
            server.flush()
            fine = server.ask("heatmap", query="timed", type="samples", since="15m", step="1s")
            self.assertEqual((fine["rows_are"], fine["rows"], fine["row_width"]), ("offset", 50, 20 * 10**6))
            at = lambda answer, t: (t // 10**6 - answer["start_ms"]) // answer["step_ms"]
            self.assertEqual(fine["cells"], [[at(fine, second), 0, 2], [at(fine, second), 2, 1], [at(fine, second + 60 * 10**9), 49, 3]])
            whole = server.ask("heatmap", query="plain", type="samples", since="15m", step="60s")
            self.assertEqual((whole["rows_are"], whole["rows"], whole["row_width"]), ("value", 20, 6))
            self.assertEqual([(row, count) for _, row, count in whole["cells"]], [(1, 1), (1, 1), (16, 1)])
            self.assertIn("hint", server.ask("heatmap", query="nobody"))
            self.assertEqual(server.get("/api/v1/heatmap", query="plain", step="1ms").status, 400)

    def test_overview_in_one_go(self):
        with self.server() as server:
            now = time.time_ns()
            for minute in range(4):
                p = Profiles("shop", **{"service.version": "v1" if minute < 2 else "v2", "host.name": f"h{minute % 2}",
                                        "telemetry.sdk.name": "sdk", "telemetry.sdk.version": "1.2", "telemetry.sdk.language": "cpp"})
                p.profile([(p.stack("main", "hot"), 30), (p.stack("main", "warm"), 10)], now - (4 - minute) * 60 * 10**9)
                server.send(p.encode())
            server.send(spans_request("edge", [{"trace": bytes([i]) * 16, "span": bytes([i]) * 8, "start": now - 10**9, "end": now - 10**9 + i * 10**6,
                                                "status": 2 if i == 1 else 0} for i in range(1, 101)]), "/v1/traces")
            server.cli("push", str(ROOT / "tests/golden/go_heap.pb.gz"), "--service", "heap", "--now")
            server.flush()
            answer = server.ask("overview")
            services = {s["name"]: s for s in answer["services"]}
            self.assertEqual(sorted(services), ["edge", "heap", "shop"])
            shop = services["shop"]
            self.assertEqual(sum(shop["cpu"]), 160 * 10_000_000)
            self.assertEqual((shop["versions"], shop["earlier_version"], shop["instances"], shop["senders"]), (["v2"], "v1", 2, ["sdk 1.2 (cpp)"]))
            self.assertEqual([(t["name"], t["self"]) for t in shop["top"]], [("hot", 1_200_000_000), ("warm", 400_000_000)])
            self.assertEqual(services["edge"]["latency"], {"requests": 100, "errors": 1, "median_ns": 51 * 10**6, "p99_ns": 100 * 10**6})
            self.assertEqual(services["edge"]["profiles"], 0)
            self.assertGreater(services["heap"]["heap_bytes"], 0)
            self.assertNotIn("cpu", services["heap"])
            self.assertTrue(services["heap"]["top"])

    def test_cores_are_over_the_time_in_which_a_service_could_be_seen(self):
        with self.server() as server:
            now = time.time_ns()
            server.send(one_profile("once", 500, time_ns=now - 60 * 10**9))  # 5 s of CPU time in 10 s
            server.flush()
            young = server.ask("overview")
            once = young["services"][0]
            self.assertAlmostEqual(once["cores"], 0.5, 3, "nothing was sent before it, and what came after is on its way")
            self.assertEqual((once["seen_ms"], young["observed_to_ms"] - young["observed_from_ms"]), (10_000, 10_000))
            p = Profiles("steady")
            stack = p.stack("main")
            for i in range(1, 401):  # a tenth of a core, for longer than the range
                p.profile([(stack, 100)], now - i * 10 * 10**9)
            server.send(p.encode())
            server.flush()
            answer = server.ask("overview", since="1h")
            services = {s["name"]: s for s in answer["services"]}
            whole = answer["observed_to_ms"] - answer["observed_from_ms"]
            self.assertAlmostEqual(whole, 3600_000, delta=60_000)
            self.assertAlmostEqual(services["once"]["cores"], 5 / 3600, 3)
            self.assertEqual(services["once"]["seen_ms"], 10_000)
            self.assertAlmostEqual(services["steady"]["cores"], 0.1, 2)
            self.assertGreater(services["steady"]["seen_ms"], 0.95 * whole)


if __name__ == "__main__":
    unittest.main(verbosity=1)
