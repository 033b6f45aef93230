// How to connect programs in each language with their stock SDKs. examples/ has most of them in full and runs them.
import { otlpCommand } from './shell';

export interface Way {
  name: string;
  how: string;
  commands: string[];
}

export const CONNECT = (server: string): Way[] => [
  {
    name: 'C++, or any other program',
    how:
      'libwherefore, loaded into the program: CPU, heap, locks and more. No code; ' +
      'docs/sdk.md says what more it does when linked.',
    commands: [`wherefore run --server ${server} --service my-service -- ./app`],
  },
  {
    name: 'Go',
    how: 'pyroscope-go for profiles, otel-profiling-go for their spans.',
    commands: [
      'go get github.com/grafana/pyroscope-go github.com/grafana/otel-profiling-go',
      `pyroscope.Start(pyroscope.Config{ApplicationName: "my-service", ServerAddress: "${server}"})`,
    ],
  },
  {
    name: 'Go, without a change',
    how: 'A program that serves net/http/pprof is asked every 15 s.',
    commands: ['wherefore serve --scrape my-service=http://localhost:6060'],
  },
  {
    name: 'Python',
    how: 'pyroscope-io for profiles, pyroscope-otel for their spans.',
    commands: [
      'pip install pyroscope-io pyroscope-otel',
      `pyroscope.configure(application_name="my-service", server_address="${server}")`,
    ],
  },
  {
    name: 'Java',
    how: 'The Pyroscope agent; its OpenTelemetry extension for spans. No code.',
    commands: [
      `export PYROSCOPE_APPLICATION_NAME=my-service PYROSCOPE_SERVER_ADDRESS=${server}`,
      'java -javaagent:pyroscope.jar -jar app.jar',
    ],
  },
  {
    name: 'Node.js',
    how: '@pyroscope/nodejs.',
    commands: [
      'npm install @pyroscope/nodejs',
      `Pyroscope.init({ serverAddress: '${server}', appName: 'my-service', wall: { collectCpuTime: true } }); ` +
        'Pyroscope.start();',
    ],
  },
  {
    name: '.NET',
    how: 'The native profiler out of the archive of pyroscope-dotnet. No code.',
    commands: [
      `export PYROSCOPE_APPLICATION_NAME=my-service PYROSCOPE_SERVER_ADDRESS=${server} PYROSCOPE_PROFILING_ENABLED=1`,
      'export CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER={BD1A650D-AC5D-4896-B64F-D6FA25D6B26A} ' +
        'CORECLR_PROFILER_PATH=$PWD/Pyroscope.Profiler.Native.so LD_PRELOAD=$PWD/Pyroscope.Linux.ApiWrapper.x64.so',
      'dotnet app.dll',
    ],
  },
  {
    name: 'Ruby',
    how: 'The gem pyroscope; pyroscope-otel for spans.',
    commands: [
      'gem install pyroscope pyroscope-otel',
      `Pyroscope.configure { |c| c.application_name = "my-service"; c.server_address = "${server}" }`,
    ],
  },
  {
    name: 'Rust',
    how: 'The crate pyroscope with its pprof-rs backend.',
    commands: ['cargo add pyroscope --features backend-pprof-rs'],
  },
  {
    name: 'Anything with OpenTelemetry',
    how: 'Traces, and profiles of SDKs and collectors that have them.',
    commands: [otlpCommand(server, 'my-service')],
  },
  {
    name: 'A file you have',
    how:
      'pprof, OTLP, JFR, folded stacks, speedscope, perf script; gzipped or not. ' +
      'Or drop it on the page “Files” and keep it there.',
    commands: [`wherefore push profile.pb.gz --service my-service --server ${server}`],
  },
];
