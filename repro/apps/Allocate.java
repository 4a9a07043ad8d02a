// SPDX-License-Identifier: GPL-2.0-only
// Allocate: threads that work at intended times, and leave garbage for the collector
import java.io.FileWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;

/** Each unit of work is a request of $OUT/requests.jsonl; see docs/applications.md. */
public class Allocate {
    private static final int THREADS = 4;
    private static final long INTERVAL_NS = 10_000_000;
    private static final int UNIT_BYTES = 1 << 16;
    private static volatile byte[] kept;

    /** One unit of work at every interval, for ever. */
    private static void work(PrintWriter out, long intended) {
        while (true) {
            long early = intended - System.nanoTime();
            if (early > 0) {
                try {
                    Thread.sleep(early / 1_000_000, (int) (early % 1_000_000));
                } catch (InterruptedException interrupted) {
                    return;
                }
            }
            long begun = System.nanoTime(); // CLOCK_MONOTONIC on Linux
            kept = new byte[UNIT_BYTES];
            long took = System.nanoTime() - begun;
            out.println("{\"t_ns\": " + begun + ", \"dur_ns\": " + took
                    + ", \"intended_ns\": " + intended + ", \"what\": \"unit\"}");
            intended += INTERVAL_NS;
        }
    }

    public static void main(String[] arguments) throws IOException {
        Path record = Path.of(System.getenv("OUT"), "requests.jsonl");
        PrintWriter out = new PrintWriter(new FileWriter(record.toFile()), true);
        long begun = System.nanoTime();
        for (int number = 0; number < THREADS; number++) {
            long first = begun + INTERVAL_NS * number / THREADS;
            new Thread(() -> work(out, first), "worker-" + number).start();
        }
        System.out.println("allocating");
    }
}
