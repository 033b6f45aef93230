#!/usr/bin/env python3
"""A disk that fills up under load and is freed again, and one that turns read-only.

Needs root to mount a small tmpfs; otherwise it is skipped.
"""
import os
import subprocess
import threading
import time
import unittest

from harness import BINARY, Case, Server, free_port, http, one_profile, wait_until


def mount(*arguments):
    return subprocess.run(["mount", *arguments], capture_output=True).returncode == 0


@unittest.skipUnless(os.geteuid() == 0, "needs root for a tmpfs")
class DiskFull(Case):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        if not mount("-t", "tmpfs", "-o", "size=300m", "tmpfs", str(self.disk)):
            self.skipTest("mounting a tmpfs is not allowed here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(self.disk)], check=False)

    def start(self):
        server = Server(self.disk / "data")
        server.log = self.folder / "server.log"
        self.addCleanup(lambda: server.process and server.process.poll() is None and server.kill())
        return server.start()

    def load(self, server, stop, acknowledged, refused):
        number = 0
        while not stop.is_set():
            number += 1
            body = one_profile("full", 1, ("main", f"{number % 500:0200d}"), n=str(number))
            answer = server.send(body, timeout=30)
            if answer.status == 200:
                acknowledged.append(1)
            else:
                refused.append((answer.status, answer.headers.get("retry-after")))

    def test_fills_up_tells_senders_and_heals(self):
        server = self.start()
        stop, acknowledged, refused = threading.Event(), [], []
        sender = threading.Thread(target=self.load, args=(server, stop, acknowledged, refused))
        sender.start()
        try:
            wait_until(lambda: len(acknowledged) > 50, what="no request was taken at first")
            hog = self.disk / "hog"
            with open(hog, "wb", buffering=0) as file:  # nothing left over that closing would write
                try:
                    while True:
                        file.write(b"\0" * 65536)
                except OSError:
                    pass
            wait_until(lambda: len(refused) > 5, what="senders were not told that the disk is full")
            status, retry = refused[-1]
            self.assertIn(status, (429, 503))
            self.assertIsNotNone(retry)
            wait_until(lambda: http("GET", server.http + "/ready").status == 503, what="/ready did not say so")
            self.assertIn(b"not ready", http("GET", server.http + "/ready").body)
            self.assertIn("PROBLEM", server.cli("doctor", check=False).stdout)
            before = len(acknowledged)
            hog.unlink()
            wait_until(lambda: len(acknowledged) > before + 50, what="did not heal after space returned")
            wait_until(lambda: http("GET", server.http + "/ready").status == 200, what="/ready stayed down")
        finally:
            stop.set()
            sender.join()
        server.flush()
        self.assertEqual(server.total("full"), len(acknowledged))
        server.kill()
        server.start()
        server.flush()
        self.assertEqual(server.total("full"), len(acknowledged))
        server.stop()

    def fill(self):
        with open(self.disk / "hog", "ab", buffering=0) as file:
            for size in (65536, 4096, 512, 1):
                try:
                    while True:
                        file.write(b"\0" * size)
                except OSError:
                    pass

    def start_by_ports(self, server):
        """There may be no room for addresses.json."""
        port = free_port()
        with open(server.log, "ab") as log:
            server.process = subprocess.Popen(
                [BINARY, "serve", "--data", str(server.data), "--http-port", str(port), "--otlp-grpc-port", "0", "--otlp-http-port", "0"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        server.http = server.otlp_http = f"http://127.0.0.1:{port}"

        def answers():
            self.assertIsNone(server.process.poll(), server.log.read_text()[-2000:])
            try:
                return http("GET", server.http + "/ready").status in (200, 503)
            except OSError:
                return False
        wait_until(answers, seconds=20, what="it did not start on a full disk")

    def test_starts_reads_and_deletes_on_a_full_disk(self):
        server = self.start()
        day = 86_400 * 10**9
        for i in range(40):
            for service in ("keep", "drop"):
                body = one_profile(service, 1, ("main", f"{service}{i}" * 50), time_ns=time.time_ns() - i % 4 * day)
                self.assertEqual(server.send(body).status, 200)
        server.flush()
        wait_until(lambda: (server.data / "reserve").exists(), what="no room was set aside")
        self.fill()
        for how in ("kill", "stop", "kill"):
            getattr(server, how)()
            self.fill()
            self.start_by_ports(server)
            self.assertEqual(server.total("keep"), 40)
            self.assertEqual(server.total("drop"), 40)
        self.fill()
        self.assertIn(server.send(one_profile("keep", 1, ("main", "x" * 100_000))).status, (429, 503))
        answer = http("POST", server.http + "/api/v1/delete?query=drop&from=-30d&to=now", b"", timeout=120)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.json["profiles"], 40)
        self.assertEqual(server.total("drop"), 0)
        self.assertEqual(server.total("keep"), 40)
        wait_until(lambda: server.send(one_profile("keep", 2)).status == 200, what="what was freed cannot be used")
        server.stop()

    def test_read_only_directory_is_reported_and_heals(self):
        server = self.start()
        self.assertEqual(server.send(one_profile("ro", 1)).status, 200)
        server.flush()
        if not mount("-o", "remount,ro", str(self.disk)):
            # A file open for writing keeps a tmpfs writable; the next best thing is a full one.
            server.stop()
            self.skipTest("the kernel refuses to remount a tmpfs in use")
        try:
            self.assertIn(server.send(one_profile("ro", 2)).status, (429, 503))
            self.assertEqual(http("GET", server.http + "/ready").status, 503)
        finally:
            mount("-o", "remount,rw", str(self.disk))
        wait_until(lambda: server.send(one_profile("ro", 4)).status == 200, what="did not heal")
        server.flush()
        self.assertEqual(server.total("ro"), 5)
        server.stop()


if __name__ == "__main__":
    unittest.main(verbosity=1)
