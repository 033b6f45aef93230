#!/usr/bin/env python3
"""The configuration files that people have, byte for byte, in a network of their own: the ports and addresses in them are
the real ones. Needs root (unshare, a hosts file); otherwise it is skipped."""
import http.server as http_server
import os
import pathlib
import ssl
import subprocess
import sys
import threading
import time
import unittest

from gateway_config_test import COLLECTOR, seed_files
from harness import (BINARY, GRPC_SEND, PROFILES_METHOD, SPAN, TRACE, TRACES_METHOD, Case, Profiles, Server, http, one_profile,
                     spans_request, wait_until)
from profiling_test import agent_message, parse

INSIDE = "WHEREFORE_TEST_NETWORK"
PYROSCOPE = "127.0.0.10"  # another machine, so to say: the gateway under test has 4040 of 127.0.0.1


def may_have_a_network():
    return os.geteuid() == 0 and subprocess.run(["unshare", "--net", "--mount", "ip", "link", "set", "lo", "up"],
                                                capture_output=True).returncode == 0


@unittest.skipUnless(INSIDE in os.environ or may_have_a_network(), "needs root and unshare for a network of its own")
class Network(unittest.TestCase):
    def test_in_a_network_of_its_own(self):
        if INSIDE in os.environ:
            self.skipTest("is there")
        done = subprocess.run(["unshare", "--net", "--mount", sys.executable, __file__, "Inside"],
                              env={**os.environ, INSIDE: "1", "WHEREFORE_BINARY": BINARY, "WHEREFORE_GRPC_SEND": GRPC_SEND})
        self.assertEqual(done.returncode, 0)


