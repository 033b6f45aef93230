// A small order service, profiled and traced: HTTP handler -> span process-data -> spans parse, validate, transform.
//
// parse does three times the work of validate; transform allocates; while requests are served, two goroutines fight over a
// lock. On SIGTERM it sends
// what is left and prints the CPU time it really spent in each function as one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	otelpyroscope "github.com/grafana/otel-profiling-go"
	"github.com/grafana/pyroscope-go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/sys/unix"
)

const (
	service = "shop-go"
	unit    = 4_000_000 // iterations of the loop that stands for work
)

var tracer = otel.Tracer("shop")

func startTracing(ctx context.Context, server string) (*sdktrace.TracerProvider, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(server+"/v1/traces"))
	if err != nil {
		return nil, err
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter, sdktrace.WithBatchTimeout(time.Second)),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", service))))
	// The wrapper puts span_id and trace_id of the local root span on the goroutine, where the profiler finds them.
	otel.SetTracerProvider(otelpyroscope.NewTracerProvider(provider))
	return provider, nil
}

func startProfiling(server string) (*pyroscope.Profiler, error) {
	runtime.SetMutexProfileFraction(5) // without these two the mutex and block profiles stay empty
	runtime.SetBlockProfileRate(100_000)
	return pyroscope.Start(pyroscope.Config{
		ApplicationName: service,
		ServerAddress:   server,
		UploadRate:      5 * time.Second,
		Tags:            map[string]string{"env": "example"},
		ProfileTypes: []pyroscope.ProfileType{
			pyroscope.ProfileCPU,
			pyroscope.ProfileAllocObjects, pyroscope.ProfileAllocSpace,
			pyroscope.ProfileInuseObjects, pyroscope.ProfileInuseSpace,
			pyroscope.ProfileGoroutines,
			pyroscope.ProfileMutexCount, pyroscope.ProfileMutexDuration,
			pyroscope.ProfileBlockCount, pyroscope.ProfileBlockDuration,
		},
	})
}

// What was really spent, in nanoseconds of CPU.
var spent struct{ parse, validate, transform, requests atomic.Int64 }

var serving atomic.Int64 // requests, now

func cpuTime(clock int32) int64 {
	var time unix.Timespec
	if err := unix.ClockGettime(clock, &time); err != nil { // getrusage would be behind by up to a tick
		log.Fatal(err)
	}
	return time.Nano()
}

const (
	wholeProcess = unix.CLOCK_PROCESS_CPUTIME_ID
	thisThread   = unix.CLOCK_THREAD_CPUTIME_ID
)

// step runs one part of a request in a span of its own and adds its CPU time to the account.
func step(ctx context.Context, name string, account *atomic.Int64, work func()) {
	_, span := tracer.Start(ctx, name)
	defer span.End()
	before := cpuTime(thisThread)
	work()
	account.Add(cpuTime(thisThread) - before)
}

//go:noinline
func parse(size int) uint64 {
	x := uint64(size) | 1
	for i := 0; i < 3*unit*size; i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

//go:noinline
func validate(size int) uint64 {
	x := uint64(size) | 1
	for i := 0; i < unit*size; i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

//go:noinline
func transform(size int) [][]byte {
	rows := make([][]byte, 0, 200*size)
	for i := 0; i < 200*size; i++ {
		rows = append(rows, make([]byte, 1024))
	}
	return rows
}

func process(w http.ResponseWriter, r *http.Request) {
	runtime.LockOSThread() // so that the thread's CPU time is this request's
	defer runtime.UnlockOSThread()
	serving.Add(1)
	defer serving.Add(-1)
	size, err := strconv.Atoi(r.URL.Query().Get("size"))
	if err != nil || size < 1 || size > 100 {
		size = 1
	}
	ctx, span := tracer.Start(r.Context(), "process-data")
	defer span.End()
	span.SetAttributes(attribute.Int("size", size))

	var sum uint64
	var rows [][]byte
	step(ctx, "parse", &spent.parse, func() { sum += parse(size) })
	step(ctx, "validate", &spent.validate, func() { sum += validate(size) })
	step(ctx, "transform", &spent.transform, func() { rows = transform(size) })
	spent.requests.Add(1)
	fmt.Fprintf(w, "%d rows, %x\n", len(rows), sum)
}

// contend keeps a lock busy while requests are served: what the mutex and block profiles show.
func contend(ctx context.Context, lock *sync.Mutex) {
	for ctx.Err() == nil {
		if serving.Load() == 0 {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		lock.Lock()
		time.Sleep(10 * time.Millisecond)
		lock.Unlock()
	}
}

func run(server string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	tracing, err := startTracing(ctx, server)
	if err != nil {
		return err
	}
	profiler, err := startProfiling(server)
	if err != nil {
		return err
	}
	cpuBefore := cpuTime(wholeProcess)

	var lock sync.Mutex
	go contend(ctx, &lock)
	go contend(ctx, &lock)

	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /process", process)
	web := &http.Server{Handler: mux}
	go web.Serve(listener)
	fmt.Printf("listening on http://%s\n", listener.Addr())

	<-ctx.Done()
	cpu := cpuTime(wholeProcess) - cpuBefore
	web.Shutdown(context.Background())
	if err := profiler.Stop(); err != nil { // sends the last interval
		return err
	}
	if err := tracing.Shutdown(context.Background()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"service": service, "requests": spent.requests.Load(), "total_cpu_ns": cpu,
		"cpu_ns": map[string]int64{
			"parse": spent.parse.Load(), "validate": spent.validate.Load(), "transform": spent.transform.Load()},
	})
}

func main() {
	server := "http://127.0.0.1:4040"
	if len(os.Args) > 1 {
		server = os.Args[1]
	}
	if err := run(server); err != nil {
		log.Fatal(err)
	}
}
