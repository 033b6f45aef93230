#!/usr/bin/env python3
"""The page in a real browser: Debian's Chromium, the real server, stored data (ui/e2e). No mocks."""
import os
import shutil
import subprocess
import unittest

import many_services_test
import ui_data
from harness import ROOT, Case, http, one_profile

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


class WithBrowser(Case):
    """Runs scripts of ui/e2e; has no tests of its own."""

    def browse(self, server, script, timeout, **environment):
        done = subprocess.run([str(ROOT / "tools/ui"), "node", str(ROOT / "ui/e2e" / script)], timeout=timeout,
                              env={**os.environ, "PAGE": server.http, "CHROMIUM": CHROMIUM, "TEMP_FOLDER": str(self.folder), **environment})
        self.assertEqual(done.returncode, 0)

    def setUp(self):
        super().setUp()
        if not os.path.exists(CHROMIUM):
            if os.environ.get("CI") == "true":
                self.fail("chromium is missing: tools/setup test installs it")
            self.skipTest("chromium is missing: tools/setup test installs it")


class Browser(WithBrowser):
    def test_from_the_overview_to_one_span(self):
        with self.server(*ui_data.serve_options(ROOT)) as server:
            ui_data.send_all(server)
            self.browse(server, "run.mjs", 800, GOLDEN=str(ROOT / "tests/golden"))

    def test_three_thousand_services(self):
        with self.server() as server:
            many_services_test.send(server, 3000)
            many_services_test.send_spans(server, 300)
            for host in range(300):
                server.send(one_profile("crowd", 1, **{"host.name": f"host-{host}"}))
            server.flush()
            self.browse(server, "many.mjs", 200)


if __name__ == "__main__":
    unittest.main(verbosity=1)
