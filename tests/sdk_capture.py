#!/usr/bin/env python3
"""Makes the golden captures of tests/golden/sdk out of recordings, with what they must add up to.

    tests/sdk_recorder.py /tmp/rec/go &  ... examples/go/run URL 12 ...      once per language
    tests/sdk_capture.py /tmp/rec tests/golden/sdk

Of each language it keeps one request per kind of profile and the traces request with a slow span that has samples in
them. The expected numbers come from tests/sdk_bytes.py, so from the bytes alone. Needs a JDK (for `jfr`).
"""
import json
import pathlib
import re
import sys

import sdk_bytes
import sdk_recorder

LARGEST = 60_000
HOT = {"go": r"main\.parse", "python": "parse", "node": r"\./main\.js:parse:\d+", "java": r"Shop\.parse",
       "rust": "shop::parse"}


def kind(request, profiles):
    """cpu, memory, ..., or the form where one request holds everything: what a request is filed as."""
    if request.path.endswith("/Push"):
        return "push"
    if request.query.get("format") == "jfr":
        return "jfr"
    name = profiles[0].ids[0].split(":")[0]
    return {"process_cpu": "cpu"}.get(name, name)


def cpu_id(profiles):
    return next(id for p in profiles for id in p.ids if ":cpu:nanoseconds:" in id)


def choose(requests):
    """kind -> (request, profiles): the one with the most samples that is small enough."""
    found = {}
    for request in requests:
        profiles = sdk_bytes.profiles_of(request)
        size = sum(len(p.samples) for p in profiles)
        if size and len(request.encode()) < LARGEST:
            best = found.get(kind(request, profiles))
            if not best or size > sum(len(p.samples) for p in best[1]):
                found[kind(request, profiles)] = (request, profiles)
    return found


def slow_span(requests, profiles):
    """(the traces request, span) of the slowest span with at least 50 ms of CPU time in the profiles."""
    linked = sdk_bytes.by_span(profiles, cpu_id(profiles))
    found = [(request, span) for request in requests for span in sdk_bytes.spans_of(request)
             if linked.get(span.span, 0) >= 50_000_000]
    return max(found, key=lambda item: item[1].duration)


def functions(profiles):
    """id -> [function, its self value]: the leaf with the most, where the name is written the same everywhere."""
    found = {}
    for id in sdk_bytes.totals(profiles):
        leaves = sdk_bytes.leaves(profiles, id)
        plain = {name: value for name, value in leaves.items() if re.fullmatch(r"[\w./:<>-]+", name)}
        if plain:
            found[id] = list(max(plain.items(), key=lambda item: item[1]))
    return found


def capture(language, recording, out):
    requests = [sdk_recorder.decode(f.read_bytes()) for f in sorted(recording.glob("*.http"))]
    chosen = choose(requests)
    profiles = [p for _, found in chosen.values() for p in found]
    traces, span = slow_span(requests, profiles)
    files = {f"{language}-{name}.http": request for name, (request, _) in chosen.items()}
    files[f"{language}-traces.http"] = traces
    for name, request in files.items():
        (out / name).write_bytes(request.encode())
    labels = {k: v for k, v in profiles[0].labels.items() if not k.startswith("__") and not k.startswith("otel.")}
    id = cpu_id(profiles)
    return {
        "service": profiles[0].service, "files": sorted(files), "labels": labels, "totals": sdk_bytes.totals(profiles),
        "functions": functions(profiles), "spans": len(sdk_bytes.spans_of(traces)),
        "hot": {"function": HOT[language], "type": id, "share": round(sdk_bytes.share(profiles, id, HOT[language]), 6)},
        "span": {"trace": span.trace, "span": span.span, "name": span.name, "type": id,
                 "functions": sdk_bytes.leaves(profiles, id, sdk_bytes.of_span(span.span))},
    }


def main():
    recordings, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.http"):
        old.unlink()
    expected = {language: capture(language, recordings / language, out) for language in HOT}
    (out / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
