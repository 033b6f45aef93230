// A small order service, profiled and traced: HTTP handler -> span process-data -> spans parse, validate, transform.
//
// parse does three times the work of validate; transform allocates; a lock is contended while requests are served. On
// SIGTERM it sends what is left and prints the CPU time it really spent in each function as one line of JSON.

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;
import io.pyroscope.labels.v2.LabelsSet;
import io.pyroscope.labels.v2.Pyroscope;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

public final class Shop {
  private static final String SERVICE = System.getenv().getOrDefault("OTEL_SERVICE_NAME", "shop-java");
  private static final int UNIT = 4_000_000; // iterations of the loop that stands for work
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  // What was really spent, in nanoseconds of CPU.
  private static final AtomicLong parseNs = new AtomicLong();
  private static final AtomicLong validateNs = new AtomicLong();
  private static final AtomicLong transformNs = new AtomicLong();
  private static final AtomicLong requests = new AtomicLong();
  private static final AtomicLong serving = new AtomicLong(); // requests, now

  private static Tracer tracer;

  static long parse(int size) {
    long x = size | 1;
    for (long i = 0; i < 3L * UNIT * size; i++) {
      x ^= x << 13;
      x ^= x >>> 7;
      x ^= x << 17;
    }
    return x;
  }

  static long validate(int size) {
    long x = size | 1;
    for (long i = 0; i < (long) UNIT * size; i++) {
      x ^= x << 13;
      x ^= x >>> 7;
      x ^= x << 17;
    }
    return x;
  }

  static List<byte[]> transform(int size) {
    List<byte[]> rows = new ArrayList<>();
    for (int i = 0; i < 200 * size; i++) {
      rows.add(new byte[10_000]);
    }
    return rows;
  }

  /** Runs one part of a request in a span of its own and adds its CPU time to the account. */
  private static <T> T step(String name, AtomicLong account, Supplier<T> work) {
    Span span = tracer.spanBuilder(name).startSpan();
    try (Scope scope = span.makeCurrent()) {
      long before = THREADS.getCurrentThreadCpuTime();
      T result = work.get();
      account.addAndGet(THREADS.getCurrentThreadCpuTime() - before);
      return result;
    } finally {
      span.end();
    }
  }

  private static String process(int size) {
    Span span = tracer.spanBuilder("process-data").setAttribute("size", size).startSpan();
    try (Scope scope = span.makeCurrent()) {
      long sum = step("parse", parseNs, () -> parse(size)) + step("validate", validateNs, () -> validate(size));
      List<byte[]> rows = step("transform", transformNs, () -> transform(size));
      requests.incrementAndGet();
      return rows.size() + " rows, " + Long.toHexString(sum) + "\n";
    } finally {
      span.end();
    }
  }

  private static void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      String query = exchange.getRequestURI().getQuery();
      int size = query != null && query.startsWith("size=") ? Integer.parseInt(query.substring(5)) : 1;
      String[] text = new String[1];
      serving.incrementAndGet();
      try {
        Pyroscope.LabelsWrapper.run(new LabelsSet("endpoint", "/process"), () -> { text[0] = process(size); });
      } finally {
        serving.decrementAndGet();
      }
      byte[] body = text[0].getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
    }
  }

  /** Keeps a lock busy while requests are served: what the mutex profile shows. */
  private static void contend(Object lock) {
    try {
      while (true) {
        if (serving.get() == 0) {
          Thread.sleep(5);
          continue;
        }
        synchronized (lock) {
          Thread.sleep(5);
        }
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private static long processCpu() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }

  public static void main(String[] arguments) throws Exception {
    long cpuBefore = processCpu();
    // The environment says where to (see run). The link between spans and samples registers itself with this kind of set-up.
    OpenTelemetrySdk telemetry = AutoConfiguredOpenTelemetrySdk.builder().disableShutdownHook().build().getOpenTelemetrySdk();
    tracer = telemetry.getTracer("shop");

    Object lock = new Object();
    for (int i = 0; i < 2; i++) {
      Thread thread = new Thread(() -> contend(lock), "contender-" + i);
      thread.setDaemon(true);
      thread.start();
    }

    int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "0"));
    HttpServer web = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    ExecutorService workers = Executors.newFixedThreadPool(4);
    web.setExecutor(workers);
    web.createContext("/process", Shop::answer);
    web.start();
    System.out.println("listening on http://127.0.0.1:" + web.getAddress().getPort());

    CountDownLatch stopping = new CountDownLatch(1);
    Thread main = Thread.currentThread();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      stopping.countDown();
      try {
        main.join();
      } catch (InterruptedException ignored) {
        Thread.currentThread().interrupt();
      }
    }));
    stopping.await();
    long cpu = processCpu() - cpuBefore;
    web.stop(0);
    workers.shutdown();
    telemetry.getSdkTracerProvider().shutdown().join(10, TimeUnit.SECONDS);
    System.out.printf(
        "{\"service\":\"%s\",\"requests\":%d,\"total_cpu_ns\":%d,\"cpu_ns\":{\"parse\":%d,\"validate\":%d,\"transform\":%d}}%n",
        SERVICE, requests.get(), cpu, parseNs.get(), validateNs.get(), transformNs.get());
    System.out.flush();
  }
}
