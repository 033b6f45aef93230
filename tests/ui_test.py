#!/usr/bin/env python3
"""The page in a real browser: Debian's Chromium, the real server, really stored data (ui/e2e). No mocks."""
import json
import os
import shutil
import socket
import subprocess
import time
import unittest

import ui_data
from harness import BINARY, ROOT, Case, Profiles, field, fixed64, http, one_profile, packed, spans_request

CHROMIUM = os.environ.get("WHEREFORE_CHROMIUM", shutil.which("chromium") or "/usr/bin/chromium")


class Served(Case):
    """What the server says about the page's files."""

    def test_the_page_is_served_packed_and_safe(self):
        with self.server() as server:
            page = server.get("/")
            self.assertEqual(page.status, 200)
            self.assertEqual(page.headers["cache-control"], "no-cache")
            policy = page.headers["content-security-policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertNotIn("unsafe", policy)
            text = page.body.decode()
            script = text.split('src="')[1].split('"')[0]
            self.assertTrue(script.startswith("/assets/"), script)
            self.assertNotIn("<script>", text)
            for other in ("/s/any%2Fservice", "/diff", "/traces", "/traces/00", "/status"):
                self.assertEqual(server.get(other).body, page.body, other)
            for missing in ("/api/v1/nothing", "/v1/nothing", "/ingest/x", "/assets/nothing.js", "/favicon.ico"):
                answer = server.get(missing)
                self.assertEqual(answer.status, 404, missing)
                self.assertNotIn(b"<html", answer.body)
            for missing in ("/nope", "/s/", "/status/", "/a/b/c"):  # a browser gets the page's own 404, a program JSON
                browser = http("GET", server.http + missing, headers={"accept": "text/html,*/*;q=0.8"})
                self.assertEqual((browser.status, browser.body), (404, page.body), missing)
                self.assertEqual(browser.headers["content-security-policy"], policy)
                self.assertEqual(server.get(missing).json["error"]["code"], "not_found")
            for wrong in ("/s/%E0%A4%A", "/100%"):  # an address that cannot be decoded: the page says so
                browser = http("GET", server.http + wrong, headers={"accept": "text/html,*/*;q=0.8"})
                self.assertEqual((browser.status, browser.body), (400, page.body), wrong)
                self.assertEqual(browser.headers["content-security-policy"], policy)
                self.assertEqual(server.get(wrong).json["error"]["code"], "invalid")
            self.assertEqual(http("GET", server.http + "/api/v1/%A", headers={"accept": "text/html"}).json["error"]["code"], "invalid")
            for missing in ("/api/v1/nothing", "/assets/nothing.js"):
                answer = http("GET", server.http + missing, headers={"accept": "text/html"})
                self.assertEqual((answer.status, answer.json["error"]["code"]), (404, "not_found"), missing)
            plain = server.get(script)
            packed = http("GET", server.http + script, headers={"accept-encoding": "gzip"})
            self.assertEqual(packed.headers["content-encoding"], "gzip")
            self.assertIn("immutable", packed.headers["cache-control"])
            self.assertIn("javascript", packed.headers["content-type"])
            self.assertIsNone(plain.headers["content-encoding"])
            self.assertLess(len(packed.body), 45_000, "the first page's script is over its budget")
            self.assertGreater(len(plain.body), len(packed.body))

    def test_push_prints_the_page_s_address(self):
        with self.server() as server:
            said = server.cli("push", str(ROOT / "tests/golden/go_cpu.pb.gz"), "--service", "a/b", "--now").stdout
            self.assertIn(f"{server.http}/s/a%2Fb?type=cpu&since=1h", said)


class Questions(Case):
    """What the page asks that others do not."""

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

    def test_files_are_looked_at_and_dropped(self):
        with self.server() as server:
            post = lambda body, kind="application/octet-stream", query="": http("POST", server.http + "/api/v1/adhoc" + query, body, {"content-type": kind})
            one = post(b"main;a 3\nmain;b 4\n").json
            self.assertEqual((one["total"], [one["functions"][f][0] for f in one["function"]][1:]), (7, ["main", "a", "b"]))
            self.assertEqual(post(b"main;a 3\nmain;b 4\n", query="?lens=drop:%5Ea%24").json["total"], 4)
            form = (b'--x\r\nContent-Disposition: form-data; name="file"; filename="b"\r\n\r\nmain;a 5\n\r\n'
                    b'--x\r\nContent-Disposition: form-data; name="base"; filename="a"\r\n\r\nmain;a 2\n\r\n--x--\r\n')
            both = post(form, "multipart/form-data; boundary=x").json
            self.assertEqual((both["total"], both["total_before"]), (5, 2))
            for bad in (b"", b"\x00\x01nonsense"):
                self.assertEqual(post(bad).status, 400, bad)
            golden = post((ROOT / "tests/golden/go_cpu.pb.gz").read_bytes()).json
            self.assertIn("cpu", golden["types"])
            self.assertEqual(server.ask("services", since="3000d")["services"], [])

    def test_files_that_cannot_be_read_are_named(self):
        with self.server() as server:
            def post(query="", **files):
                parts = "".join(f'--x\r\nContent-Disposition: form-data; name="{key}"; filename="{name}"\r\n\r\n{text}\r\n' for key, (name, text) in files.items())
                return http("POST", server.http + "/api/v1/adhoc" + query, (parts + "--x--\r\n").encode(), {"content-type": "multipart/form-data; boundary=x"})
            good, bad = "main;a 1\n", "\x00\x01nonsense"
            message = lambda answer: (answer.status, answer.json["error"]["message"].split(":")[0])
            self.assertEqual(message(post(file=("new.txt", good), base=("old.txt", bad))), (400, "before (old.txt)"))
            self.assertEqual(message(post(file=("new.txt", bad), base=("old.txt", good))), (400, "after (new.txt)"))
            self.assertEqual(message(post(file=("only.txt", ""))), (400, "only.txt"))
            both = {"file": ("b", "main;a 5\nmain;c 1\n"), "base": ("a", "main;a 2\nmain;b 9\n")}
            self.assertEqual(post("?format=folded", **both).body, b"main;a 2 5\nmain;b 9 0\nmain;c 0 1\n")
            self.assertIn(b"\r\nb,,,9,0,9,0\r\n", post("?format=csv", **both).body)
            self.assertEqual(post("?format=speedscope", **both).status, 400)

    def test_a_file_is_kept_by_sending_it_on_as_otlp(self):
        with self.server() as server:
            form = lambda query, body: http("POST", server.http + "/api/v1/adhoc?" + query, body, {"content-type": "application/octet-stream"})
            golden = (ROOT / "tests/golden/go_cpu.pb.gz").read_bytes()
            shown = form("type=cpu", golden).json
            self.assertGreater(shown["file"]["time_ms"], 0)
            self.assertTrue(shown["file"]["can_be_kept"])
            otlp = form("format=otlp&service=kept", golden)
            self.assertEqual(server.send(otlp.body).status, 200)
            server.flush()
            at = shown["file"]["time_ms"]
            stored = server.ask("flame", query="kept", type="cpu", **{"from": at - 1, "to": at + 60_000})
            self.assertEqual((stored["total"], stored["count"]), (shown["total"], shown["count"]))
            server.send(form("format=otlp&service=moved&time=now", golden).body)
            server.flush()
            self.assertEqual(server.ask("flame", query="moved", type="cpu")["total"], shown["total"])
            self.assertNotIn("time_ms", form("", b"main;a 3\n").json["file"])
            self.assertEqual(form("format=otlp&time=yesterday", golden).status, 400)
            picture = b'{"flamebearer":{"names":["total","a"],"levels":[[0,3,0,0],[0,3,3,1]],"numTicks":3,"maxSelf":3},"metadata":{"format":"single"},"version":1}'
            self.assertFalse(form("", picture).json["file"]["can_be_kept"])
            self.assertEqual(form("format=otlp", picture).status, 501)

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

    def test_a_span_and_those_below(self):
        with self.server() as server:
            now = time.time_ns()
            trace, root, child, leaf = bytes(range(1, 17)), b"\1" * 8, b"\2" * 8, b"\3" * 8
            server.send(spans_request("svc", [{"trace": trace, "span": s, "parent": parent, "start": now, "end": now + 10**9}
                                              for s, parent in ((root, b""), (child, root), (leaf, child))]), "/v1/traces")
            p = Profiles("svc")
            p.profile([(p.stack("main", n), v, p.link(trace, s)) for n, v, s in (("a", 1, root), ("b", 10, child), ("c", 100, leaf))])
            server.send(p.encode())
            server.flush()
            total = lambda **more: int(server.ask(f"traces/{trace.hex()}/flame", type="samples", **more)["total"])
            self.assertEqual([total(), total(span=child.hex()), total(span=child.hex(), subtree="true"), total(span=root.hex(), subtree="true")],
                             [111, 10, 110, 111])
            self.assertEqual(server.get(f"/api/v1/traces/{trace.hex()}/flame", subtree="1").status, 400)


    def test_why_a_span_has_no_samples(self):
        with self.server() as server:
            now = time.time_ns()
            trace, other = b"\x0b" * 16, b"\x0c" * 16
            spans = {"bare": 40, "unlinked": 50, "linked": 4, "waiting": 900}
            for i, (service, ms) in enumerate(spans.items()):
                server.send(spans_request(service, [{"trace": trace, "span": bytes([i + 1]) * 8, "start": now - 10**9, "end": now - 10**9 + ms * 10**6}]), "/v1/traces")
            server.send(one_profile("unlinked", 3, time_ns=now - 5 * 10**9))
            server.send(one_profile("bare", 3, time_ns=now - 3600 * 10**9))  # profiled, but long before
            for service in ("linked", "waiting"):
                p = Profiles(service)
                p.profile([(p.stack("main"), 1, p.link(other, b"\x63" * 8))], now - 5 * 10**9)
                server.send(p.encode())
            server.flush()
            why = lambda i: server.ask(f"traces/{trace.hex()}/flame", span=(bytes([i + 1]) * 8).hex())["hint"]
            self.assertIn("bare sent no profiles around that time", why(0))
            self.assertIn("wherefore run --service bare", why(0))
            self.assertIn("unlinked was profiled (1 profile around", why(1))
            self.assertIn("does not link spans", why(1))
            self.assertIn("took 4 ms, and there is one sample per 10 ms of CPU time: too short", why(2))
            self.assertIn("took 900 ms with one sample per 10 ms of CPU time", why(3))
            self.assertIn("off-CPU profiles show waiting", why(3))
            whole = server.ask(f"traces/{trace.hex()}/flame")["hint"]
            for service in spans:
                self.assertIn(service, whole)
            self.assertIn("no such span", server.ask(f"traces/{trace.hex()}/flame", span="77" * 8)["hint"])

    def test_a_short_span_beside_an_inner_span_with_samples_was_too_short(self):
        """A profiler that links one inner span links all: nothing of the others lies under the local root."""
        with self.server() as server:
            ui_data.send_traces(server, time.time_ns())
            server.flush()
            checkout, parse, db = (ui_data.span_id(11, n).hex() for n in (1, 2, 3))
            flame = lambda **more: server.ask(f"traces/{ui_data.trace_id(11).hex()}/flame", type="samples", **more)
            self.assertEqual(flame()["by_span"], {checkout: 2, parse: 14})
            answer = flame(span=db)
            self.assertNotIn("filed_under", answer)
            self.assertIn("took 3 ms, and there is one sample per 10 ms of CPU time: too short", answer["hint"])
            self.assertNotIn("local root", answer["hint"])

    def test_a_whole_trace_has_samples_of_profilers_that_know_only_spans(self):
        with self.server() as server:
            now = time.time_ns()
            trace, other, spans = b"\5" * 16, b"\6" * 16, [bytes([20 + i]) * 8 for i in range(3)]
            server.send(spans_request("svc", [{"trace": trace, "span": s, "parent": b"" if i == 0 else spans[0], "start": now + i * 10**6, "end": now + 10**9}
                                              for i, s in enumerate(spans)]), "/v1/traces")
            server.send(spans_request("svc", [{"trace": other, "span": b"elsewher", "start": now, "end": now + 10**9}]), "/v1/traces")
            p = Profiles("svc")
            p.profile([(p.stack("main", "a"), 1, p.link(trace, spans[0])), (p.stack("main", "b"), 10, p.link(bytes(16), spans[2])),
                       (p.stack("main", "c"), 100, p.link(bytes(16), b"elsewher"))], now)
            server.send(p.encode())
            server.flush()
            answer = server.ask(f"traces/{trace.hex()}/flame", type="samples")
            self.assertEqual((answer["total"], answer["by_span"]), (11, {spans[0].hex(): 1, spans[2].hex(): 10}))

    def test_a_search_lists_traces_however_many_spans_match(self):
        with self.server() as server:
            now = time.time_ns()
            many = [{"trace": b"\7" * 16, "span": i.to_bytes(8, "big"), "start": now - i, "end": now + 10**6} for i in range(1, 500)]
            server.send(spans_request("svc", many), "/v1/traces")
            server.send(spans_request("svc", [{"trace": bytes([9, i]) * 8, "span": bytes([i]) * 8, "start": now - 10**9, "end": now} for i in range(1, 5)]), "/v1/traces")
            server.flush()
            found = server.ask("traces", limit=3)["traces"]
            self.assertEqual([len(t["matched"]) for t in found], [20, 1, 1])
            self.assertEqual((found[0]["trace"], found[0]["spans"]), ((b"\7" * 16).hex(), 499))
            self.assertEqual(len(server.ask("traces", limit=10)["traces"]), 5)

    def test_spans_as_columns_and_one_by_one(self):
        with self.server() as server:
            now = time.time_ns()
            trace, root, child, lost = b"\5" * 16, b"\1" * 8, b"\2" * 8, b"\3" * 8
            server.send(spans_request("svc", [
                {"trace": trace, "span": root, "name": "a", "start": now, "end": now + 100},
                {"trace": trace, "span": child, "parent": root, "name": "b", "start": now + 10, "end": now + 20, "status": 2, "attributes": {"k": "v"}},
                {"trace": trace, "span": lost, "parent": b"nowhere!", "name": "a", "start": now + 30, "end": now + 31}]), "/v1/traces")
            server.flush()
            path = f"traces/{trace.hex()}"
            t = server.ask(path, format="columns")
            self.assertEqual((t["span"], t["parent"], t["status"], t["start"], t["duration"]), ([root.hex(), child.hex(), lost.hex()], [-1, 0, -2], [0, 2, 0], [0, 10, 30], [100, 10, 1]))
            self.assertEqual([t["strings"][n] for n in t["name"]], ["a", "b", "a"])
            self.assertEqual(int(t["start_ns"]), now)
            one = server.ask(path, span=child.hex())["spans"]
            self.assertEqual([(s["name"], s["attributes"]) for s in one], [("b", {"k": "v"})])
            self.assertEqual(server.get("/api/v1/" + path, format="rows").status, 400)

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

    def test_a_file_is_searched_before_it_is_cut(self):
        many = "".join(f"main;big{i:05d} 100\n" for i in range(5000)) + "main;big00000;needle::inner 3\n"
        with self.server() as server:
            ask = lambda **more: http("POST", server.http + "/api/v1/adhoc?" + "&".join(f"{k}={v}" for k, v in more.items()), many.encode()).json
            plain, found = ask(max_nodes=100), ask(max_nodes=100, search="NEEDLE")
            names = lambda answer: {f[0] for f in answer["functions"]}
            self.assertNotIn("needle::inner", names(plain))
            self.assertNotIn("search", plain)
            self.assertIn("needle::inner", names(found))
            self.assertEqual((found["search"]["value"], found["search"]["nodes"], found["total"]), (3, 1, plain["total"]))
            self.assertEqual(http("POST", server.http + "/api/v1/adhoc?search=a(b", many.encode()).status, 400)

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

    def test_from_a_function_to_its_traces(self):
        with self.server() as server:
            now = time.time_ns()
            traces = [bytes([i]) * 16 for i in (1, 2, 3)]
            for i, trace in enumerate(traces):
                server.send(spans_request("svc", [{"trace": trace, "span": bytes([10 + i]) * 8, "name": f"op{i}", "start": now - i, "end": now - i + (i + 1) * 10**9, "parent": b"notcome!" if i == 1 else b""}]), "/v1/traces")
            p = Profiles("svc")
            f, other = p.stack("main", "f", "g"), p.stack("main", "h")
            p.profile([(f, 3, p.link(traces[0], bytes([10]) * 8)), (f, 7, p.link(traces[1], bytes([11]) * 8)), (p.stack("main", "f"), 1, p.link(traces[1], bytes([11]) * 8)),
                       (other, 50, p.link(traces[2], bytes([12]) * 8)), (f, 100),
                       (f, 5, p.link(bytes(16), bytes([12]) * 8)), (f, 2, p.link(bytes(16), b"nospan!!"))], now)
            p.profile([(f, 1000, p.link(traces[2], bytes([12]) * 8))], now - 7200 * 10**9)
            server.send(p.encode())
            server.flush()
            ask = lambda **more: server.ask("function-traces", **{"query": "svc", "type": "samples", "function": "f", **more})
            answer = ask()
            self.assertEqual([(t["trace"], t["value"], t["count"]) for t in answer["traces"]],
                             [(traces[1].hex(), 8, 8), (traces[2].hex(), 5, 5), (traces[0].hex(), 3, 3), ("", 2, 2)])
            self.assertEqual((answer["value"], answer["linked_value"], answer["found"]), (118, 18, 4))
            self.assertEqual([t["root_missing"] for t in answer["traces"]], [True, False, False, False])
            first = answer["traces"][0]
            self.assertEqual((first["root_name"], first["duration_ns"], [(s["name"], s["value"]) for s in first["seen_in"]]), ("op1", 2 * 10**9, [("op1", 8)]))
            cut = ask(limit=1)
            self.assertEqual((len(cut["traces"]), cut["found"], cut["linked_value"]), (1, 4, 18))
            orders = {sort: [t["trace"][:2] for t in ask(sort=sort)["traces"]] for sort in ("value", "duration", "time")}
            self.assertEqual(orders, {"value": ["02", "03", "01", ""], "duration": ["03", "02", "01", ""], "time": ["01", "02", "03", ""]})
            self.assertEqual([t["trace"] for t in ask(sort="duration", limit=1)["traces"]], [traces[2].hex()])
            self.assertEqual(server.get("/api/v1/function-traces", query="svc", function="f", sort="name").status, 400)
            self.assertEqual(ask(since="3h")["value"], 1118)
            self.assertEqual(ask(function="h")["traces"][0]["trace"], traces[2].hex())
            self.assertEqual([t["value"] for t in ask(module="")["traces"]], [8, 5, 3, 2])
            self.assertIn("no function is called", ask(module="libother.so")["hint"])
            self.assertIn("no function is called", ask(function="x")["hint"])
            server.send(one_profile("plain", 3, ("main", "f")))
            server.flush()
            self.assertIn("linked to a span", ask(query="plain")["hint"])
            self.assertEqual(server.get("/api/v1/function-traces", query="svc").status, 400)

    def test_source_only_below_a_root_and_named_by_a_profile(self):
        root, outside = self.folder / "root", self.folder / "outside"
        (root / "src/deep").mkdir(parents=True)
        outside.mkdir()
        (root / "src/a.cc").write_text("int a;\n")
        (root / "src/deep/b.cc").write_text("caf\u00e9\n")
        (root / "src/latin.cc").write_bytes(b"caf\xe9\n")
        (root / "unnamed.cc").write_text("secret\n")
        (root / "src/binary.o").write_bytes(b"\x7fELF\0\0")
        (root / "src/huge.cc").write_bytes(b"x" * (4 * 2**20 + 1))
        (root / "src/empty.cc").write_text("")
        (outside / "secret.cc").write_text("secret\n")
        (root / "src/link_in.cc").symlink_to(root / "src/a.cc")
        (root / "src/link_out.cc").symlink_to(outside / "secret.cc")
        (root / "src/out").symlink_to(outside)
        os.mkfifo(root / "src/pipe.cc")
        names = ["/build/x/src/a.cc", "src/deep/b.cc", "C:\\work\\src\\a.cc", "src/latin.cc", "src/binary.o", "src/huge.cc", "src/empty.cc", "src/link_in.cc", "src/link_out.cc",
                 "src/out/secret.cc", "../outside/secret.cc", "src/../../outside/secret.cc", str(outside / "secret.cc"), "/etc/passwd", "src", "src/pipe.cc", "src/missing.cc", "src/a.cc\0.cc"]
        with self.server("--source-root", str(root), "--repository-template", "https://host/{service}/blob/{version}/{path}#L{line}") as server:
            p = Profiles("svc")
            for i, name in enumerate(names):
                p.file(f"f{i}", name)
            p.profile([(p.stack("main", *(f"f{i}" for i in range(len(names)))), 1)])
            server.send(p.encode())
            server.flush()
            get = lambda file, **more: server.get("/api/v1/source", **{"query": "svc", "file": file, **more})
            for named, path, text in (("/build/x/src/a.cc", "src/a.cc", "int a;\n"), ("C:\\work\\src\\a.cc", "src/a.cc", "int a;\n"), ("src/deep/b.cc", "src/deep/b.cc", "caf\u00e9\n"),
                                      ("src/latin.cc", "src/latin.cc", "caf\ufffd\n"), ("src/empty.cc", "src/empty.cc", ""), ("src/link_in.cc", "src/a.cc", "int a;\n")):
                answer = get(named)
                self.assertEqual(answer.status, 200, (named, answer.body))
                self.assertEqual((answer.json["path"], answer.json["text"]), (path, text))
            for named in names[8:]:
                answer = get(named)
                self.assertEqual(answer.status, 404, (named, answer.body))
                self.assertNotIn(b"secret\\n", answer.body)
                self.assertNotIn(b"root:", answer.body)
            self.assertEqual((get("src/binary.o").status, get("src/huge.cc").status), (400, 429))
            for unnamed in ("unnamed.cc", "src/a.cc", str(root / "src/a.cc")):
                self.assertIn(b"no profile", get(unnamed).body)
                self.assertEqual(get(unnamed).status, 404)
            self.assertEqual(get("src/deep/b.cc", query="other").status, 404)
            self.assertEqual(get("").status, 400)
            settings = server.ask("settings")
            self.assertEqual((settings["source"], settings["repository_template"]), (True, "https://host/{service}/blob/{version}/{path}#L{line}"))
        with self.server(name="none") as server:
            settings = server.ask("settings")
            self.assertEqual((settings["source"], settings["repository_template"]), (False, ""))
            self.assertIn(b"--source-root", server.get("/api/v1/source", query="svc", file="a.cc").body)
        bad = subprocess.run([BINARY, "serve", "--repository-template", "javascript:alert(1)"], capture_output=True, text=True, timeout=30)
        self.assertEqual(bad.returncode, 2)
        self.assertIn("http(s)", bad.stderr)

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


class Browser(Case):
    def test_from_the_overview_to_one_span(self):
        if not os.path.exists(CHROMIUM):
            if os.environ.get("CI") == "true":
                self.fail("chromium is missing: tools/setup test installs it")
            self.skipTest("chromium is missing: tools/setup test installs it")
        with self.server(*ui_data.serve_options(ROOT)) as server:
            ui_data.send_all(server)
            done = subprocess.run([str(ROOT / "tools/ui"), "node", str(ROOT / "ui/e2e/run.mjs")], timeout=800,
                                  env={**os.environ, "PAGE": server.http, "CHROMIUM": CHROMIUM, "TEMP_FOLDER": str(self.folder), "GOLDEN": str(ROOT / "tests/golden")})
            self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=1)
