import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecution;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.TableDescriptor;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;

/**
 * Runs statements of Flink SQL on a cluster of its own within this process, by commands on standard input.
 *
 * A file holds `SET` lines, tables, views, and last a query, each ended by a semicolon at the end of a line. `run FILE`: the query's changes go to a
 * blackhole; answers the milliseconds from when the first task ran to when the last one had finished. `check FILE ROWS`: writes the rows that stand
 * at the end, and the names of their columns before them; answers how many changes there were. `refused: …` is the answer where Flink says no.
 */
public final class Driver {

    private static final String BETWEEN = "\u001f";
    private static final Map<String, Integer> STANDING = new HashMap<>();
    private static long changes;

    private final int parallelism;
    private final MiniCluster cluster;

    private Driver(int parallelism) throws Exception {
        this.parallelism = parallelism;
        Configuration settings = new Configuration();
        settings.setString("rest.port", "0");
        settings.setString("rest.bind-port", "0");
        settings.setString("rest.address", "localhost");
        cluster = new MiniCluster(new MiniClusterConfiguration.Builder()
            .setConfiguration(settings).setNumTaskManagers(1).setNumSlotsPerTaskManager(parallelism).build());
        cluster.start();
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        try {
            new Driver(Integer.parseInt(arguments[0])).serve(answers);
        } catch (Exception failed) {
            failed.printStackTrace();
            System.exit(1);  // the cluster's threads would stay, and whoever asked would wait
        }
        System.exit(0);
    }

    private void serve(PrintStream answers) throws Exception {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            answers.println(answer(words));
            answers.flush();
        }
        cluster.close();
    }

    private String answer(String[] words) throws Exception {
        StreamTableEnvironment tables = tables();
        Table asked;
        try {
            asked = prepared(tables, Files.readString(Path.of(words[1])));
            tables.toChangelogStream(asked);  // plans it, so that what cannot be said is told here
        } catch (RuntimeException refused) {
            refused.printStackTrace();
            return "refused: " + String.valueOf(reason(refused)).replaceAll("\\s+", " ");
        }
        return words[0].equals("run") ? String.valueOf(run(asked)) : String.valueOf(check(asked, Path.of(words[2])));
    }

    private static String reason(Throwable refused) {
        return refused.getCause() == null ? refused.getMessage() : reason(refused.getCause());
    }

    private StreamTableEnvironment tables() throws Exception {
        Configuration settings = new Configuration();
        settings.setString("pipeline.object-reuse", "true");  // in Flink's favour: operators copy nothing
        settings.setString("restart-strategy.type", "none");
        StreamExecutionEnvironment streams = StreamExecutionEnvironment.createRemoteEnvironment(
            "localhost", cluster.getRestAddress().get().getPort(), settings);
        streams.setParallelism(parallelism);
        return StreamTableEnvironment.create(streams, EnvironmentSettings.inStreamingMode());
    }

    /** All statements but the last are carried out. */
    private Table prepared(StreamTableEnvironment tables, String text) {
        String[] statements = text.strip().split(";\\s*(\\n|$)");
        for (int at = 0; at < statements.length - 1; at++) {
            String statement = statements[at].strip();
            if (statement.startsWith("SET ")) {
                String[] sides = statement.substring(4).split("=", 2);
                tables.getConfig().set(sides[0].strip(), sides[1].strip());
            } else {
                tables.executeSql(statement);
            }
        }
        return tables.sqlQuery(statements[statements.length - 1]);
    }

    private long run(Table asked) throws Exception {
        TableResult result = asked.insertInto(TableDescriptor.forConnector("blackhole").build()).execute();
        result.await();
        return milliseconds(result.getJobClient().orElseThrow().getJobID());
    }

    private long milliseconds(JobID job) throws Exception {
        AccessExecutionGraph graph = cluster.getArchivedExecutionGraph(job).get();
        long begun = Long.MAX_VALUE;
        long ended = 0;
        for (AccessExecutionVertex vertex : graph.getAllExecutionVertices()) {
            AccessExecution execution = vertex.getCurrentExecutionAttempt();
            begun = Math.min(begun, execution.getStateTimestamp(ExecutionState.RUNNING));
            ended = Math.max(ended, execution.getStateTimestamp(ExecutionState.FINISHED));
        }
        return ended - begun;
    }

    private long check(Table asked, Path rows) throws Exception {
        STANDING.clear();
        changes = 0;
        StreamTableEnvironment tables = (StreamTableEnvironment) ((org.apache.flink.table.api.internal.TableImpl) asked).getTableEnvironment();
        var stream = tables.toChangelogStream(asked);
        stream.sinkTo(new Standing());
        stream.getExecutionEnvironment().execute();
        try (BufferedWriter written = Files.newBufferedWriter(rows)) {
            written.write(String.join(BETWEEN, asked.getResolvedSchema().getColumnNames()) + "\n");
            for (Map.Entry<String, Integer> row : STANDING.entrySet()) {
                for (int time = 0; time < row.getValue(); time++) {
                    written.write(row.getKey() + "\n");
                }
            }
        }
        return changes;
    }

    private static synchronized void take(Row row) {
        RowKind kind = row.getKind();
        StringBuilder text = new StringBuilder();
        for (int at = 0; at < row.getArity(); at++) {
            text.append(at == 0 ? "" : BETWEEN).append(row.getField(at));
        }
        int more = kind == RowKind.INSERT || kind == RowKind.UPDATE_AFTER ? 1 : -1;
        STANDING.merge(text.toString(), more, (was, add) -> was + add == 0 ? null : was + add);
        changes++;
    }

    /** How often each row stands; the cluster is in this process, so all writers meet in one map. */
    private static final class Standing implements Sink<Row> {

        @Override
        public SinkWriter<Row> createWriter(WriterInitContext context) {
            return new SinkWriter<>() {
                @Override
                public void write(Row row, Context context) {
                    take(row);
                }

                @Override
                public void flush(boolean endOfInput) {
                }

                @Override
                public void close() {
                }
            };
        }
    }
}
