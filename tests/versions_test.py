#!/usr/bin/env python3
"""Data directories, logs and backups of earlier versions open and restore.

tests/golden/directory-1.tar.xz was made by the last program of directory version 1, with --tenants: some rows in the
engine, then a
backup, then rows in the log only, then kill -9. A new one is made when the version increases, by the last program
before the change: directory-3.tar.xz has a service in two versions, a span and a silence (version 2 lacked only a table)."""
import subprocess
import tarfile
import unittest

from harness import BINARY, ROOT, TRACE, Case, Server, http, one_profile, wait_until
from pyroscope_test import PUSH, pprof, push

START = 1_794_700_000_000_000_000
DAY = 86_400 * 10**9
TEAM = {"x-scope-orgid": "team"}


def heap(allocated, second):
    profile = pprof([("alloc_space", "bytes")], [(("main", "a"), [allocated], {})], ("space", "bytes", 524288),
                    time_ns=START + second * 10**9)
    return push(({"__name__": "memory", "service_name": "shop", "instance": "i"}, [profile]))


class Versions(Case):
    def setUp(self):
        super().setUp()
        with tarfile.open(ROOT / "tests/golden/directory-1.tar.xz") as archive:
            archive.extractall(self.folder)

    def total(self, server, type="samples", tenant=None):
        answer = http("GET", f"{server.http}/api/v1/top?query=shop&type={type}&since=3000d", headers=tenant or {})
        self.assertEqual(answer.status, 200, answer.body)
        return int(answer.json["total"])

    def test_a_directory_of_version_1_opens_with_its_log(self):
        with self.server("--tenants") as server:
            self.assertEqual(self.total(server), 42, "what was inserted, and what was only logged")
            self.assertEqual(self.total(server, tenant=TEAM), 30)
            self.assertEqual(self.total(server, "alloc_space", TEAM), 130)
            self.assertEqual(len(server.ask(f"traces/{TRACE.hex()}")["spans"]), 1)
            # A request that was only in the log, and one in identities.log, sent again.
            self.assertEqual(server.send(one_profile("shop", 12, names=("main", "logged"), time_ns=START + 10**9)).status, 200)
            self.assertEqual(server.send(one_profile("shop", 30, time_ns=START), headers=TEAM).status, 200)
            self.assertEqual(http("POST", server.http + PUSH, heap(150, 3), {"content-type": "application/proto", **TEAM}).status, 200)
            server.flush()
            self.assertEqual(self.total(server), 42)
            self.assertEqual(self.total(server, tenant=TEAM), 30)
            self.assertEqual(self.total(server, "alloc_space", TEAM), 150, "counted on from its base")
            self.assertEqual((server.data / "schema").read_text().split()[0], "4")
            self.assertEqual([], [p for part in server.ask("status")["parts"] for p in part.get("problems", [])])

    def test_a_backup_of_version_1_restores(self):
        done = subprocess.run([BINARY, "restore", str(self.folder / "backup"), "--data", str(self.folder / "restored")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with Server(self.folder / "restored", "--tenants") as server:
            self.assertEqual(self.total(server), 30)
            self.assertEqual(self.total(server, "alloc_space", TEAM), 100)

    def test_a_newer_directory_is_refused(self):
        (self.folder / "data/schema").write_text("5\n")
        done = subprocess.run([BINARY, "serve", "--data", str(self.folder / "data"), "--http-port", "0", "--otlp-grpc-port", "0",
                               "--otlp-http-port", "0"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 3)
        self.assertIn("newer version", done.stderr)


class Version3(Case):
    def setUp(self):
        super().setUp()
        with tarfile.open(ROOT / "tests/golden/directory-3.tar.xz") as archive:
            archive.extractall(self.folder)

    def test_a_directory_of_version_3_gets_its_hours(self):
        with self.server("--hours-wait", "1s") as server:
            self.assertEqual(server.total("shop"), 42, "what was inserted, and what was only logged")
            self.assertEqual(len(server.ask("traces/" + TRACE.hex())["spans"]), 1)
            self.assertIn("known", server.get("/api/v1/silences").body.decode())
            self.assertEqual(server.ask("regressions")["total"], 0)
            wait_until(lambda: "hours" in {day["kind"] for day in server.ask("storage")["days"]})
            day = {"from": str(START - 2 * DAY), "to": str(START + DAY)}
            for query, total in (("shop", 42), ("shop{service.version=v2}", 12)):
                answer = server.ask("top", query=query, type="samples", **day)
                self.assertEqual((int(answer["total"]), answer["tier"]), (total, "hours"))
            self.assertEqual((server.data / "schema").read_text().split()[0], "4")
            self.assertEqual([], [p for part in server.ask("status")["parts"] for p in part.get("problems", [])])

    def test_a_backup_of_version_3_restores(self):
        done = subprocess.run([BINARY, "restore", str(self.folder / "backup"), "--data", str(self.folder / "restored")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with Server(self.folder / "restored") as server:
            self.assertEqual(server.total("shop"), 30)


if __name__ == "__main__":
    unittest.main()
