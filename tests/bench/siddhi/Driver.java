import io.siddhi.core.SiddhiAppRuntime;
import io.siddhi.core.SiddhiManager;
import io.siddhi.core.event.Event;
import io.siddhi.core.stream.input.InputHandler;
import io.siddhi.core.stream.output.StreamCallback;
import io.siddhi.query.api.definition.Attribute;
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
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * Runs one app on Siddhi and sends it what files hold, by commands on standard input.
 *
 * `open FILE`: the app's text; answers `open` or why not. `send FILE TOGETHER`: records of events, each with its stream, TOGETHER at a time.
 * Answers `NANOSECONDS ROWS`. Events are made before the clock runs. `decode FILE TOGETHER` does the same, but makes each record's events of its
 * bytes while the clock runs. `close` ends the app.
 */
public final class Driver {

    private static final String OUT = "Out";
    private static final int MAX_TEXTS = 100_000;

    private record Sent(InputHandler handler, Event[] events) {
    }

    private final SiddhiManager manager = new SiddhiManager();
    private SiddhiAppRuntime runtime;
    private final Map<String, String> texts = new HashMap<>();
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
                case "open" -> answers.println(open(Files.readString(Path.of(words[1]))));
                case "send" -> {
                    List<Sent> records = new ArrayList<>();
                    read(Path.of(words[1])).forEachRemaining(records::add);
                    answers.println(send(records.iterator(), Integer.parseInt(words[2])));
                }
                case "decode" -> answers.println(send(read(Path.of(words[1])), Integer.parseInt(words[2])));
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

    /** In one line what Siddhi has against the text; "open" where that is nothing. */
    private String open(String text) {
        try {
            runtime = manager.createSiddhiAppRuntime(text);
        } catch (RuntimeException refused) {
            return "refused: " + String.valueOf(refused.getMessage()).replaceAll("\\s+", " ");
        }
        if (runtime.getStreamDefinitionMap().containsKey(OUT)) {
            runtime.addCallback(OUT, new StreamCallback() {
                @Override
                public void receive(Event[] events) {
                    rows += events.length;
                }
            });
        }
        runtime.start();
        return "open";
    }

    private String send(Iterator<Sent> records, int together) throws InterruptedException {
        rows = 0;
        long begun = System.nanoTime();
        while (records.hasNext()) {
            Sent record = records.next();
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

    /** The file is read at once, a record's events are made when they are asked for. */
    private Iterator<Sent> read(Path file) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return bytes.hasRemaining();
            }

            @Override
            public Sent next() {
                return record(bytes);
            }
        };
    }

    /** Of each record: its stream, the count, the times, and a column for each attribute. */
    private Sent record(ByteBuffer bytes) {
        String stream = text(bytes, bytes.getInt());
        Event[] events = new Event[bytes.getInt()];
        List<Attribute> attributes = runtime.getStreamDefinitionMap().get(stream).getAttributeList();
        for (int at = 0; at < events.length; at++) {
            events[at] = new Event(bytes.getLong(), new Object[attributes.size()]);
        }
        for (int number = 0; number < attributes.size(); number++) {
            fill(events, number, attributes.get(number).getType(), bytes);
        }
        return new Sent(runtime.getInputHandler(stream), events);
    }

    /** A column of texts is their lengths, then their bytes. */
    private void fill(Event[] events, int number, Attribute.Type type, ByteBuffer bytes) {
        int[] lengths = new int[type == Attribute.Type.STRING ? events.length : 0];
        for (int at = 0; at < lengths.length; at++) {
            lengths[at] = bytes.getInt();
        }
        for (int at = 0; at < events.length; at++) {
            events[at].getData()[number] = switch (type) {
                case STRING -> once(text(bytes, lengths[at]));
                case INT -> (Object) bytes.getInt();
                case LONG -> bytes.getLong();
                case DOUBLE -> bytes.getDouble();
                default -> throw new IllegalArgumentException("no column of " + type);
            };
        }
    }

    private static String text(ByteBuffer bytes, int length) {
        byte[] taken = new byte[length];
        bytes.get(taken);
        return new String(taken, StandardCharsets.UTF_8);
    }

    /** Texts that come again are one object, so their hashes are reckoned once. */
    private String once(String text) {
        String known = texts.get(text);
        if (known == null && texts.size() < MAX_TEXTS) {
            texts.put(text, text);
        }
        return known == null ? text : known;
    }
}
