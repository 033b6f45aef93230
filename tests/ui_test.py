#!/usr/bin/env python3
"""The page in a real browser: Debian's Chromium, the real server, really stored data (ui/e2e). No mocks."""
import os
import shutil
import subprocess
import time
import unittest

import ui_data
from harness import ROOT, Case, Profiles, http, spans_request

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
        with self.server() as server:
            ui_data.send_all(server)
            done = subprocess.run([str(ROOT / "tools/ui"), "node", str(ROOT / "ui/e2e/run.mjs")], timeout=280,
                                  env={**os.environ, "PAGE": server.http, "CHROMIUM": CHROMIUM, "TEMP_FOLDER": str(self.folder)})
            self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=1)
