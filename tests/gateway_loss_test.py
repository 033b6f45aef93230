#!/usr/bin/env python3
"""What is lost, and what is not: a vendor that is down with its queue full, a disk that is full, a damaged queue file."""
import os
import pathlib
import re
import socket
import subprocess
import threading
import time
import unittest

from harness import Case, free_port, http, one_profile, wait_until
from profiling_test import metric


class Loss(Case):
    def config(self, port, vendor, queue="", more=""):
        path = self.folder / "c.yaml"
        path.write_text(f"""
receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{port}'}}}}}}}}
exporters:
  wherefore:
  otlphttp/vendor:
    endpoint: http://127.0.0.1:{vendor}
    retry_on_failure: {{initial_interval: 100ms, max_interval: 500ms}}
    sending_queue: {{{queue}}}
service: {{pipelines: {{profiles: {{receivers: [otlp], exporters: [{more}otlphttp/vendor]}}}}}}
""")
        return "--config", str(path)

    def vendor(self, port):
        return self.server("--otlp-http-port", str(port), name="vendor")

    def test_a_dead_vendor_with_a_full_queue_stops_nobody(self):
        port, vendor_port = free_port(), free_port()
        server = self.server(*self.config(port, vendor_port, "queue_size: 30, sizer: requests", "wherefore, "))
        values = range(1, 201)
        for value in values:
            self.assertEqual(server.send(one_profile("shop", value, ("main", f"f{value}"))).status, 200)
        self.assertEqual(server.total("shop"), sum(values), "the store refuses nothing")
        lost = metric(server, "wherefore_lost_items_total")
        self.assertEqual(lost, 170)
        self.assertEqual(metric(server, "otelcol_exporter_enqueue_failed_profile_samples_total"), lost)
        self.assertEqual(metric(server, "otelcol_exporter_queue_size"), 30)
        self.assertIn("PROBLEM", server.cli("doctor", check=False).stdout)
        # A kill changes nothing of it, and the vendor gets all the rest when it is back.
        server.kill()
        server.start()
        vendor = self.vendor(vendor_port)
        wait_until(lambda: metric(server, "otelcol_exporter_queue_size") == 0, 30, "the queue was not emptied")
        answer = vendor.get("/api/v1/export", query="shop", type="samples", since="1h", format="folded").body.decode()
        self.assertEqual(sorted(int(line.rsplit(" ", 1)[1]) for line in answer.splitlines()), list(range(1, 31)))
        server.stop()
        vendor.stop()

    def test_a_damaged_queue_file_is_set_aside_and_the_rest_is_sent(self):
        port, vendor_port = free_port(), free_port()
        server = self.server(*self.config(port, vendor_port))
        for value in range(1, 101):
            self.assertEqual(server.send(one_profile("shop", value, ("main", f"f{value}"))).status, 200)
        server.kill()
        queue = server.data / "queue"
        file = max(queue.glob("*/entries/*.log"))
        data = bytearray(file.read_bytes())
        at = data.index(b"f50")
        data[at:at + 3] = b"XXX"
        file.write_bytes(data)
        vendor = self.vendor(vendor_port)
        server.start()
        wait_until(lambda: vendor.total("shop") >= 5050 - 50, 30, "the rest was not sent")
        wait_until(lambda: list(queue.rglob("*.bad")), 30, "the file was not set aside")
        self.assertEqual(vendor.total("shop"), 5050 - 50)
        self.assertIn("damage", server.log.read_text())
        self.assertEqual(server.send(one_profile("shop", 1000, ("main", "afterwards"))).status, 200)
        wait_until(lambda: vendor.total("shop") == 6050 - 50, 30, "it does not go on")
        server.stop()
        vendor.stop()

    def test_hostile_vendors_stop_nobody(self):
        """Silence, garbage, a body without end, and a server that asks for patience of thirty years."""
        def ask_to_wait(connection):
            connection.sendall(b"HTTP/1.1 503 Busy\r\nRetry-After: 1000000000\r\nContent-Length: 0\r\n\r\n")

        def without_end(connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                connection.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
        vendors = {"silent": lambda connection: connection.recv(1 << 30), "endless": without_end, "patient": ask_to_wait,
                   "garbage": lambda connection: connection.sendall(os.urandom(100_000))}
        ports = {name: self.hostile(talk) for name, talk in vendors.items()}
        port, path = free_port(), self.folder / "c.yaml"
        exporters = "".join(f"  otlphttp/{name}: {{endpoint: 'http://127.0.0.1:{at}', timeout: 500ms, retry_on_failure: "
                            f"{{initial_interval: 100ms}}}}\n" for name, at in ports.items())
        path.write_text(f"""
receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{port}'}}}}}}}}
exporters:
  wherefore:
{exporters}
service: {{pipelines: {{profiles: {{receivers: [otlp], exporters: [wherefore, {", ".join("otlphttp/" + name for name in vendors)}]}}}}}}
""")
        server = self.server("--config", str(path))
        for value in range(1, 101):
            self.assertEqual(server.send(one_profile("shop", value)).status, 200)
            time.sleep(0.03)
        self.assertEqual(server.total("shop"), 5050)
        resident = int(pathlib.Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * 4096 / 1e6
        print(f"100 requests to four hostile vendors: {resident:.0f} MB resident", flush=True)
        self.assertLess(resident, 1000)
        queued = {name: http("GET", server.http + "/metrics").body.decode() for name in vendors}
        for name, text in queued.items():
            size = re.search(rf'otelcol_exporter_queue_size{{exporter="otlphttp/{name}"}} (\d+)', text)
            if name in ("silent", "patient", "garbage"):
                self.assertGreater(int(size[1]), 0, f"{name}: what has no answer stays")
        begin = time.monotonic()
        server.stop()
        self.assertLess(time.monotonic() - begin, 20)

    def hostile(self, talk):
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.addCleanup(listener.close)

        def serve(connection):
            with connection:
                try:
                    connection.settimeout(20)
                    connection.recv(65536)
                    talk(connection)
                except OSError:
                    pass

        def accept():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(connection,), daemon=True).start()
        threading.Thread(target=accept, daemon=True).start()
        return listener.getsockname()[1]

    @unittest.skipUnless(os.geteuid() == 0, "needs root for a tmpfs")
    def test_a_full_disk_is_told_and_heals_alone(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=30m", "tmpfs", str(disk)], capture_output=True).returncode:
            self.skipTest("mounting a tmpfs is not allowed here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], check=False)
        port, vendor_port = free_port(), free_port()
        server = self.server(*self.config(port, vendor_port), name="disk/data")
        sent = {}

        def send(count):
            answers = set()
            for _ in range(count):
                value = len(sent) + 1
                answer = server.send(one_profile("shop", value, ("main", f"f{value}", "x" * 5000)))
                answers.add(answer.status)
                if answer.status != 200:
                    self.assertIsNotNone(answer.headers.get("retry-after"))
                    continue
                sent[value] = True
            return answers
        self.assertEqual(send(50), {200})
        with open(disk / "hog", "wb", buffering=0) as hog:
            for size in (65536, 4096, 512, 1):
                try:
                    while True:
                        hog.write(b"\0" * size)
                except OSError:
                    pass
        answers = send(2000)
        self.assertIn(503, answers)
        self.assertLessEqual(answers, {200, 503})
        self.assertIn("PROBLEM", server.cli("doctor", check=False).stdout)
        # The queue is emptied although there is no room.
        vendor = self.vendor(vendor_port)
        wait_until(lambda: metric(server, "otelcol_exporter_queue_size") == 0, 60, "the queue was not emptied on a full disk")
        self.assertEqual(vendor.total("shop"), sum(sent))
        (disk / "hog").unlink()
        wait_until(lambda: send(1) == {200}, 30, "it did not heal")
        self.assertEqual(send(50), {200})
        wait_until(lambda: vendor.total("shop") == sum(sent), 30, "not everything was sent")
        server.stop()
        vendor.stop()


if __name__ == "__main__":
    unittest.main()
