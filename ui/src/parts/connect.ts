// How programs of each language are connected: what their stock SDKs need, as examples/ has it in full and runs it.

export interface Way { name: string; how: string; commands: string[] }

export const CONNECT = (server: string, host: string): Way[] => [
  { name: 'Go', how: 'pyroscope-go for profiles, otel-profiling-go for their spans.', commands: [
    'go get github.com/grafana/pyroscope-go github.com/grafana/otel-profiling-go',
    `pyroscope.Start(pyroscope.Config{ApplicationName: "my-service", ServerAddress: "${server}"})`,
  ] },
  { name: 'Go, without a change', how: 'A program that serves net/http/pprof is asked every 15 s.', commands: ['wherefore serve --scrape my-service=http://localhost:6060'] },
  { name: 'Python', how: 'pyroscope-io for profiles, pyroscope-otel for their spans.', commands: [
    'pip install pyroscope-io pyroscope-otel', `pyroscope.configure(application_name="my-service", server_address="${server}")`,
  ] },
  { name: 'Java', how: 'The Pyroscope agent; its OpenTelemetry extension for spans. No code.', commands: [
    `export PYROSCOPE_APPLICATION_NAME=my-service PYROSCOPE_SERVER_ADDRESS=${server}`, 'java -javaagent:pyroscope.jar -jar app.jar',
  ] },
  { name: 'Node.js', how: '@pyroscope/nodejs.', commands: ['npm install @pyroscope/nodejs', `Pyroscope.init({ serverAddress: '${server}', appName: 'my-service', wall: { collectCpuTime: true } }); Pyroscope.start();`] },
  { name: 'Rust', how: 'The crate pyroscope with its pprof-rs backend.', commands: ['cargo add pyroscope --features backend-pprof-rs'] },
  { name: 'Anything with OpenTelemetry', how: 'Traces, and profiles of SDKs and collectors that have them.', commands: [`export OTEL_EXPORTER_OTLP_ENDPOINT=http://${host}:4318 OTEL_SERVICE_NAME=my-service`] },
  { name: 'A file you have', how: 'pprof, OTLP, JFR, folded stacks, speedscope; gzipped or not.', commands: [`wherefore push profile.pb.gz --service my-service --server ${server}`] },
];
