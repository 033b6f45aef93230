#!/usr/bin/env python3
"""A loopback HTTP server that records what profiling and tracing SDKs send.

Alone it answers 200 to everything; with an upstream it passes every request on and the answer back, so that a test
knows the very bytes a server got. Threads serve the connections; `requests()` is safe to call from any of them.
A request is kept as one file: request line, headers, empty line, body without chunked framing (a replay frames it again
when the headers say so).

    tests/sdk_recorder.py DIRECTORY [UPSTREAM]      prints its URL, records until it is stopped
"""
import dataclasses
import http.client
import http.server
import pathlib
import sys
import threading
import urllib.parse


@dataclasses.dataclass
class Request:
    method: str
    target: str
    headers: list  # of (name, value), as they came
    body: bytes
    status: int = 0  # what the sender was told

    def header(self, name):
        return next((v for n, v in self.headers if n.lower() == name.lower()), "")

    @property
    def path(self):
        return self.target.partition("?")[0]

    @property
    def query(self):
        return dict(urllib.parse.parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    @property
    def chunked(self):
        return "chunked" in self.header("transfer-encoding").lower()

    def encode(self):
        head = [f"{self.method} {self.target} HTTP/1.1"] + [f"{n}: {v}" for n, v in self.headers]
        return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + self.body


def decode(data):
    """The request in a file that `Request.encode` wrote."""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    return Request(method, target, [tuple(line.split(": ", 1)) for line in lines], body)


def send(request, server_url, timeout=60):
    """Sends a request as it was recorded, byte for byte but for the Host header; (status, body) of the answer."""
    host = urllib.parse.urlsplit(server_url).netloc
    connection = http.client.HTTPConnection(host, timeout=timeout)
    try:
        connection.putrequest(request.method, request.target, skip_host=True, skip_accept_encoding=True)
        for name, value in request.headers:
            connection.putheader(name, host if name.lower() == "host" else value)
        connection.endheaders()
        if request.chunked:
            for start in range(0, len(request.body), 4096):
                piece = request.body[start:start + 4096]
                connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            connection.send(b"0\r\n\r\n")
        else:
            connection.send(request.body)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.getheaders()
    finally:
        connection.close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *unused):
        pass

    def read_body(self):
        if "chunked" not in self.headers.get("transfer-encoding", "").lower():
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():  # trailers
            pass
        return b"".join(pieces)

    def handle_any(self):
        request = Request(self.command, self.path, list(self.headers.items()), self.read_body())
        status, body, headers = self.server.recorder.take(request)
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("connection", "content-length", "transfer-encoding", "date", "server"):
                self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = handle_any


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a sender that went away is no error of ours
            super().handle_error(request, client_address)


class Recorder:
    """Use as a context manager; `url` is the endpoint for the SDKs."""

    def __init__(self, directory=None, upstream=None):
        self.directory = pathlib.Path(directory) if directory else None
        self.upstream, self._requests, self._lock = upstream, [], threading.Lock()
        if self.directory:
            self.directory.mkdir(parents=True, exist_ok=True)
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.recorder = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def take(self, request):
        status, body, headers = 200, b"", []
        if self.upstream:
            try:
                status, body, headers = send(request, self.upstream)
            except OSError as error:
                status, body = 502, str(error).encode()
        request.status = status
        with self._lock:
            self._requests.append(request)
            number = len(self._requests)
        if self.directory:
            (self.directory / f"{number:04}.http").write_bytes(request.encode())
        return status, body, headers

    def requests(self):
        with self._lock:
            return list(self._requests)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *unused):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


if __name__ == "__main__":
    with Recorder(*sys.argv[1:3]) as recorder:
        print(recorder.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
