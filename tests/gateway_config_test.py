#!/usr/bin/env python3
"""Configurations of pipelines: `wherefore check`, a server that runs one, and reloads."""
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
import unittest
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

from harness import (BINARY, GRPC_SEND, PROFILES_METHOD, ROOT, SPAN, TRACE, TRACES_METHOD, Case, Profiles, free_port, http,
                     one_profile, spans_request, wait_until)
from pyroscope_test import PUSH, cpu, push

# The file most people begin with, in the shape of the collector's documentation.
COLLECTOR = """receivers:
  otlp:
    protocols:
      grpc:
        endpoint: 0.0.0.0:4317
      http:
        endpoint: 0.0.0.0:4318
  # Experimental: OTLP profiles receiver
  otlp/profiles:
    protocols:
      grpc:
        endpoint: 0.0.0.0:4327

processors:
  batch:
    timeout: 1s
  resource:
    attributes:
    - key: service.name
      from_attribute: service.name
      action: upsert

exporters:
  otlphttp/traces:
    endpoint: https://otlp.example.com
    headers:
      x-example-token: ${EXAMPLE_TOKEN}
  otlphttp/pyroscope:
    endpoint: http://pyroscope:4040

service:
  pipelines:
    traces:
      receivers: [otlp]
      processors: [batch, resource]
      exporters: [otlphttp/traces]
    profiles:
      receivers: [otlp/profiles]
      processors: [batch]
      exporters: [otlphttp/pyroscope]
"""


def seed_files():
    """The YAML of the seeds, byte for byte, where they are at hand: a collector's file and two of `profiling:`."""
    folder = ROOT.parent / "shared/seeds"
    for seed in sorted(folder.glob("000*.txt")):
        for block in re.findall(r"```yaml\n(.*?)```", seed.read_text(), re.S):
            if not block.startswith("# docker-compose"):
                yield block