class Vendor:
    """Port 443: TLS with a certificate of the test's authority; notes what comes, and hands it to a real server."""

    def __init__(self, certificate, key, server):
        vendor = self
        self.seen = []

        class Handler(http_server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {k.lower(): v for k, v in self.headers.items()}
                vendor.seen.append((self.path, headers))
                passed = {k: headers[k] for k in ("content-type", "content-encoding") if k in headers}
                answer = http("POST", server.otlp_http + self.path, body, passed)
                self.send_response(answer.status)
                self.send_header("content-type", answer.headers["content-type"])
                self.send_header("content-length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *unused):
                pass

        self.server = http_server.ThreadingHTTPServer(("127.0.0.1", 443), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@unittest.skipUnless(INSIDE in os.environ, "runs inside test_in_a_network_of_its_own")
class Inside(Case):
    def setUp(self):
        super().setUp()
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)

    def hosts(self, **names):
        hosts = self.folder / "hosts"
        hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {name.replace('_', '.')}\n"
                                                           for name, address in names.items()))
        subprocess.run(["mount", "--bind", str(hosts), "/etc/hosts"], check=True)
        self.addCleanup(subprocess.run, ["umount", "/etc/hosts"], check=True)

    def certificate(self, name):
        """An authority, and a certificate of its for that name: (authority, certificate, key)."""
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        openssl("req", "-x509", *key, "-days", "2", "-subj", "/CN=test authority", "-keyout", "ca.key", "-out", "ca.pem")
        openssl("req", *key, "-subj", f"/CN={name}", "-keyout", "vendor.key", "-out", "vendor.csr")
        (self.folder / "names").write_text(f"subjectAltName=DNS:{name}\n")
        openssl("x509", "-req", "-in", "vendor.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", "names", "-out", "vendor.pem")
        return (str(self.folder / file) for file in ("ca.pem", "vendor.pem", "vendor.key"))

    def gateway(self, *files):
        """The server as people start it: no port is chosen for it."""
        arguments = []
        for i, text in enumerate(files):
            path = self.folder / f"{i}.yaml"
            path.write_bytes(text.encode())
            arguments += ["--config", str(path)]
        server = Server(self.folder / "gateway")
        with open(server.log, "ab") as log:
            server.process = subprocess.Popen([BINARY, "serve", "--data", str(server.data), *arguments], stdout=log, stderr=log,
                                              stdin=subprocess.DEVNULL)
        self.addCleanup(lambda: server.process.poll() is None and server.kill())
        wait_until(lambda: (server.data / "addresses.json").exists() or server.process.poll() is not None)
        self.assertIsNone(server.process.poll(), server.log.read_text()[-2000:])
        server.http = "http://127.0.0.1:4040"
        return server

    def grpc(self, port, method, body):
        done = subprocess.run([GRPC_SEND, str(port), method], input=body, capture_output=True, check=True, timeout=60)
        status, message, _ = done.stdout.split(b"\n", 2)
        return int(status), message.decode()

    def open_to_all(self):
        """Ports that listen on 0.0.0.0."""
        rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return {int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[1].startswith("00000000:")}

    def check_collector(self, text, *more, vendor_name, token_header, token_variable):
        authority, certificate, key = self.certificate(vendor_name)
        self.hosts(**{vendor_name.replace(".", "_"): "127.0.0.1", "pyroscope": PYROSCOPE})
        backend = self.server("--no-symbols", name="vendor")  # keeps the traces
        vendor = Vendor(certificate, key, backend)
        self.addCleanup(vendor.server.server_close)
        self.addCleanup(vendor.server.shutdown)
        pyroscope = Server(self.folder / "pyroscope", "--listen", PYROSCOPE, "--no-token", "--allow-host", "pyroscope",
                           "--http-port", "4040")
        self.addCleanup(lambda: pyroscope.process.poll() is None and pyroscope.kill())
        pyroscope.start()
        os.environ.update({"SSL_CERT_FILE": authority, token_variable: "the token"})
        gateway = self.gateway(text, *more)
        self.assertEqual(self.open_to_all(), {4317, 4318, 4327})

        now = time.time_ns()
        spans = lambda trace: spans_request("shop", [{"trace": trace, "span": SPAN, "start": now - 1000, "end": now}])
        other = TRACE[::-1]
        self.assertEqual(self.grpc(4317, TRACES_METHOD, spans(TRACE)), (0, ""))
        self.assertEqual(http("POST", "http://127.0.0.2:4318/v1/traces", spans(other),
                                         {"content-type": "application/x-protobuf"}).status, 200)
        status, message = self.grpc(4317, PROFILES_METHOD, one_profile("shop", 1))
        self.assertEqual(status, 12)
        self.assertIn("send them to otlp/profiles at port 4327", message)
        p = Profiles("shop")
        deep = p.stack(*[f"f{i}" for i in range(100)])
        p.profile([(deep, 5), (p.stack("main"), 7)])
        self.assertEqual(self.grpc(4327, PROFILES_METHOD, p.encode()), (0, ""))

        wait_until(lambda: pyroscope.total("shop") == 12, 30, gateway.log.read_text()[-2000:])
        for trace in (TRACE, other):
            wait_until(lambda: backend.get("/api/v1/traces/" + trace.hex()).status == 200, 30, "no trace arrived")
        self.assertEqual({path for path, _ in vendor.seen}, {"/v1/traces"})
        self.assertEqual({headers.get(token_header) for _, headers in vendor.seen}, {"the token"})
        self.assertEqual({headers["host"] for _, headers in vendor.seen}, {vendor_name})
        return gateway, pyroscope

    def offered(self, service):
        answer = parse(http("POST", "http://127.0.0.1:4040/v1/opamp", agent_message(0, service),
                                       {"content-type": "application/x-protobuf"}).body)
        return parse(parse(parse(parse(answer[3])[1])[1])[2])[1].decode()

    def test_the_usual_file(self):
        gateway, pyroscope = self.check_collector(COLLECTOR, vendor_name="otlp.example.com", token_header="x-example-token",
                                                  token_variable="EXAMPLE_TOKEN")
        gateway.stop()
        pyroscope.stop()

    def test_the_seeds_files_together(self):
        files = list(seed_files())
        if len(files) < 3:
            self.skipTest("the seeds are not here")
        collector, selective, low = files
        self.assertIn("otlp/profiles", collector)
        gateway, pyroscope = self.check_collector(collector, low, vendor_name="otlp.oneuptime.com",
                                                  token_header="x-oneuptime-token", token_variable="ONEUPTIME_TOKEN")
        names = {row["name"] for row in pyroscope.ask("top", query="shop", type="samples", since="1h", limit="1000")["rows"]}
        self.assertIn("[truncated]", names, "max_stack_depth: 64")
        self.assertEqual({f"f{i}" for i in range(36, 100)} | {"[truncated]", "main"}, names)
        block = self.offered("any")
        for line in ("sample_rate: 1MB", "max_stack_depth: 64", "upload_interval: 10000ms"):
            self.assertIn(line, block)
        gateway.stop()

        gateway = self.gateway(selective)
        block = self.offered("any")
        for line in ("sample_rate: 100", "sample_rate: 512KB", "slow_request_threshold: 1000ms", "cpu_threshold_percent: 80",
                     "profile_errors: true"):
            self.assertIn(line, block)
        gateway.stop()


if __name__ == "__main__":
    unittest.main()
