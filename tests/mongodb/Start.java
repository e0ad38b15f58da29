import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.h2.H2Backend;

/** A server on a port of this machine, whose data is in a file. */
public class Start {
    public static void main(String[] given) {
        MongoServer server = new MongoServer(new H2Backend(given[1]));
        server.bind("127.0.0.1", Integer.parseInt(given[0]));
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
    }
}
