"""The programs beside the benchmarks: they print JSON."""
import json
import subprocess

STEP_S = 10  # between two profiles of an instance


def tool(build, name, *words):
    done = subprocess.run([str(build / "bench" / name), *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name} ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)
