"""libwherefore over https, with trusted and untrusted server certificates."""
import http.server
import os
import shutil
import ssl
import subprocess
import threading
import unittest

from harness import BINARY, Case, wait_until
from preload import LIBRARY


class Https(Case):
    """The system's libssl behind the library's own client, against Python's TLS."""

    def start(self, certificate):
        bodies = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                bodies.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *unused):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server.server_address[1], bodies

    def send_until(self, port, happened, **environment):
        """Profiles a sleeping program until happened(its output so far) is true; returns the output."""
        said = self.folder / "said"
        with said.open("w") as stderr, subprocess.Popen(
                [BINARY, "run", "--types", "cpu", "--", "sleep", "60"], stderr=stderr, stdin=subprocess.DEVNULL,
                env={**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": f"https://localhost:{port}", "WHEREFORE_UPLOAD_INTERVAL": "200ms",
                     **environment}) as program:
            try:
                wait_until(lambda: happened(said.read_text()))
            finally:
                program.terminate()
        return said.read_text()

    def start_trusted(self):
        """Like start; also returns the certificate file to trust."""
        if not shutil.which("openssl"):
            self.skipTest("needs the openssl command to make a certificate")
        certificate = self.folder / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost", "-keyout", str(self.folder / "key.pem"), "-out", str(self.folder / "c.pem")],
                       check=True, capture_output=True)
        certificate.write_text((self.folder / "key.pem").read_text() + (self.folder / "c.pem").read_text())
        return *self.start(certificate), str(self.folder / "c.pem")

    def test_the_last_profile_goes_out_before_openssl_ends(self):
        """OpenSSL shuts itself down at exit, before library destructors run."""
        port, bodies, trusted = self.start_trusted()
        work = "import time; end = time.process_time() + 1\nwhile time.process_time() < end: sum(range(1000))"
        for use, interval in (("import ssl; ssl.create_default_context()\n", "60s"), ("", "200ms")):
            bodies.clear()
            done = subprocess.run(["/usr/bin/python3", "-c", use + work], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, env={
                "PATH": os.environ["PATH"], "LD_PRELOAD": str(LIBRARY), "OTEL_EXPORTER_OTLP_ENDPOINT": f"https://localhost:{port}",
                "OTEL_EXPORTER_OTLP_CERTIFICATE": trusted, "WHEREFORE_UPLOAD_INTERVAL": interval, "WHEREFORE_TYPES": "cpu"})
            self.assertTrue(bodies, done.stderr)
            self.assertNotIn("warning", done.stderr)

    def test_verified_https(self):
        port, bodies, trusted = self.start_trusted()
        said = self.send_until(port, lambda _: len({path for path, _ in bodies}) > 1, OTEL_EXPORTER_OTLP_CERTIFICATE=trusted)
        self.assertEqual({path for path, _ in bodies}, {"/v1development/profiles", "/v1/opamp"}, said)
        arrived = len(bodies)
        self.send_until(port, lambda text: "certificate" in text)
        self.assertEqual(len(bodies), arrived, "sent to a server nobody vouches for")


if __name__ == "__main__":
    unittest.main(verbosity=2)
