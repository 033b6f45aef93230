"""Starts the real server on free ports in a temporary folder, and uses it as its users do.

Everything a test starts is stopped by process id; everything it writes is in a temporary folder.
The binary is build/release/wherefore unless WHEREFORE_BINARY says otherwise.
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Taken out: the library warns of variables it does not know.
BINARY = os.environ.pop("WHEREFORE_BINARY", str(ROOT / "build/release/wherefore"))
GRPC_SEND = os.environ.pop("WHEREFORE_GRPC_SEND", str(ROOT / "build/release/tests/grpc_send"))
ENGINE_QUERY = os.environ.pop("WHEREFORE_ENGINE_QUERY", str(ROOT / "build/release/tests/engine_query"))
VECTOR = (ROOT / "tests/golden/vector.otlp").read_bytes()
PROTOBUF = "application/x-protobuf"
PROFILES_METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
TRACES_METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
# Ids for whoever needs one of each.
TRACE = bytes(range(1, 17))
SPAN = bytes(range(1, 9))


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


def http(method, url, body=None, headers=None, timeout=60):
    request = urllib.request.Request(url, data=body, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return Answer(response.status, response.headers, response.read())
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.headers, error.read())


class Server:
    """One `wherefore serve`. Use as a context manager; `restart` after `kill`. `within`: a command prefix that execs the server."""

    def __init__(self, data, *arguments, within=()):
        self.data, self.arguments, self.within, self.process = pathlib.Path(data), arguments, within, None
        self.log = self.data.parent / (self.data.name + ".log")

    def start(self, timeout=30):
        addresses = self.data / "addresses.json"
        addresses.unlink(missing_ok=True)
        free = [word for option in ("--http-port", "--otlp-grpc-port", "--otlp-http-port", "--opamp-port")
                if option not in self.arguments for word in (option, "0")]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*self.within, BINARY, "serve", "--data", str(self.data), *free, *self.arguments],
                                            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"server exited with {self.process.returncode}:\n{self.log.read_text()[-3000:]}")
            if addresses.exists():
                found = json.loads(addresses.read_text())
                if found["pid"] == self.process.pid:
                    self.http, self.otlp_http, self.otlp_grpc = found["http"], found["otlp_http"], found["otlp_grpc"]
                    self.opamp = found["opamp"]
                    return self
            time.sleep(0.01)
        raise AssertionError("server did not get ready:\n" + self.log.read_text()[-3000:])

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                code = self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError("server did not stop within 30 s:\n" + self.log.read_text()[-3000:])
            assert code == 0, f"server ended with {code}:\n{self.log.read_text()[-3000:]}"

    def __enter__(self):
        running = self.process and self.process.poll() is None
        return self if running else self.start()

    def __exit__(self, *unused):
        self.stop()

    def send(self, body, path="/v1development/profiles", headers=None, **more):
        return http("POST", self.otlp_http + path, body, {"content-type": PROTOBUF, **(headers or {})}, **more)

    def send_grpc(self, body, method=PROFILES_METHOD, *flags):
        """(grpc status number, message, response bytes)"""
        done = subprocess.run([GRPC_SEND, self.otlp_grpc.rsplit(":", 1)[1], method, *flags], input=body,
                              capture_output=True, check=True, timeout=60)
        status, message, response = done.stdout.split(b"\n", 2)
        return int(status), message.decode(), response

    def flush(self):
        answer = http("POST", self.http + "/api/v1/flush", b"")
        assert answer.status == 200, answer.body

    def get(self, path, **parameters):
        return http("GET", self.http + path + ("&" if "?" in path else "?") + urllib.parse.urlencode(parameters, doseq=True))

    def ask(self, path, **parameters):
        answer = self.get("/api/v1/" + path, **parameters)
        assert answer.status == 200, (answer.status, answer.body)
        return answer.json

    def total(self, query="", type="samples", **parameters):
        return int(self.ask("top", query=query, type=type, since="3000d", **parameters)["total"])

    def cli(self, *arguments, check=True):
        done = subprocess.run([BINARY, *arguments, "--server", self.http], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "COLUMNS": "120"})
        if check:
            assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        return done


class Case(unittest.TestCase):
    """A test with a temporary folder and any number of servers."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wherefore-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def server(self, *arguments, name="data", within=()):
        server = Server(self.folder / name, *arguments, within=within)
        self.addCleanup(lambda: server.process and server.process.poll() is None and server.kill())
        return server.start()


# --- OTLP by hand: enough protobuf to write any request, right or wrong ---

def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def fixed64(number, value):
    return varint(number << 3 | 1) + value.to_bytes(8, "little")


def packed(number, values):
    return field(number, b"".join(varint(v) for v in values))


def resource(service, **attributes):
    pairs = {"service.name": service, **attributes}
    return b"".join(field(1, field(1, key) + field(2, field(1, value))) for key, value in pairs.items())


