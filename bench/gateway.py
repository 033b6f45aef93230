"""The benchmark's stage of pipelines: what they cost beside the server without any, and what forwarding costs."""
import re
import subprocess
import time

import measure
from harness import Server, free_port

INTO_THE_STORE = "exporters: {{wherefore: }}"
ONWARD = "exporters: {{otlphttp: {{endpoint: '{to}'}}}}"


def configured(bench, name, exporters):
    """A server with the default pipeline, `batch` and nothing else, towards these exporters."""
    path = bench.folder / f"{name}.yaml"
    exporter = re.match(r"exporters: \{(\w+)", exporters)[1]
    path.write_text(f"receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{free_port()}'}}}}}}}}\n"
                    f"processors: {{batch: }}\n{exporters}\n"
                    f"service: {{pipelines: {{profiles: {{receivers: [otlp], processors: [batch], exporters: [{exporter}]}}}}}}\n")
    return Server(bench.folder / name, "--config", str(path))


def queued(server):
    metrics = measure.Client(server.http)
    metrics.connection.request("GET", "/metrics")
    text = metrics.connection.getresponse().read().decode()
    metrics.connection.close()
    return sum(float(n) for n in re.findall(r"^otelcol_exporter_queue_size\S* (\S+)$", text, re.M))


def total(bench, server):
    return int(server.ask("top", query="", **bench.range())["total"])


def part(bench, server, hours):
    """A part of the load into a server: (profiles per second, the server, CPU seconds per million samples until settled)."""
    with server:
        pid, before = server.process.pid, measure.cpu_seconds(server.process.pid)
        bench.server = server
        sent = bench.send(hours, start=bench.start)
        bench.expect("refused requests", sum(sent["refused"].values()), 0)
        server.flush()
        bench.settle(pid)
        cpu = measure.cpu_seconds(pid) - before
        bench.expect("samples", total(bench, server), sent["total"])
    return sent["profiles"] / sent["seconds"], cpu / (sent["samples"] / 1e6)


def throughput(bench, hours):
    """In turn, so that the machine's mood is the same for both. Returns the CPU time of storing."""
    plain, piped = [], []
    for round in range(1 if bench.o.smoke else 5):
        plain.append(part(bench, Server(bench.folder / f"plain-{round}"), hours))
        piped.append(part(bench, configured(bench, f"piped-{round}", INTO_THE_STORE.format()), hours))
    rates = [measure.percentile([rate for rate, _ in some], 0.5) for some in (plain, piped)]
    costs = [measure.percentile([cpu for _, cpu in some], 0.5) for some in (plain, piped)]
    bench.add("throughput with the default pipeline, against none", 100 * rates[1] / rates[0], 90, "%", at_least=True,
              note=f"{rates[1]:,.0f} and {rates[0]:,.0f} profiles/s; {costs[1]:.1f} and {costs[0]:.1f} CPU s per million samples")
    return costs[0]


def forwarding(bench, hours, storing):
    next_hop = Server(bench.folder / "next").start()
    server = configured(bench, "forward", ONWARD.format(to=next_hop.otlp_http)).start()
    bench.server = server
    pid, before = server.process.pid, measure.cpu_seconds(server.process.pid)
    sent = bench.send(hours, start=bench.start)
    while queued(server) > 0:
        time.sleep(0.1)
    cpu = (measure.cpu_seconds(pid) - before) / (sent["samples"] / 1e6)
    next_hop.flush()
    bench.expect("what the next hop stored", total(bench, next_hop), sent["total"])
    bench.add("forwarding (queue, merge, gzip, send), against storing", cpu / storing, 1, "x CPU",
              note=f"{cpu:.1f} and {storing:.1f} CPU s per million samples")
    server.stop()
    next_hop.stop()
    next_hop = Server(bench.folder / "next-2").start()
    server = configured(bench, "steady", ONWARD.format(to=next_hop.otlp_http)).start()
    bench.server = server
    steps = max(1, round(100 * bench.o.seconds / (bench.o.services * bench.o.instances)))
    with measure.PeakMemory(server.process.pid) as peak:
        bench.expect("refused requests", sum(bench.send(0, rate=100, steps=steps, start=bench.start)["refused"].values()), 0)
    bench.add("a gateway without store at 100 profiles/s, peak", peak.resident, 80, "MB resident")
    server.stop()
    next_hop.stop()


def merging(bench):
    done = subprocess.run([bench.o.build / "bench/bench_forward", "--requests", "136" if bench.o.smoke else "680"],
                          capture_output=True, text=True, check=True)
    share = float(re.search(r"^merge .* ([\d.]+) % of the bytes", done.stdout, re.M)[1])
    bench.add("68 requests merged, of their bytes", share, 25, "%", note="20 services")


def pipelines(bench):
    usual, hours = bench.server, bench.o.hours / 10
    merging(bench)
    forwarding(bench, hours, throughput(bench, hours))
    bench.server = usual
