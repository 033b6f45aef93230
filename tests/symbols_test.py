#!/usr/bin/env python3
"""Profiles with bare addresses: the server finds functions, lines and inlined calls by build id."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from harness import Case, processes

PROGRAM = r"""
#include <cstdio>
namespace shop {
inline int Scale(int price, int factor) {
  int sum = 0;
  for (int i = 0; i < factor; ++i) sum += price ^ (i * sum);
  return sum;
}
struct Cart {
  int price;
  int Total(int factor) const;
};
__attribute__((noinline)) int Cart::Total(int factor) const {
  return Scale(price, factor) + 7;
}
}  // namespace shop
int main(int argc, char**) {
  shop::Cart cart{argc};
  std::printf("%d\n", cart.Total(argc * 1000));
}
"""
ID = "00112233445566778899aabbccddeeff"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Symbols(Case):
    def setUp(self):
        super().setUp()
        self.source = self.folder / "shop.cc"
        self.source.write_text(PROGRAM)
        self.program = self.folder / "bin" / "shop"
        self.program.parent.mkdir()
        self.build("-O2")

    def build(self, *flags):
        run("c++", "-g", *flags, "-Wl,--build-id", "-o", str(self.program), str(self.source))
        self.build_id = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", str(self.program)))[1]
        # The executable segment: where it is in the file and in memory.
        segment = re.search(r"LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ R E", run("readelf", "-lW", str(self.program)))
        self.offset, self.address, self.size = (int(n, 16) for n in segment.groups())

    def inlined_address(self):
        """An address in Cart::Total inside the inlined Scale, and its lines there, by addr2line."""
        symbol = re.search(r"(\w+) (\w+) T _ZNK4shop4Cart5TotalEi", run("nm", "-S", str(self.program)))
        start, size = int(symbol[1], 16), int(symbol[2], 16)
        for at in range(start, start + size):
            lines = run("addr2line", "-i", "-f", "-C", "-e", str(self.program), hex(at)).splitlines()
            if len(lines) == 4 and lines[0].startswith("shop::Scale"):
                return at, [int(place.split(":")[1].split()[0]) for place in lines[1::2]]
        raise AssertionError("nothing is inlined in Cart::Total")

    def request(self, address, name="", service="shop"):
        """One sample with value 5 at an address of the file, as in a process with its code mapped high."""
        start = 0x7f0000000000
        strings = ["", "samples", "count", "cpu", "nanoseconds", str(self.program), "process.executable.build_id.gnu", name]
        lines = [{"functionIndex": 1}] if name else []
        dictionary = {
            "mappingTable": [{}, {"memoryStart": str(start), "memoryLimit": str(start + self.size),
                                  "fileOffset": str(self.offset), "filenameStrindex": 5, "attributeIndices": [1]}],
            "locationTable": [{}, {"mappingIndex": 1, "address": str(start + address - self.address), "lines": lines}],
            "functionTable": [{}, {"nameStrindex": 7}], "linkTable": [{}], "stringTable": strings,
            "attributeTable": [{}, {"keyStrindex": 6, "value": {"stringValue": self.build_id}}],
            "stackTable": [{}, {"locationIndices": [1]}],
        }
        profile = {"sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "periodType": {"typeStrindex": 3, "unitStrindex": 4},
                   "period": "10000000", "timeUnixNano": str(time.time_ns()), "durationNano": "10000000000",
                   "samples": [{"stackIndex": 1, "values": ["5"]}], "profileId": ID}
        resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
        return json.dumps({"resourceProfiles": [{"resource": resource, "scopeProfiles": [{"profiles": [profile]}]}],
                           "dictionary": dictionary}).encode()

    def push(self, server, *arguments, **more):
        answer = server.send(self.request(*arguments, **more), headers={"content-type": "application/json"})
        self.assertEqual(answer.status, 200, answer.body)
        self.assertNotIn(b"rejected", answer.body)
        server.flush()

    def names(self, server, service="shop"):
        rows = server.ask("top", query=service, type="samples", since="1h")["rows"]
        return {row["name"] for row in rows}

    def test_lines_and_inlined_calls_of_a_local_program(self):
        address, (inner, outer) = self.inlined_address()
        with self.server() as server:
            self.push(server, address)
            self.assertEqual(self.names(server), {"shop::Cart::Total(int) const", "shop::Scale(int, int)"})
            listed = server.ask("list", query="shop", type="samples", since="1h", function="shop::")["functions"]
            by_name = {f["name"]: f for f in listed}
            self.assertEqual(by_name["shop::Scale(int, int)"]["lines"], [[inner, 5, 5]])
            total = by_name["shop::Cart::Total(int) const"]
            self.assertEqual(total["lines"], [[outer, 0, 5]])
            self.assertEqual(total["file"], str(self.source))
            shown = server.cli("list", "Scale", "--service", "shop", "--type", "samples").stdout
            self.assertIn("for (int i = 0", shown)
            self.assertIn("shop::Scale(int, int)", server.cli("tree", "shop", "--type", "samples").stdout)
            pprof = self.folder / "merged.pb.gz"
            pprof.write_bytes(server.get("/api/v1/export", query="shop", type="samples", since="1h", format="pprof").body)
            self.assertIn("shop::Scale(int, int)", server.cli("top", str(pprof), "--type", "samples").stdout)
            # Given back by its id it is what was sent: an address.
            back = server.get("/api/v1/profiles/" + ID, format="otlp-json").json
            self.assertEqual(back["dictionary"]["locationTable"][1].get("lines", []), [])
            self.assertIn("symbols: modules asked for: 1, found on this machine: 1", server.cli("doctor").stdout)

    def test_names_without_lines_get_lines_and_sent_names_stay_where_nothing_is_known(self):
        address, _ = self.inlined_address()
        with self.server() as server:
            self.push(server, address, "shop::Cart::Total(int) const", service="named")
            self.assertIn("shop::Scale(int, int)", self.names(server, "named"))
            self.build("-O1")  # deployed anew: the running profiles' file is gone
            current = self.build_id
            self.build_id = "ab" * 20
            self.push(server, address, service="gone")
            self.push(server, address, "as_sent", service="gone-named")
            self.assertEqual(self.names(server, "gone"), {f"shop+{hex(address - self.address + self.offset)}"})
            self.assertEqual(self.names(server, "gone-named"), {"as_sent"})
            self.build_id = current
            self.push(server, self.address + 0x10, service="again")

    def test_symbol_path_and_no_symbols(self):
        address, _ = self.inlined_address()
        symbols = self.folder / "symbols"
        tree = symbols / ".build-id" / self.build_id[:2]
        tree.mkdir(parents=True)
        run("objcopy", "--only-keep-debug", str(self.program), str(tree / (self.build_id[2:] + ".debug")))
        run("strip", str(self.program))
        self.program.rename(self.folder / "elsewhere")
        self.assertFalse(self.program.exists())
        (self.folder / "elsewhere").rename(symbols / "shop")
        with self.server("--symbol-path", str(symbols)) as server:
            self.push(server, address)
            self.assertIn("shop::Scale(int, int)", self.names(server))
        with self.server("--symbol-path", str(symbols), "--no-symbols", name="without") as server:
            self.push(server, address)
            self.assertEqual(self.names(server), {f"shop+{hex(address - self.address + self.offset)}"})

    def test_paths_that_senders_name_are_followed_by_a_confined_process_only(self):
        address, _ = self.inlined_address()
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        # A program in /dev, named in ways that do not begin with "/dev/".
        device = pathlib.Path(tempfile.mkdtemp(prefix="wherefore-test-", dir="/dev/shm")) / "shop"
        self.addCleanup(shutil.rmtree, device.parent)
        shutil.copy(self.program, device)
        with self.server() as server:
            for n, path in enumerate((f"/{device}", f"/.{device}", f"/proc/self/root{device}", str(pipe), "//dev/zero")):
                self.program = path
                self.push(server, address, service=f"named{n}")
                self.assertEqual(len(self.names(server, f"named{n}")), 1)
                self.assertNotIn("shop::Scale(int, int)", self.names(server, f"named{n}"))
            self.assertIn("found on this machine: 0", server.cli("doctor").stdout)
            worker = [pid for pid in processes(server.process.pid) if pid != server.process.pid]
            self.assertEqual(len(worker), 1)
            status = pathlib.Path(f"/proc/{worker[0]}/status").read_text()
            self.assertRegex(status, r"Seccomp:\s+2")
            self.assertRegex(status, r"NoNewPrivs:\s+1")

    def test_a_damaged_program_costs_names_only(self):
        address, _ = self.inlined_address()
        with self.server() as server:
            whole = self.program.read_bytes()
            for n, size in enumerate((len(whole) // 2, len(whole) * 3 // 4)):
                self.program.write_bytes(whole[:size])
                self.push(server, address, service=f"cut{n}")
                self.assertEqual(len(self.names(server, f"cut{n}")), 1)
            at = whole.index(b"\x7fELF", 0) + 64
            self.program.write_bytes(whole[:at] + bytes((b * 7 + 13) % 256 for b in whole[at:]))
            self.push(server, address, service="scrambled")
            self.assertEqual(len(self.names(server, "scrambled")), 1)
            self.assertEqual(server.get("/ready").status, 200)


if __name__ == "__main__":
    unittest.main()