class Peer:
    """An OTLP/HTTP server that remembers what it was sent."""

    def __init__(self):
        peer = self
        self.requests = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                peer.requests.append((self.path, dict(self.headers), body))
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *unused):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Check(Case):
    def check(self, text, *arguments, env=None):
        (self.folder / "c.yaml").write_text(text)
        return subprocess.run([BINARY, "check", "c.yaml", *arguments], cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, **(env or {})})

    def test_the_usual_file(self):
        done = self.check(COLLECTOR)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("c.yaml:27:24: warning: the variable EXAMPLE_TOKEN is not set", done.stdout)
        self.assertIn("no store, 0 errors, 1 warnings", done.stdout)
        self.assertEqual(self.check(COLLECTOR, "--strict").returncode, 1)
        self.assertEqual(self.check(COLLECTOR, "--strict", env={"EXAMPLE_TOKEN": "x"}).returncode, 0)

    def test_the_seeds_files_as_they_are(self):
        files = list(seed_files())
        if not files:
            self.skipTest("the seeds are not here")
        self.assertEqual(len(files), 3)
        for text in files:
            done = self.check(text)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("0 errors", done.stdout)

    def test_the_examples_of_the_documentation(self):
        examples = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/gateway.md").read_text(), re.S)
        self.assertGreaterEqual(len(examples), 4)
        for text in examples:
            done = self.check(text, "--strict", env={"VENDOR_TOKEN": "x"})
            self.assertEqual(done.returncode, 0, text + done.stdout + done.stderr)

    def test_mistakes_have_line_and_column(self):
        for wrong, right, expected in (
                ("timout: 1s", "timeout: 1s", "c.yaml:16:5: error: unknown key `timout`; did you mean `timeout`?"),
                ("[bach, resource]", "[batch, resource]", "c.yaml:35:20: error: processor `bach` is not defined; did you"),
                ("timeout: 1", "timeout: 1s", "c.yaml:16:14: error: `timeout`: expected a duration"),
                ("    metrics:\n", "    traces:\n", "this server takes profiles and traces only"),
                ("receivers: [otlp\n", "receivers: [otlp]\n", "c.yaml:")):
            done = self.check(COLLECTOR.replace(right, wrong, 1))
            self.assertEqual(done.returncode, 1, wrong)
            self.assertIn(expected, done.stdout)
        as_json = self.check(COLLECTOR.replace("timeout: 1s", "timout: 1s"), "--json")
        self.assertEqual([(p["line"], p["column"]) for p in json.loads(as_json.stdout) if not p["warning"]], [(16, 5)])

    def test_what_would_be_redacted(self):
        p = Profiles("token-service")
        p.file("login", "/src/secret.cc")
        (self.folder / "p.otlp").write_bytes(p.profile([(p.stack("main", "check_password", "login"), 5)]).encode())
        done = subprocess.run([BINARY, "check", "--redact", "p.otlp"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("function: check_password [password]", done.stdout)
        self.assertIn("source file: /src/secret.cc [secret]", done.stdout)
        self.assertNotIn("token-service", done.stdout)
        self.assertIn("2 texts", done.stdout)


class Run(Case):
    def config(self, text):
        path = self.folder / "c.yaml"
        path.write_text(text)
        return str(path)

    def address(self, server, receiver, protocol):
        found = json.loads((server.data / "addresses.json").read_text())
        return next(r["address"] for r in found["receivers"]
                    if (r["receiver"], r["protocol"]) == (receiver, protocol))

    def peer(self):
        peer = Peer()
        self.addCleanup(peer.close)
        return peer

    def test_a_gateway_without_store(self):
        peer = self.peer()
        server = self.server("--config", self.config(f"""
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: '127.0.0.1:{free_port()}'}}, http: {{endpoint: '0.0.0.0:{free_port()}'}}}}}}
  otlp/profiles: {{protocols: {{http: {{endpoint: 'localhost:{free_port()}'}}}}}}
processors:
  batch: {{timeout: 100ms}}
  redact:
exporters:
  otlphttp/traces: {{endpoint: '{peer.url}', headers: {{x-token: '${{T}}'}}}}
  otlphttp/profiles: {{endpoint: '{peer.url}', compression: none}}
service:
  pipelines:
    traces: {{receivers: [otlp], processors: [batch], exporters: [otlphttp/traces]}}
    profiles: {{receivers: [otlp/profiles], processors: [redact, batch], exporters: [otlphttp/profiles]}}
"""))
        spans = spans_request("shop", [{"trace": TRACE, "span": SPAN, "start": 1, "end": 2}])
        self.assertEqual(server.send(spans, "/v1/traces").status, 200)
        wrong = server.send(one_profile("shop", 5))
        self.assertEqual(wrong.status, 404)
        self.assertIn(b"send them to otlp/profiles at port", wrong.body)
        sent = http("POST", self.address(server, "otlp/profiles", "http") + "/v1development/profiles",
                    one_profile("shop", 5, names=("main", "read_secret_key")), {"content-type": "application/x-protobuf"})
        self.assertEqual(sent.status, 200, sent.body)
        wait_until(lambda: len(peer.requests) >= 2, what="nothing was sent on")
        by_path = {path: (headers, body) for path, headers, body in peer.requests}
        self.assertEqual(set(by_path), {"/v1/traces", "/v1development/profiles"})
        self.assertNotIn("x-token", by_path["/v1/traces"][0])  # the variable is not set
        self.assertNotIn(b"read_secret_key", by_path["/v1development/profiles"][1])
        self.assertIn(b"[REDACTED]", by_path["/v1development/profiles"][1])

        self.assertEqual(http("GET", server.http + "/api/v1/services").status, 501)
        self.assertEqual(http("GET", server.http + "/ready").status, 200)
        metrics = http("GET", server.http + "/metrics").body.decode()
        self.assertRegex(metrics, r'otelcol_receiver_accepted_spans_total\{receiver="otlp",transport="http"\} 1')
        self.assertRegex(metrics, r'wherefore_redacted_total\{processor="redact",rule="secret"\} 1')
        status = http("GET", server.http + "/api/v1/status").json
        parts = {part["part"]: part["facts"] for part in status["parts"]}
        self.assertIn("open to other machines", parts["receivers"]["otlp HTTP"])
        self.assertEqual(parts["pipelines"]["profiles"], "otlp/profiles -> redact, batch -> otlphttp/profiles")
        mapped = pathlib.Path(f"/proc/{server.process.pid}/maps").read_text()
        self.assertNotIn("libchdb", mapped)
        server.stop()

    def pipeline(self, port, processors=""):
        return self.config(f"""
receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{port}'}}}}}}, pyroscope: }}
processors: {{redact: , filter: {{profile_conditions: ['true']}}}}
exporters: {{wherefore: }}
service:
  pipelines:
    profiles: {{receivers: [otlp, pyroscope], processors: [{processors}], exporters: [wherefore]}}
    traces: {{receivers: [otlp], exporters: [wherefore]}}
""")

    def test_into_the_store_and_reloads(self):
        port = free_port()
        server = self.server("--config", self.pipeline(port))
        send = lambda value, names=("main", "work"): http(
            "POST", f"http://127.0.0.1:{port}/v1development/profiles", one_profile("shop", value, names=names),
            {"content-type": "application/x-protobuf"}).status
        self.assertEqual(send(5), 200)
        folded = http("POST", server.http + "/ingest?name=folded&format=folded&from=now-10s&until=now", b"a;b 3\n")
        self.assertEqual(folded.status, 200, folded.body)
        self.assertEqual(server.total("shop"), 5)
        # A port of a receiver answers no question.
        self.assertEqual(http("GET", f"http://127.0.0.1:{port}/api/v1/services").status, 404)

        # An open connection lives through a reload.
        kept = socket.create_connection(("127.0.0.1", port))
        self.addCleanup(kept.close)
        self.pipeline(port, "redact")
        self.assertEqual(http("POST", server.http + "/-/reload", b"").status, 200)
        self.assertEqual(send(7, ("main", "the_password")), 200)
        body = one_profile("shop", 9)
        kept.sendall(b"POST /v1development/profiles HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                     b"Content-Type: application/x-protobuf\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        self.assertIn(b" 200 ", kept.makefile("rb").readline())
        names = [row["name"] for row in server.ask("top", query="shop", type="samples", since="3000d")["rows"]]
        self.assertIn("[REDACTED]", names)
        self.assertNotIn("the_password", names)

        # A broken file changes nothing; SIGHUP reads it too.
        (self.folder / "c.yaml").write_text("receivers: {otpl: }\n")
        broken = http("POST", server.http + "/-/reload", b"")
        self.assertEqual(broken.status, 400)
        self.assertIn(b"did you mean `otlp`", broken.body)
        self.assertEqual(send(1, ("main", "a_token")), 200)
        self.pipeline(port, "filter")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: server.log.read_text().count("was loaded again") == 2, what="SIGHUP did nothing")
        self.assertEqual(send(100), 200)
        self.assertEqual(server.total("shop"), 5 + 7 + 9 + 1)

        # Another port: the new one opens, the old one closes.
        other = free_port()
        self.pipeline(other)
        self.assertEqual(http("POST", server.http + "/-/reload", b"").status, 200)
        self.assertEqual(http("POST", f"http://127.0.0.1:{other}/v1development/profiles", one_profile("shop", 1000),
                              {"content-type": "application/x-protobuf"}).status, 200)
        self.assertRaises(OSError, socket.create_connection, ("127.0.0.1", port))
        self.assertEqual(server.total("shop"), 22 + 1000)
        server.stop()

    def test_reloads_under_load(self):
        port = free_port()
        server = self.server("--config", self.pipeline(port))
        failed, stop, sent = [], threading.Event(), []

        def load(thread):
            while not stop.is_set():
                answer = http("POST", f"http://127.0.0.1:{port}/v1development/profiles",
                              one_profile("shop", 1, names=("main", f"t{thread}_{len(sent)}")),
                              {"content-type": "application/x-protobuf"})
                sent.append(1)
                if answer.status != 200:
                    failed.append(answer.body)

        threads = [threading.Thread(target=load, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for i in range(100):
            self.pipeline(port, "redact" if i % 2 else "")
            self.assertEqual(http("POST", server.http + "/-/reload", b"").status, 200)
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        self.assertGreater(len(sent), 20)
        self.assertEqual(server.total("shop"), len(sent))
        server.stop()

    def test_options_in_the_same_file_and_today_s_file(self):
        yaml = self.config("profiling: {cpu: {sample_rate: 100}}\nwherefore: {retention: 7d, log_level: warn}\n")
        lines = self.folder / "options.toml"
        lines.write_text("max-connections = 100\n")
        server = self.server("--config", yaml, "--config", str(lines), "--set", "wherefore.tenants=true")
        self.assertEqual(server.send(one_profile("shop", 5)).status, 200)
        self.assertNotIn("level=info", server.log.read_text())
        server.stop()
        bad = self.config("wherefore: {http_prot: 1}\n")
        done = subprocess.run([BINARY, "serve", "--config", bad], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("c.yaml:1:13: there is no option 'http-prot'", done.stderr)

    def test_tail_sampling_on_the_way_to_the_store(self):
        port = free_port()
        server = self.server("--config", self.config(f"""
receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{port}'}}}}}}}}
processors:
  tail_sampling: {{decision_wait: 500ms, policies: [{{name: failed, type: status_code, status_code: {{status_codes: [ERROR]}}}}]}}
  redact:
exporters: {{wherefore: }}
service: {{pipelines: {{traces: {{receivers: [otlp], processors: [tail_sampling, redact], exporters: [wherefore]}}}}}}
"""))
        now = time.time_ns()
        span = lambda trace, n, **more: {"trace": bytes([trace]) * 16, "span": bytes([trace, n]) * 4, "start": now - 10**9,
                                         "end": now, "name": "a_secret", **more}
        for spans in ([span(1, 1), span(2, 1)], [span(1, 2, status=2)]):
            self.assertEqual(server.send(spans_request("shop", spans), "/v1/traces").status, 200)
        found = lambda trace: server.get("/api/v1/traces/" + (bytes([trace]) * 16).hex())
        wait_until(lambda: found(1).status == 200 and len(found(1).json["spans"]) == 2, what="the trace was not kept")
        self.assertNotIn("a_secret", found(1).body.decode())
        self.assertEqual(found(2).json.get("spans", []) if found(2).status == 200 else [], [])
        server.stop()

    def test_ports_and_tokens(self):
        grpc, page = free_port(), free_port()
        config = self.config(f"""
receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{grpc}', auth: {{authenticator: bearertokenauth}}}}}}}}}}
extensions: {{bearertokenauth: {{token: abc}}, health_check: {{endpoint: '127.0.0.1:{page}', path: /alive}}}}
exporters: {{wherefore: }}
service: {{extensions: [bearertokenauth, health_check], pipelines: {{profiles: {{receivers: [otlp], exporters: [wherefore]}}}}}}
""")
        server = self.server("--config", config)
        url, body = f"http://127.0.0.1:{grpc}/v1development/profiles", one_profile("shop", 5)
        headers = {"content-type": "application/x-protobuf"}
        self.assertEqual(http("POST", url, body, headers).status, 401)
        self.assertEqual(http("POST", url, body, {**headers, "authorization": "Bearer abc"}).status, 200)
        self.assertEqual(http("GET", f"http://127.0.0.1:{page}/alive").status, 200)
        self.assertIn("with a token", server.cli("doctor", check=False).stdout)
        server.stop()
        taken = subprocess.run([BINARY, "serve", "--data", str(self.folder / "other"), "--http-port", str(grpc), "--config",
                                config], capture_output=True, text=True, timeout=60)
        self.assertEqual(taken.returncode, 2)
        self.assertIn("where the page and the API are", taken.stderr)

    def grpc(self, port, method, body):
        done = subprocess.run([GRPC_SEND, str(port), method], input=body, capture_output=True, check=True, timeout=60)
        status, message, answer = done.stdout.split(b"\n", 2)
        return int(status), message.decode(), answer

    def test_grpc_on_the_page_s_port(self):
        server = self.server()
        port = server.http.rsplit(":", 1)[1]
        self.assertEqual(self.grpc(port, PROFILES_METHOD, one_profile("shop", 5))[0], 0)
        spans = spans_request("shop", [{"trace": TRACE, "span": SPAN, "start": 1, "end": 2}])
        self.assertEqual(self.grpc(port, TRACES_METHOD, spans)[0], 0)
        self.assertEqual(self.grpc(port, PUSH, push(({"service_name": "pushed", "__name__": "process_cpu"}, [cpu(70)])))[0], 0)
        self.assertEqual(server.total("shop"), 5)
        self.assertEqual(server.total("pushed", "process_cpu:cpu:nanoseconds:cpu:nanoseconds"), 70)
        status, message, answer = self.grpc(port, "/querier.v1.QuerierService/ProfileTypes", b"")
        self.assertEqual((status, message), (0, ""))
        self.assertIn(b"process_cpu:cpu:nanoseconds:cpu:nanoseconds", answer)
        self.assertEqual(self.grpc(port, "/no.Such/Method", b"")[0], 12)
        # HTTP/1.1 as before, on the same port.
        self.assertEqual(http("GET", server.http + "/ready").status, 200)
        server.stop()
        server = self.server("--token", "abc", name="guarded")
        self.assertEqual(self.grpc(server.http.rsplit(":", 1)[1], PROFILES_METHOD, one_profile("shop", 5))[0], 16)
        server.stop()

    def test_grpc_on_a_pyroscope_receiver_s_port(self):
        port, out = free_port(), self.folder / "out.json"
        server = self.server("--config", self.config(f"""
receivers: {{pyroscope: {{protocols: {{http: {{endpoint: '127.0.0.1:{port}'}}}}}}}}
exporters: {{file: {{path: {out}}}}}
service: {{pipelines: {{profiles: {{receivers: [pyroscope], exporters: [file]}}}}}}
"""))
        self.assertEqual(self.grpc(port, PROFILES_METHOD, one_profile("over-otlp", 5))[0], 0)
        self.assertEqual(self.grpc(port, PUSH, push(({"service_name": "over-push"}, [cpu(70)])))[0], 0)
        wait_until(lambda: out.exists() and len(out.read_text().splitlines()) == 2)
        self.assertIn("over-otlp", out.read_text())
        self.assertIn("over-push", out.read_text())
        spans = spans_request("shop", [{"trace": TRACE, "span": SPAN, "start": 1, "end": 2}])
        self.assertEqual(self.grpc(port, TRACES_METHOD, spans)[0], 12, "no pipeline takes them")
        server.stop()

    def certificates(self):
        """An authority, and a certificate of its for localhost that servers and clients may show."""
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        openssl("req", "-x509", *key, "-days", "2", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
        openssl("req", *key, "-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "request.pem")
        (self.folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", "names", "-out", "cert.pem")

    def test_a_reload_reads_new_certificates(self):
        self.certificates()
        port = free_port()
        text = f"""
receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{port}',
             tls: {{cert_file: {self.folder}/cert.pem, key_file: {self.folder}/key.pem}}}}}}}}}}
exporters: {{file: {{path: {self.folder}/out.json}}}}
service: {{pipelines: {{profiles: {{receivers: [otlp], exporters: [file]}}}}}}
"""
        server = self.server("--config", self.config(text))

        def shown():
            return ssl.get_server_certificate(("127.0.0.1", port))
        first = shown()
        self.certificates()
        self.assertEqual(shown(), first)
        # A reload that fails leaves the port open, with what it had.
        blocker = self.folder / "no"
        blocker.write_text("a file, where a directory is needed")
        self.config(text.replace("out.json", "no/out.json"))
        self.assertNotEqual(http("POST", server.http + "/-/reload", b"").status, 200)
        self.assertTrue(shown())
        self.config(text)
        self.assertEqual(http("POST", server.http + "/-/reload", b"").status, 200)
        self.assertNotEqual(shown(), first)
        self.assertEqual(shown().split(), (self.folder / "cert.pem").read_text().split())
        server.stop()

    def test_receivers_that_ask_clients_for_certificates(self):
        self.certificates()
        grpc, web, inward = free_port(), free_port(), free_port()
        ours = f"cert_file: {self.folder}/cert.pem, key_file: {self.folder}/key.pem"
        store = self.server("--config", self.config(f"""
receivers:
  otlp:
    protocols:
      grpc: {{endpoint: '127.0.0.1:{grpc}', tls: {{{ours}, client_ca_file: {self.folder}/ca.pem}}}}
      http: {{endpoint: '127.0.0.1:{web}', tls: {{{ours}, client_ca_file: {self.folder}/ca.pem}}}}
exporters: {{wherefore: }}
service: {{pipelines: {{profiles: {{receivers: [otlp], exporters: [wherefore]}}}}}}
"""), name="store")
        self.assertIn("TLS with certificates of clients", store.cli("doctor", check=False).stdout)
        trusting = ssl.create_default_context(cafile=str(self.folder / "ca.pem"))

        def post(context):
            request = urllib.request.Request(f"https://localhost:{web}/v1development/profiles", one_profile("direct", 3),
                                             {"content-type": "application/x-protobuf"})
            with urllib.request.urlopen(request, context=context, timeout=20) as answer:
                return answer.status
        self.assertRaises(OSError, post, trusting)
        trusting.load_cert_chain(self.folder / "cert.pem", self.folder / "key.pem")
        self.assertEqual(post(trusting), 200)
        # A gateway that shows one, over both.
        (self.folder / "gateway.yaml").write_text(f"""
receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{inward}'}}}}}}}}
exporters:
  otlp: {{endpoint: 'localhost:{grpc}', tls: {{{ours}, ca_file: {self.folder}/ca.pem}}}}
  otlphttp: {{endpoint: 'https://localhost:{web}', tls: {{{ours}, ca_file: {self.folder}/ca.pem}}}}
processors:
  attributes/grpc: {{actions: [{{key: road, value: grpc, action: insert}}]}}
service:
  pipelines:
    profiles: {{receivers: [otlp], exporters: [otlphttp]}}
    profiles/grpc: {{receivers: [otlp], processors: [attributes/grpc], exporters: [otlp]}}
""")
        gateway = self.server("--config", str(self.folder / "gateway.yaml"), name="gateway")
        self.assertEqual(gateway.send(one_profile("shop", 5)).status, 200)
        wait_until(lambda: store.total("shop") == 10, 30, "not over both")
        self.assertEqual(store.total("direct"), 3)
        gateway.stop()
        store.stop()


if __name__ == "__main__":
    unittest.main()
