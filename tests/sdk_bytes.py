"""Reads recorded requests of profiling and tracing SDKs from their bytes, without any code of the server.

pprof (alone, in a form, in a Push message) and OTLP traces by a small protobuf walker; JFR by the JDK's own `jfr` tool.
The five-part ids follow from what each SDK is known to send. Nothing is averaged or dropped here: a total is the sum of
all values in the bytes.
"""
import collections
import dataclasses
import gzip
import json
import pathlib
import re
import subprocess
import tempfile

LINK_LABELS = ("span_id", "trace_id")
# Values that are a state, not an amount: over time they are averaged, not added.
SNAPSHOTS = ("inuse_objects", "inuse_space", "goroutine")


@dataclasses.dataclass
class Sample:
    stack: list  # of function names, leaf first
    values: list
    labels: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Profile:
    service: str
    ids: list  # one five-part id per value of a sample
    labels: dict  # of the series, as the sender wrote them
    samples: list
    time: int = 0  # ns, as far as it is needed: of pprof
    duration: int = 0


@dataclasses.dataclass
class Span:
    service: str
    trace: str
    span: str
    parent: str
    name: str
    duration: int


# --- protobuf ---

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """(number, value) of a message: int for varint and fixed, bytes for the rest."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = {1: 8, 5: 4}[kind]
            value, at = int.from_bytes(data[at:at + size], "little"), at + size
        yield key >> 3, value


def message(data):
    """A message as number -> list of values."""
    found = collections.defaultdict(list)
    for number, value in fields(data):
        found[number].append(value)
    return found


def one(found, number, default=0):
    return found[number][-1] if number in found else default


def numbers(found, number):
    """A repeated integer field, packed or not, as signed 64 bits."""
    result = []
    for value in found.get(number, []):
        at = 0
        if isinstance(value, int):
            result.append(value)
        while not isinstance(value, int) and at < len(value):
            v, at = varint(value, at)
            result.append(v)
    return [v - (1 << 64) if v >> 63 else v for v in result]


# --- pprof ---

def read_pprof(data):
    """(sample types, period type, samples, (time, duration)); types are (type, unit)."""
    profile = message(plain(data))
    strings = [s.decode() for s in profile[6]]

    def value_type(raw):
        m = message(raw)
        return strings[one(m, 1)], strings[one(m, 2)]

    functions = {one(m, 1): strings[one(m, 2)] for m in map(message, profile[5])}
    locations = {}
    for m in map(message, profile[4]):
        lines = [functions.get(one(message(line), 1), "") for line in m[4]]
        locations[one(m, 1)] = lines or [hex(one(m, 3))]
    samples = []
    for m in map(message, profile[2]):
        labels = {}
        for label in map(message, m[3]):
            if one(label, 2):
                labels[strings[one(label, 1)]] = strings[one(label, 2)]
        stack = [name for location in numbers(m, 1) for name in locations[location]]
        samples.append(Sample(stack, numbers(m, 2), labels))
    period_type = value_type(profile[11][-1]) if 11 in profile else ("", "")
    return [value_type(t) for t in profile[1]], period_type, samples, (one(profile, 9, 0), one(profile, 10, 0))


def plain(data):
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def parts(request):
    """The parts of a form: name -> bytes."""
    boundary = re.search(r'boundary="?([^";]+)', request.header("content-type")).group(1).encode()
    found = {}
    for part in request.body.split(b"--" + boundary)[1:-1]:
        head, _, body = part.partition(b"\r\n\r\n")
        found[re.search(rb'name="([^"]+)"', head).group(1).decode()] = body.removesuffix(b"\r\n")
    return found


def split_name(text):
    """app{key=value,...} -> (app, labels)"""
    name, _, rest = text.partition("{")
    pairs = (pair.partition("=") for pair in rest.removesuffix("}").split(",") if pair)
    return name, {key.strip(): value for key, _, value in pairs}


def ingest_name(shown):
    """The first part of the id, from the sender's display names."""
    if "wall" in shown:
        return "wall"
    for name, signs in {"process_cpu": ["cpu"], "memory": ["alloc_", "inuse_"], "mutex": ["mutex_"], "block": ["block_"],
                        "goroutines": ["goroutines"]}.items():
        if any(sign in one_shown for one_shown in shown for sign in signs):
            return name
    return shown[-1]


