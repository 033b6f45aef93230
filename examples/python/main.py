"""A small order service, profiled and traced: HTTP handler -> span process-data -> spans parse, validate, transform.

parse does three times the work of validate; transform allocates. On SIGTERM it sends what is left and prints the CPU time
it really spent in each function as one line of JSON.
"""
import collections
import json
import os
import signal
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pyroscope
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pyroscope.otel import PyroscopeSpanProcessor

SERVICE = "shop-python"
UNIT = 80_000  # iterations of the loop that stands for work

tracer = trace.get_tracer("shop")
lock = threading.Lock()
# Nanoseconds of CPU, guarded by lock; "requests" is all of a request's thread.
spent = {"parse": 0, "validate": 0, "transform": 0, "requests": 0}
requests = 0
kept = collections.deque(maxlen=20)  # the newest results, so that the memory profile has something in use


def start_tracing(server):
    provider = TracerProvider(resource=Resource({"service.name": SERVICE}))
    provider.add_span_processor(PyroscopeSpanProcessor())  # puts the local root span's ids on the thread's samples
    exporter = OTLPSpanExporter(endpoint=server + "/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=1000))
    trace.set_tracer_provider(provider)
    return provider


def start_profiling(server):
    pyroscope.configure(application_name=SERVICE, server_address=server, tags={"env": "example"},
                        upload_interval=5, mem_enabled=True)


def parse(size):
    x = size | 1
    for _ in range(3 * UNIT * size):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return x


def validate(size):
    x = size | 1
    for _ in range(UNIT * size):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return x


def transform(size):
    rows = [bytearray(10_000) for _ in range(200 * size)]
    kept.append(rows)
    return rows


def step(work, size):
    """Runs one part of a request in a span of its own and adds its CPU time to the account."""
    with tracer.start_as_current_span(work.__name__):
        before = time.thread_time_ns()
        result = work(size)
        used = time.thread_time_ns() - before
    with lock:
        spent[work.__name__] += used
    return result


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *unused):
        pass

    def do_GET(self):
        global requests
        url = urllib.parse.urlsplit(self.path)
        if url.path != "/process":
            return self.send_error(404)
        size = int(urllib.parse.parse_qs(url.query).get("size", ["1"])[0])
        with tracer.start_as_current_span("process-data") as span:
            span.set_attribute("size", size)
            total = step(parse, size) + step(validate, size)
            rows = step(transform, size)
        body = f"{len(rows)} rows, {total:x}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        with lock:
            requests += 1
            spent["requests"] += time.thread_time_ns()  # each request has a thread of its own


def python_cpu():
    """The CPU time of all threads that run Python, which is what the profiler samples: not its own native threads."""
    running = sum(time.clock_gettime_ns(time.pthread_getcpuclockid(t.ident)) for t in threading.enumerate())
    return spent.pop("requests") + running


def main():
    server = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:4040"
    provider = start_tracing(server)
    start_profiling(server)
    before = time.thread_time_ns()
    web = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 0))), Handler)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=web.shutdown).start())
    print(f"listening on http://127.0.0.1:{web.server_address[1]}", flush=True)
    web.serve_forever()

    cpu = python_cpu() - before
    pyroscope.shutdown()  # sends the last interval
    provider.shutdown()
    print(json.dumps({"service": SERVICE, "requests": requests, "total_cpu_ns": cpu, "cpu_ns": spent}))


main()
