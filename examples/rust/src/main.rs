//! A small order service, profiled and traced: HTTP handler -> span process-data -> spans parse, validate, transform.
//!
//! `parse` does three times the work of `validate`; `transform` allocates. On SIGTERM it sends what is left and prints the
//! CPU time it really spent in each function as one line of JSON.
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::{TraceContextExt, Tracer};
use opentelemetry::{global, KeyValue};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::trace::SdkTracerProvider;
use opentelemetry_sdk::Resource;
use pyroscope::backend::{pprof_backend, BackendConfig, PprofConfig};
use pyroscope::pyroscope::{PyroscopeAgent, PyroscopeAgentBuilder, PyroscopeAgentRunning};

const SERVICE: &str = "shop-rust";
const UNIT: u64 = 4_000_000; // iterations of the loop that stands for work

type Failure = Box<dyn std::error::Error>;
type Tag<'a> = &'a (dyn Fn(String, String) -> pyroscope::error::Result<()> + Sync);

/// What was really spent, in nanoseconds of CPU.
#[derive(Default)]
struct Spent {
    parse: AtomicU64,
    validate: AtomicU64,
    transform: AtomicU64,
    requests: AtomicU64,
}

fn start_tracing(server: &str) -> Result<SdkTracerProvider, Failure> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{server}/v1/traces"))
        .build()?;
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(Resource::builder_empty().with_service_name(SERVICE).build())
        .build();
    global::set_tracer_provider(provider.clone());
    Ok(provider)
}

fn start_profiling(server: &str) -> Result<PyroscopeAgent<PyroscopeAgentRunning>, Failure> {
    let backend = pprof_backend(PprofConfig { sample_rate: 100 }, BackendConfig::default());
    let agent = PyroscopeAgentBuilder::new(server, SERVICE, 100, "pyroscope-rs", "2.1.5", backend)
        .tags(vec![("env", "example")])
        .upload_interval(Duration::from_secs(5))
        .build()?;
    Ok(agent.start()?)
}

fn cpu_time(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of our own.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[inline(never)]
fn parse(size: u64) -> u64 {
    let mut x = size | 1;
    for _ in 0..3 * UNIT * size {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x)
}

#[inline(never)]
fn validate(size: u64) -> u64 {
    let mut x = size | 1;
    for _ in 0..UNIT * size {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x)
}

#[inline(never)]
fn transform(size: u64) -> Vec<Vec<u8>> {
    black_box((0..200 * size).map(|i| vec![i as u8; 1024]).collect())
}

/// Runs one part of a request in a span of its own and adds its CPU time to the account.
fn step<T>(name: &'static str, account: &AtomicU64, work: impl FnOnce() -> T) -> T {
    global::tracer("shop").in_span(name, |_| {
        let before = cpu_time(libc::CLOCK_THREAD_CPUTIME_ID);
        let result = work();
        account.fetch_add(cpu_time(libc::CLOCK_THREAD_CPUTIME_ID) - before, Ordering::Relaxed);
        result
    })
}

/// One request. There is no span integration for Rust: the root span's ids are put on this thread's samples by hand. Each
/// change of tags makes the profiler drain its buffer, so tag per request, not per function.
fn process(size: u64, spent: &Spent, add_tag: Tag, remove_tag: Tag) -> pyroscope::error::Result<String> {
    global::tracer("shop").in_span("process-data", |cx| {
        cx.span().set_attribute(KeyValue::new("size", size as i64));
        let ids = cx.span().span_context().clone();
        let tags = [("span_id", ids.span_id().to_string()), ("trace_id", ids.trace_id().to_string())];
        for (key, value) in &tags {
            add_tag(key.to_string(), value.clone())?;
        }
        let sum = step("parse", &spent.parse, || parse(size))
            .wrapping_add(step("validate", &spent.validate, || validate(size)));
        let rows = step("transform", &spent.transform, || transform(size));
        for (key, value) in &tags {
            remove_tag(key.to_string(), value.clone())?; // with the same value, or it stays
        }
        spent.requests.fetch_add(1, Ordering::Relaxed);
        Ok(format!("{} rows, {sum:x}\n", rows.len()))
    })
}

fn answer(request: tiny_http::Request, spent: &Spent, add_tag: Tag, remove_tag: Tag) {
    let (path, query) = request.url().split_once('?').unwrap_or((request.url(), ""));
    let sent = if path != "/process" {
        request.respond(tiny_http::Response::empty(404))
    } else {
        let size = query.strip_prefix("size=").and_then(|s| s.parse().ok()).unwrap_or(1);
        match process(size, spent, add_tag, remove_tag) {
            Ok(text) => request.respond(tiny_http::Response::from_string(text)),
            Err(error) => request.respond(tiny_http::Response::from_string(error.to_string()).with_status_code(500)),
        }
    };
    if let Err(error) = sent {
        eprintln!("answer not sent: {error}");
    }
}

fn main() -> Result<(), Failure> {
    let server = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:4040".into());
    let stopping = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGTERM, stopping.clone())?;

    let tracing = start_tracing(&server)?;
    let profiling = start_profiling(&server)?;
    let cpu_before = cpu_time(libc::CLOCK_PROCESS_CPUTIME_ID);
    let port = std::env::var("PORT").unwrap_or_else(|_| "0".into());
    let web = tiny_http::Server::http(format!("127.0.0.1:{port}")).map_err(|e| e.to_string())?;
    println!("listening on http://{}", web.server_addr());

    let spent = Spent::default();
    let (add_tag, remove_tag) = profiling.tag_wrapper();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stopping.load(Ordering::Relaxed) {
                    if let Ok(Some(request)) = web.recv_timeout(Duration::from_millis(100)) {
                        answer(request, &spent, &add_tag, &remove_tag);
                    }
                }
            });
        }
    });

    let cpu = cpu_time(libc::CLOCK_PROCESS_CPUTIME_ID) - cpu_before;
    profiling.stop()?.shutdown(); // sends the last interval
    tracing.shutdown()?;
    let get = |n: &AtomicU64| n.load(Ordering::Relaxed);
    println!(
        r#"{{"service":"{SERVICE}","requests":{},"total_cpu_ns":{cpu},"cpu_ns":{{"parse":{},"validate":{},"transform":{}}}}}"#,
        get(&spent.requests), get(&spent.parse), get(&spent.validate), get(&spent.transform)
    );
    Ok(())
}