def from_ingest_pprof(request, body, config):
    types, period, samples, (begin, duration) = read_pprof(body)
    since, until = (int(request.query.get(key, "0")) for key in ("from", "until"))
    unit = 10**9 if since < 10**11 else 1  # seconds, or nanoseconds
    begin, duration = begin or since * unit, duration or (until - since) * unit
    shown = [config.get(t, {}).get("display-name") or t for t, _ in types]
    if "samples" in shown and "cpu" in shown:  # Go's CPU profile has no config
        shown = ["cpu"] if "wall" not in shown else shown
    service, labels = split_name(request.query["name"])
    name = ingest_name(shown)
    return [Profile(service, [":".join((name, *t, *period)) for t in types], labels, samples, begin, duration)]


def from_push(request):
    """PushRequest { series = 1 { labels = 1 { name, value }, samples = 2 { raw_profile = 1, id = 2 } } }"""
    result = []
    for series in map(message, message(plain(request.body))[1]):
        labels = {}
        for label in map(message, series[1]):
            labels[one(label, 1).decode()] = one(label, 2).decode()
        for raw in map(message, series[2]):
            types, period, samples, times = read_pprof(one(raw, 1))
            name, service = labels["__name__"], labels["service_name"]
            rest = {k: v for k, v in labels.items() if k not in ("__name__", "service_name")}
            result.append(Profile(service, [":".join((name, *t, *period)) for t in types], rest, samples, *times))
    return result


# --- JFR ---

def jfr_labels(data):
    """(context id -> labels, string id -> string) of LabelsSnapshot { contexts = 1: map, strings = 2: map }"""
    snapshot = message(plain(data))
    strings = {one(m, 1): one(m, 2, b"").decode() for m in map(message, snapshot[2])}
    contexts = {}
    for entry in map(message, snapshot[1]):
        pairs = map(message, message(one(entry, 2, b""))[1])
        contexts[one(entry, 1)] = {strings[one(p, 1)]: strings[one(p, 2)] for p in pairs}
    return contexts, strings


JFR_TYPES = {
    "jdk.ExecutionSample": ["process_cpu:cpu:nanoseconds:cpu:nanoseconds"],
    "jdk.ObjectAllocationInNewTLAB": ["memory:alloc_in_new_tlab_objects:count:space:bytes",
                                      "memory:alloc_in_new_tlab_bytes:bytes:space:bytes"],
    "jdk.ObjectAllocationOutsideTLAB": ["memory:alloc_outside_tlab_objects:count:space:bytes",
                                        "memory:alloc_outside_tlab_bytes:bytes:space:bytes"],
    "jdk.JavaMonitorEnter": ["mutex:contentions:count:mutex:count", "mutex:delay:nanoseconds:mutex:count"],
    "jdk.ThreadPark": ["block:contentions:count:block:count", "block:delay:nanoseconds:block:count"],
}


def duration_ns(text):
    """PT1M2.003S -> nanoseconds"""
    minutes, seconds, fraction = re.fullmatch(r"PT(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?", text).groups()
    return (int(minutes or 0) * 60 + int(seconds or 0)) * 10**9 + int((fraction or "0").ljust(9, "0"))


def jfr_values(kind, values, period_ns):
    if kind == "jdk.ExecutionSample":
        return [period_ns if values["state"] != "STATE_SLEEPING" else 0]
    if kind == "jdk.ObjectAllocationInNewTLAB":
        return [1, values["tlabSize"]]
    if kind == "jdk.ObjectAllocationOutsideTLAB":
        return [1, values["allocationSize"]]
    return [1, duration_ns(values["duration"])]


