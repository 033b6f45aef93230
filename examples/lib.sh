# What the five `run` scripts share: arguments, cache, load, stopping. Sourced, not run.
#
#   run [SERVER_URL] [SECONDS]     defaults: http://127.0.0.1:4040, 20
#   CHECK_ONLY=1 run               only says whether the tools are there
#   PREPARE_ONLY=1 run             only fetches and builds
#   IDLE=1 run                     sends no requests
#   WHEREFORE_CACHE=DIRECTORY      where to (default ~/.cache/wherefore)
#
# A script sets `language`, sources this, fills the cache, and ends with: serve COMMAND...
# COMMAND prints "listening on URL" when it serves, and on SIGTERM sends what is left and prints one line of JSON.
server="${1:-http://127.0.0.1:4040}"
seconds="${2:-20}"
here="$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)"
cache="${WHEREFORE_CACHE:-$HOME/.cache/wherefore}/examples/$language"
mkdir -p "$cache"

say() { printf '== %s\n' "$*" >&2; }
# Exit code 3 stands for: this machine lacks a tool, or has too old a one.
need() { # need COMMAND HINT
  command -v "$1" >/dev/null || { say "$language: '$1' is not installed ($2)"; exit 3; }
}
at_least() { # at_least VERSION_FOUND VERSION_WANTED WHAT
  [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ] || { say "$language: $3 $2 or newer is needed, this is $1"; exit 3; }
}
need curl "Debian: apt install curl"

# True when the cache was not yet made from exactly these files (and this version of the tool).
stale() {
  [ -z "${CHECK_ONLY:-}" ] || exit 0 # the tools are there, which was the question
  stamp="$(cat "$@" 2>/dev/null | sha256sum | cut -d' ' -f1)-${tool_version:-}"
  [ "$(cat "$cache/stamp" 2>/dev/null)" != "$stamp" ]
}
fresh() { printf '%s\n' "$stamp" >"$cache/stamp"; }

# Two clients ask one after the other; every eighth request is eight times as large: the slow ones to look for.
drive() {
  local url="$1" until="$2" n=0 size
  while [ "$SECONDS" -lt "$until" ]; do
    size=1
    [ $((n++ % 8)) = 4 ] && size=8
    curl -fsS -o /dev/null --max-time 60 "$url/process?size=$size" || break
  done
}

cleanup() {
  kill "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true # 143 from a JVM that was asked to end
  rm -f "$output"
}

serve() {
  [ -z "${PREPARE_ONLY:-}" ] || exit 0
  local url=''
  output="$(mktemp)"
  "$@" >"$output" &
  pid=$!
  trap cleanup EXIT
  trap 'exit 130' INT TERM
  while [ -z "$url" ]; do
    kill -0 "$pid" 2>/dev/null || { say "$language: the service ended"; cat "$output" >&2; exit 1; }
    sleep 0.1
    url="$(sed -n 's/^listening on //p' "$output")"
  done
  say "$language: serving on $url, sending to $server for $seconds s"
  SECONDS=0
  if [ -n "${IDLE:-}" ]; then
    sleep "$seconds" & wait $! # which ends when this script is told to
  else
    drive "$url" "$seconds" & local one=$!
    drive "$url" "$seconds"
    wait "$one" || true
  fi
  kill -TERM "$pid"
  wait "$pid" || { [ $? = 143 ] || { say "$language: the service failed"; cat "$output" >&2; exit 1; }; }
  grep '^{' "$output"
  say "Look: wherefore top --service shop-$language --server $server      or $server in a browser"
}
