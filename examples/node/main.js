// A small order service, profiled and traced: HTTP handler -> span process-data -> spans parse, validate, transform.
//
// parse does three times the work of validate; transform allocates. On SIGTERM it sends what is left and prints the CPU
// time it really spent in each function as one line of JSON.
'use strict';
const http = require('node:http');
const { trace, context } = require('@opentelemetry/api');
const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-proto');
const { resourceFromAttributes } = require('@opentelemetry/resources');
const { BatchSpanProcessor, NodeTracerProvider } = require('@opentelemetry/sdk-trace-node');
const Pyroscope = require('@pyroscope/nodejs');

const service = 'shop-node';
const server = process.argv[2] || 'http://127.0.0.1:4040';
// Iterations of the loop that stands for work. A sample has the CPU time since the one before, so the end of a function is
// filed under the next one: half a sampling interval of each call, which long calls hide.
const unit = 12_000_000;

const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ 'service.name': service }),
  spanProcessors: [
    new BatchSpanProcessor(new OTLPTraceExporter({ url: server + '/v1/traces' }), { scheduledDelayMillis: 1000 }),
  ],
});
provider.register();
const tracer = trace.getTracer('shop');

Pyroscope.init({
  serverAddress: server,
  appName: service,
  tags: { env: process.env.NODE_ENV || 'example' }, // an undefined value would make init throw
  flushIntervalMs: 5000,
  wall: { collectCpuTime: true, samplingDurationMs: 5000, samplingIntervalMicros: 5000 },
});
Pyroscope.start();

function parse(size) {
  let x = size | 1;
  for (let i = 0; i < 3 * unit * size; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
  }
  return x >>> 0;
}

function validate(size) {
  let x = size | 1;
  for (let i = 0; i < unit * size; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
  }
  return x >>> 0;
}

const kept = []; // the newest results, so that the heap profile has something in use
function transform(size) {
  const rows = [];
  for (let i = 0; i < 2000 * size; i++) rows.push({ id: i, text: 'row '.repeat(20) + i });
  kept.push(rows);
  if (kept.length > 50) kept.shift();
  return rows;
}

const spent = { parse: 0, validate: 0, transform: 0 }; // microseconds of CPU
let requests = 0;
const micros = (usage) => usage.user + usage.system;

// Runs one synchronous part of a request in a span of its own, its samples labelled with that span. There is no
// integration for Node.js: the labels are set by hand, and hold for synchronous code only (gone after an await).
function step(work, size) {
  const span = tracer.startSpan(work.name);
  const { spanId, traceId } = span.spanContext();
  const before = process.cpuUsage();
  let result;
  Pyroscope.wrapWithLabels({ span_id: spanId, trace_id: traceId, endpoint: '/process' }, () => {
    result = work(size); // wrapWithLabels does not pass a result on
  });
  spent[work.name] += micros(process.cpuUsage(before));
  span.end();
  return result;
}

const web = http.createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  if (url.pathname !== '/process') return response.writeHead(404).end();
  const size = Number(url.searchParams.get('size')) || 1;
  const span = tracer.startSpan('process-data', { attributes: { size } });
  context.with(trace.setSpan(context.active(), span), () => {
    const sum = step(parse, size) + step(validate, size);
    const rows = step(transform, size);
    requests++;
    response.end(`${rows.length} rows, ${sum.toString(16)}\n`);
  });
  span.end();
});

const cpuBefore = process.cpuUsage();
web.listen(Number(process.env.PORT) || 0, '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${web.address().port}`);
});

process.on('SIGTERM', async () => {
  const cpu = micros(process.cpuUsage(cpuBefore));
  web.close();
  await Pyroscope.stop(); // sends the last wall profile
  await provider.shutdown();
  const cpuNs = Object.fromEntries(Object.entries(spent).map(([name, us]) => [name, us * 1000]));
  console.log(JSON.stringify({ service, requests, total_cpu_ns: cpu * 1000, cpu_ns: cpuNs }));
  process.exit(0);
});