def from_jfr(request):
    form = parts(request)
    contexts, strings = jfr_labels(form.get("labels", b""))
    with tempfile.NamedTemporaryFile(suffix=".jfr") as file:
        pathlib.Path(file.name).write_bytes(plain(form["jfr"]))
        printed = subprocess.run(["jfr", "print", "--json", "--stack-depth", "256", "--events", ",".join(JFR_TYPES), file.name],
                                 capture_output=True, check=True, timeout=120)
    service, labels = split_name(request.query["name"])
    period_ns = 10**9 // int(request.query["sampleRate"])
    found = {kind: Profile(service, ids, labels, []) for kind, ids in JFR_TYPES.items()}
    for event in json.loads(printed.stdout)["recording"]["events"]:
        values = event["values"]
        frames = (values["stackTrace"] or {}).get("frames", [])
        stack = [f["method"]["type"]["name"] + "." + f["method"]["name"] for f in frames]
        tags = dict(contexts.get(values.get("contextId"), {}))
        if values.get("spanId"):  # not every kind of event has the fields
            tags["span_id"] = f"{values['spanId'] & (1 << 64) - 1:016x}"
        if values.get("spanName"):
            tags["span_name"] = strings[values["spanName"]]
        found[event["type"]].samples.append(Sample(stack, jfr_values(event["type"], values, period_ns), tags))
    return [p for p in found.values() if p.samples]


# --- requests ---

def profiles_of(request):
    """All profiles in one request; empty when it is not a profile upload."""
    if request.path.endswith("/Push"):
        return from_push(request)
    if request.path != "/ingest":
        return []
    if request.query.get("format") == "jfr":
        return from_jfr(request)
    if not request.header("content-type").startswith("multipart/"):
        return from_ingest_pprof(request, request.body, {})
    form = parts(request)
    return from_ingest_pprof(request, form["profile"], json.loads(form.get("sample_type_config", b"{}")))


def attributes(raw):
    """repeated KeyValue { key = 1, value = 2 { string_value = 1 } }; other kinds of value are left out."""
    found = {}
    for pair in map(message, raw):
        text = one(message(one(pair, 2, b"")), 1, None)
        if isinstance(text, bytes):
            found[one(pair, 1).decode()] = text.decode()
    return found


def spans_of(request):
    """All spans in one OTLP traces request; empty for other requests."""
    if request.path != "/v1/traces":
        return []
    result = []
    for resource_spans in map(message, message(plain(request.body))[1]):
        service = attributes(message(one(resource_spans, 1, b""))[1]).get("service.name", "")
        for scope in map(message, resource_spans[2]):
            for m in map(message, scope[2]):
                result.append(Span(service, one(m, 1).hex(), one(m, 2).hex(), one(m, 4, b"").hex(), one(m, 5).decode(),
                                   one(m, 8) - one(m, 7)))
    return result


def totals(profiles, keep=lambda sample: True):
    """id -> sum of the values of the samples to keep."""
    found = collections.Counter()
    for profile in profiles:
        for sample in filter(keep, profile.samples):
            for id, value in zip(profile.ids, sample.values):
                found[id] += value
    return dict(found)


def leaves(profiles, id, keep=lambda sample: True):
    """function -> its self value of one type; zeros are left out."""
    found = collections.Counter()
    for profile in profiles:
        if id in profile.ids:
            for sample in filter(keep, profile.samples):
                if sample.stack:
                    found[sample.stack[0]] += sample.values[profile.ids.index(id)]
    return {name: value for name, value in found.items() if value}


def by_span(profiles, id):
    """span id -> the value of its samples of one type."""
    found = collections.Counter()
    for profile in profiles:
        if id in profile.ids:
            for sample in profile.samples:
                if "span_id" in sample.labels:
                    found[sample.labels["span_id"]] += sample.values[profile.ids.index(id)]
    return found


def of_span(span):
    """For `keep`: the samples of one span."""
    return lambda sample: sample.labels.get("span_id") == span


def share(profiles, id, function):
    """The part of the total of one type that has a function (a regular expression for its name) in its stack."""
    total = totals(profiles).get(id, 0)
    inside = totals(profiles, lambda s: any(re.fullmatch(function, name) for name in s.stack))
    return inside.get(id, 0) / total if total else 0.0