class Profiles:
    """Builds one OTLP profiles request of samples/count with a CPU period of 10 ms."""

    def __init__(self, service="svc", **attributes):
        self.strings = ["", "samples", "count", "cpu", "nanoseconds"]
        self.functions, self.stacks, self.links = {}, [b""], [b""]  # functions: name -> number, string
        self.modules = []  # paths of mappings
        self.files, self.lines = {}, {}  # function -> number of the string with its source file; the line it was at
        self.resource = resource(service, **attributes)
        self.profiles, self.attributes = [], [b""]

    def function(self, name):
        if name not in self.functions:
            self.functions[name] = (len(self.functions) + 1, len(self.strings))
            self.strings.append(name if isinstance(name, str) else name[0])
            if not isinstance(name, str) and name[1] not in self.modules:
                self.modules.append(name[1])
        return self.functions[name][0]

    def file(self, name, path, line=None):
        """Sets a function's source file and line."""
        self.function(name)
        if path not in self.strings:
            self.strings.append(path)
        self.files[name] = self.strings.index(path)
        if line:
            self.lines[name] = line

    def stack(self, *names):
        """Names root first; a name may be (name, path of its module)."""
        self.stacks.append(packed(1, [self.function(n) for n in reversed(names)]))
        return len(self.stacks) - 1

    def link(self, trace, span):
        self.links.append(field(1, trace) + field(2, span))
        return len(self.links) - 1

    def attribute(self, key, value):
        """The number of an attribute of samples or profiles."""
        self.strings += [key] if key not in self.strings else []
        entry = field(1, self.strings.index(key)) + field(2, field(7 if isinstance(value, bytes) else 1, value))
        self.attributes += [entry] if entry not in self.attributes else []
        return self.attributes.index(entry)

    def sample(self, stack, value, link=0, **attributes):
        """A sample with attributes; a name's _ stands for a dot."""
        numbers = [self.attribute(key.replace("_", "."), text) for key, text in attributes.items()]
        return field(1, stack) + (packed(2, numbers) if numbers else b"") + (field(3, link) if link else b"") + packed(4, [value])

    def profile(self, samples, time_ns=None, id=b"", extra=b"", of=None):
        """samples: (stack, value) or (stack, value, link) or raw bytes. of: another (type, unit), also used for the period."""
        what, period = (1, 2), (3, 4)
        if of:
            self.strings += [text for text in of if text not in self.strings]
            what = period = tuple(self.strings.index(text) for text in of)
        body = field(1, field(1, what[0]) + field(2, what[1]))
        for s in samples:
            if not isinstance(s, bytes):
                stack, value, link = (*s, 0)[:3]
                s = field(1, stack) + (field(3, link) if link else b"") + packed(4, [value])
            body += field(2, s)
        body += fixed64(3, time.time_ns() if time_ns is None else time_ns) + field(4, 10 * 10**9)
        body += field(5, field(1, period[0]) + field(2, period[1])) + field(6, 10_000_000)
        self.profiles.append(body + (field(7, id) if id else b"") + extra)
        return self

    def encode(self):
        scope = field(1, field(1, "test")) + b"".join(field(2, p) for p in self.profiles)
        dictionary = field(1, b"")
        for path in self.modules:
            self.strings.append(path)
            dictionary += field(1, field(4, len(self.strings) - 1))
        dictionary += field(2, b"")
        for i, name in enumerate(self.functions, 1):
            module = b"" if isinstance(name, str) else field(1, self.modules.index(name[1]) + 1)
            dictionary += field(2, module + field(3, field(1, i) + field(2, self.lines.get(name, 10 + i))))
        dictionary += field(3, b"")
        for name, (_, string) in self.functions.items():
            dictionary += field(3, field(1, string) + (field(3, self.files[name]) if name in self.files else b""))
        dictionary += b"".join(field(4, l) for l in self.links)
        dictionary += b"".join(field(5, s) for s in self.strings) + b"".join(field(6, a) for a in self.attributes)
        dictionary += b"".join(field(7, s) for s in self.stacks)
        return field(1, field(1, self.resource) + field(2, scope)) + field(2, dictionary)


def one_profile(service, value, names=("main", "work"), time_ns=None, **attributes):
    p = Profiles(service, **attributes)
    return p.profile([(p.stack(*names), value)], time_ns).encode()


def profiles_request(strings, functions, stacks, samples, service="large"):
    """One profile. Function i is named by string i and used by location i + 1; stacks and samples are given encoded."""
    dictionary = field(1, b"") + field(2, b"")
    dictionary += b"".join(field(2, field(3, field(1, i + 1))) for i in range(functions)) + field(3, b"")
    dictionary += b"".join(field(3, field(1, i + 5)) for i in range(functions)) + field(4, b"")
    dictionary += b"".join(field(5, s) for s in (b"", b"samples", b"count", b"cpu", b"nanoseconds", *strings))
    dictionary += field(6, b"") + field(7, b"") + stacks
    profile = field(1, field(1, 1) + field(2, 2)) + samples + fixed64(3, time.time_ns()) + field(4, 10**10)
    profile += field(5, field(1, 3) + field(2, 4)) + field(6, 10_000_000)
    return field(1, field(1, resource(service)) + field(2, field(2, profile))) + field(2, dictionary)


def one_each(stacks):
    """One sample for each stack."""
    return b"".join(field(2, field(1, i + 1) + field(4, b"\1")) for i in range(stacks))


def spans_request(service, spans, **labels):
    """spans: dicts with trace, span, parent, name, start, end, status, attributes. labels: of the resource."""
    body = b""
    for s in spans:
        one = field(1, s["trace"]) + field(2, s["span"])
        if s.get("parent"):
            one += field(4, s["parent"])
        one += field(5, s.get("name", "op")) + field(6, 2) + fixed64(7, s["start"]) + fixed64(8, s["end"])
        for key, value in s.get("attributes", {}).items():
            one += field(9, field(1, key) + field(2, field(1, value)))
        if s.get("status"):
            one += field(15, field(3, s["status"]))
        body += field(2, one + s.get("extra", b""))
    return field(1, field(1, resource(service, **labels)) + field(2, field(1, field(1, "test")) + body))


def engine_query(data, sql):
    """The lines that the engine answers about the data directory of a stopped server; the statement selects one text."""
    done = subprocess.run([ENGINE_QUERY, str(data), sql], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def wait_until(condition, seconds=60, what="it did not happen"):
    """Waits until condition() is true and returns its value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(what)
        time.sleep(0.05)
    return value


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def processes(pid):
    """A process and its children."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from processes(int(child))
    yield pid
