"""What libwherefore publishes about its host's threads and process to readers outside, which inspect the memory of the
running program: OpenTelemetry's thread and process context, for every way to load the library."""
import ctypes
import os
import pathlib
import struct
import subprocess
import unittest

from compiled import LINK_SHARED, NO_HOOKS, STATIC, compile_program
from harness import ROOT, Case, field
from preload import LIBRARY

STATIC_FLAGS = ["-Wl,--export-dynamic-symbol=otel_thread_ctx_v1", "-Wl,--export-dynamic-symbol=wherefore_*"]


# --- a reader outside: ELF, ptrace, /proc/PID/mem ---

class Elf:
    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        phoff, = struct.unpack_from("<Q", self.data, 32)
        phentsize, phnum = struct.unpack_from("<HH", self.data, 54)
        self.headers = [struct.unpack_from("<IIQQQQQQ", self.data, phoff + i * phentsize) for i in range(phnum)]
        shoff, = struct.unpack_from("<Q", self.data, 40)
        shentsize, shnum, shstrndx = struct.unpack_from("<HHH", self.data, 58)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, shoff + i * shentsize) for i in range(shnum)]

    def dynamic_symbol(self, name):
        """(number, type, value) in .dynsym, or None"""
        for kind, link, offset, size in ((s[1], s[6], s[4], s[5]) for s in self.sections):
            if kind != 11:  # SHT_DYNSYM
                continue
            strings = self.sections[link][4]
            for number in range(size // 24):
                st_name, info, _, shndx, value, _ = struct.unpack_from("<IBBHQQ", self.data, offset + number * 24)
                end = self.data.index(b"\0", strings + st_name)
                if self.data[strings + st_name:end] == name and shndx:
                    return number, info & 15, value
        return None

    def tls_descriptor(self, symbol):
        """Address of the GOT slot of R_X86_64_TLSDESC for that symbol."""
        for s in self.sections:
            if s[1] != 4:  # SHT_RELA
                continue
            for at in range(s[4], s[4] + s[5], 24):
                r_offset, info, _ = struct.unpack_from("<QQq", self.data, at)
                if info & 0xffffffff == 36 and info >> 32 == symbol:
                    return r_offset
        return None

    def static_tls(self, value):
        """Offset from the thread pointer in an executable (variant II)."""
        for kind, _, _, _, _, _, memsz, align in self.headers:
            if kind == 7:  # PT_TLS
                return value - (memsz + align - 1) // align * align
        raise AssertionError("no TLS segment")


libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class Stopped:
    """A thread in a ptrace stop, so that it does not change while we read."""

    def __init__(self, tid):
        self.tid = tid

    def __enter__(self):
        assert libc.ptrace(16, self.tid, None, None) == 0, os.strerror(ctypes.get_errno())  # PTRACE_ATTACH
        os.waitpid(self.tid, 0x40000000)  # __WALL
        registers = (ctypes.c_ulonglong * 27)()
        assert libc.ptrace(12, self.tid, None, ctypes.byref(registers)) == 0  # PTRACE_GETREGS
        self.fs_base = registers[21]
        return self

    def __exit__(self, *unused):
        libc.ptrace(17, self.tid, None, None)  # PTRACE_DETACH


def read_memory(pid, address, size):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(size)


def mappings(pid):
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        parts = line.split(None, 5)
        start, end = (int(x, 16) for x in parts[0].split("-"))
        yield start, end, int(parts[2], 16), parts[5].strip() if len(parts) > 5 else ""


def thread_pointer_slot(pid, fs_base):
    """(how it was found, address of this thread's otel_thread_ctx_v1)"""
    files = {}
    for start, _, offset, path in mappings(pid):
        if offset == 0 and path.startswith("/") and os.path.isfile(path):
            files.setdefault(path, start)
    executable = os.readlink(f"/proc/{pid}/exe")
    for path in sorted(files, key=lambda p: p != executable):
        elf = Elf(path)
        found = elf.dynamic_symbol(b"otel_thread_ctx_v1")
        if found is None:
            continue
        number, kind, value = found
        assert kind == 6, "the symbol is not a TLS one"
        if path == executable:
            return "static", fs_base + elf.static_tls(value)
        slot = elf.tls_descriptor(number)
        assert slot is not None, "no TLSDESC relocation for the symbol"
        offset, = struct.unpack("<q", read_memory(pid, files[path] + slot + 8, 8))
        return "tlsdesc", fs_base + offset
    raise AssertionError("nobody publishes otel_thread_ctx_v1")


def process_context(pid):
    for start, _, _, name in mappings(pid):
        if name.startswith(("[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]", "/memfd:OTEL_CTX")):
            signature, version, size, time_ns, pointer = struct.unpack("<8sIIQQ", read_memory(pid, start, 32))
            return signature, version, time_ns, read_memory(pid, pointer, size)
    raise AssertionError("no process context")


class Outside(Case):
    def check(self, program, way, environment=None):
        process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "WHEREFORE_OUTPUT": str(self.folder / "out") + "/", **(environment or {})})
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline().strip(), "fine")
        for first in (0x10, 0x20):
            tid = int(process.stdout.readline())
            with Stopped(tid) as thread:
                found, slot = thread_pointer_slot(process.pid, thread.fs_base)
                self.assertEqual(found, way)
                record, = struct.unpack("<Q", read_memory(process.pid, slot, 8))
                bytes_there = read_memory(process.pid, record, 28 + 8)
            self.assertEqual(record % 2, 0)
            expected = bytes(range(first, first + 16)) + bytes(range(first + 0x40, first + 0x48))
            expected += b"\x01\x01" + struct.pack("<H", 8) + b"\x00\x06/items"
            self.assertEqual(bytes_there, expected)
            signature, version, time_ns, payload = process_context(process.pid)
            self.assertEqual((signature, version), (b"OTEL_CTX", 2))
            self.assertGreater(time_ns, 0)
            self.assertIn(field(1, field(1, "service.name") + field(2, field(1, "svc"))), payload)
            schema = field(2, field(1, "threadlocal.schema_version") + field(2, field(1, "tlsdesc_v1_dev")))
            keys = field(2, field(1, "threadlocal.attribute_key_map") + field(2, field(5, field(1, field(1, "http.route")))))
            self.assertTrue(payload.endswith(schema + keys), payload)
            process.stdin.write("\n")
            process.stdin.flush()
        _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0, errors)
        self.assertRegex(errors, r"^wherefore: profiling svc \(process \d+\): on: cpu")
        return errors

    def test_linked_shared(self):
        program = compile_program(ROOT / "tests/sdk/context_program.cc", self.folder / "shared", *LINK_SHARED)
        self.check(program, "tlsdesc")

    def test_linked_statically_also_under_a_preload_which_stays_passive(self):
        program = compile_program(ROOT / "tests/sdk/context_program.cc", self.folder / "static", str(STATIC), *STATIC_FLAGS)
        self.check(program, "static")
        errors = self.check(program, "static", {"LD_PRELOAD": str(LIBRARY)})
        self.assertEqual(errors.count("wherefore: profiling"), 1)

    def test_without_a_dynamic_linker_the_context_is_readable_as_static_pie(self):
        program = compile_program(ROOT / "tests/sdk/context_program.cc", self.folder / "static-pie", "-static-pie", str(NO_HOOKS),
                                  *STATIC_FLAGS)
        self.check(program, "static")

    def test_preloaded(self):
        program = compile_program(ROOT / "tests/sdk/context_program.cc", self.folder / "preloaded", "-DPRELOADED")
        self.check(program, "tlsdesc", {"LD_PRELOAD": str(LIBRARY), "OTEL_SERVICE_NAME": "svc"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
