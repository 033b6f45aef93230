"""Programs that a test compiles, with or without libwherefore linked in, and the `wherefore` that runs them."""
import subprocess

from harness import BINARY, ROOT
from preload import BUILD, LIBRARY

STATIC = BUILD / "libwherefore.a"
NO_HOOKS = BUILD / "libwherefore_nohooks.a"
LINK_SHARED = [str(LIBRARY), f"-Wl,-rpath,{BUILD}"]
BUSY = """#include <cstdlib>
__attribute__((noinline)) double Spin(long n) { volatile double x = 0; for (long i = 0; i < n; ++i) x = x + i * 0.5; return x; }
int main(int argc, char**) { Spin(400'000'000); return 40 + argc; }
"""


def compile_program(source, out, *flags):
    subprocess.run(["g++", "-std=c++17", "-O2", f"-I{ROOT}/include", str(source), "-o", str(out), *flags, "-pthread", "-ldl"],
                   check=True, timeout=120)
    return out


def compile_text(text, out, *flags):
    """Like compile_program, with the source given as text."""
    source = out.with_suffix(".cc")
    source.write_text(text)
    return compile_program(source, out, *flags)


def run_cli(*arguments, **more):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=60, **more)
