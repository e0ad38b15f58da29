import io.siddhi.core.SiddhiAppRuntime;
import io.siddhi.core.SiddhiManager;
import io.siddhi.core.event.Event;
import io.siddhi.core.stream.input.InputHandler;
import io.siddhi.core.stream.output.StreamCallback;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs one app on Siddhi and sends it what files hold, by commands on standard input.
 *
 * `open FILE`: the app's text. `send FILE TOGETHER`: records of events, each with its stream, TOGETHER at a time.
 * Answers `NANOSECONDS ROWS`. Events are made before the clock runs. `close` ends the app.
 */
public final class Driver {

    private static final String OUT = "Out";

    private record Sent(InputHandler handler, Event[] events) {
    }

    private final SiddhiManager manager = new SiddhiManager();
    private SiddhiAppRuntime runtime;
    private long rows;

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        new Driver().serve(answers);
    }

    private void serve(PrintStream answers) throws Exception {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "open" -> {
                    open(Files.readString(Path.of(words[1])));
                    answers.println("open");
                }
                case "send" -> answers.println(send(read(Path.of(words[1])), Integer.parseInt(words[2])));
                case "close" -> {
                    runtime.shutdown();
                    answers.println("closed");
                }
                default -> throw new IllegalArgumentException(line);
            }
            answers.flush();
        }
        manager.shutdown();
    }

    private void open(String text) {
        runtime = manager.createSiddhiAppRuntime(text);
        runtime.addCallback(OUT, new StreamCallback() {
            @Override
            public void receive(Event[] events) {
                rows += events.length;
            }
        });
        runtime.start();
    }

    private String send(List<Sent> records, int together) throws InterruptedException {
        rows = 0;
        long begun = System.nanoTime();
        for (Sent record : records) {
            if (together == 1) {
                for (Event event : record.events) {
                    record.handler.send(event);
                }
            } else {
                for (int at = 0; at < record.events.length; at += together) {
                    int size = Math.min(together, record.events.length - at);
                    Event[] some = new Event[size];
                    System.arraycopy(record.events, at, some, 0, size);
                    record.handler.send(some);
                }
            }
        }
        return System.nanoTime() - begun + " " + rows;
    }

    /** Of each record: the stream's number, the count, then times, numbers of symbols, prices, volumes. */
    private List<Sent> read(Path file) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
        String[] symbols = new String[100];
        for (int at = 0; at < symbols.length; at++) {
            symbols[at] = String.format("SYM%03d", at);
        }
        String[] streams = {"Trade", "Quote"};
        List<Sent> found = new ArrayList<>();
        while (bytes.hasRemaining()) {
            InputHandler handler = runtime.getInputHandler(streams[bytes.getInt()]);
            int count = bytes.getInt();
            int start = bytes.position();
            Event[] events = new Event[count];
            for (int at = 0; at < count; at++) {
                long time = bytes.getLong(start + 8 * at);
                String symbol = symbols[bytes.getInt(start + 8 * count + 4 * at)];
                double price = bytes.getDouble(start + 12 * count + 8 * at);
                long volume = bytes.getLong(start + 20 * count + 8 * at);
                events[at] = new Event(time, new Object[] {symbol, price, volume});
            }
            bytes.position(start + 28 * count);
            found.add(new Sent(handler, events));
        }
        return found;
    }
}
