import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.postgresql.PGConnection;

/** A session of PostgreSQL's JDBC driver: java Session.java URL KEY. */
public class Session {
    static final String ENDLESS =
        "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range % 7 = b.range % 5";

    public static void main(String[] args) throws Exception {
        Properties login = new Properties();
        login.setProperty("user", "ann");
        login.setProperty("password", args[1]);
        try (Connection c = DriverManager.getConnection(args[0], login)) {
            statements(c);
            types(c);
            catalog(c);
            pieces(c);
            copy(c);
            errors(c);
            cancel(c);
        }
    }

    static void say(String name, Object value) {
        System.out.println(name + ": " + value);
    }

    /** The rows of a result, with the named columns or all. */
    static List<List<Object>> rows(ResultSet r, String... columns) throws SQLException {
        List<List<Object>> all = new ArrayList<>();
        while (r.next()) {
            List<Object> row = new ArrayList<>();
            if (columns.length == 0) {
                for (int i = 1; i <= r.getMetaData().getColumnCount(); i++) {
                    row.add(r.getObject(i));
                }
            }
            for (String column : columns) {
                row.add(r.getObject(column));
            }
            all.add(row);
        }
        return all;
    }

    static List<List<Object>> query(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            return rows(r);
        }
    }

    static void statements(Connection c) throws SQLException {
        say("function", query(c, "SELECT twice(21) AS n, greeting('jdbc') AS g, twice(NULL)"));
        String sql = "SELECT twice(?), ?::VARCHAR, ?::DATE, ?::DOUBLE, ?::BIGINT";
        try (PreparedStatement s = c.prepareStatement(sql)) {
            // After five runs the driver prepares it on the server, and then
            // takes binary values.
            for (int i = 0; i < 8; i++) {
                s.setLong(1, i);
                s.setString(2, "it's é");
                s.setObject(3, LocalDate.of(2024, 2, 29));
                s.setDouble(4, 1.5);
                s.setNull(5, Types.BIGINT);
                say("parameters", rows(s.executeQuery()));
            }
        }
        try (PreparedStatement s = c.prepareStatement("SELECT id, name FROM people_in(?)")) {
            s.setString(1, "Oslo");
            say("table function", rows(s.executeQuery()));
        }
    }

    static void types(Connection c) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT * FROM every_type")) {
            ResultSetMetaData m = r.getMetaData();
            List<String> lines = new ArrayList<>();
            r.next();
            for (int i = 1; i <= m.getColumnCount(); i++) {
                Object v = r.getObject(i);
                String text = v instanceof byte[] ? Arrays.toString((byte[]) v) : r.getString(i);
                lines.add("type " + m.getColumnName(i) + ": " + m.getColumnTypeName(i) + " " + v.getClass().getSimpleName() + " " + text);
            }
            r.next();
            for (int i = 1; i <= m.getColumnCount(); i++) {
                System.out.println(lines.get(i - 1) + " " + r.getObject(i));
            }
        }
    }

    static void catalog(Connection c) throws SQLException {
        DatabaseMetaData m = c.getMetaData();
        say("schemas", rows(m.getSchemas(), "TABLE_SCHEM"));
        say("tables", rows(m.getTables(null, "public", "%", null), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE", "REMARKS"));
        say("columns", rows(m.getColumns(null, "public", "people", "%"), "COLUMN_NAME", "TYPE_NAME", "DATA_TYPE", "IS_NULLABLE", "REMARKS"));
        say("functions", rows(m.getFunctions(null, "public", "%"), "FUNCTION_NAME", "REMARKS"));
        say("arguments", rows(m.getFunctionColumns(null, "public", "%", "%"), "FUNCTION_NAME", "COLUMN_NAME", "TYPE_NAME"));
        say("keys", rows(m.getPrimaryKeys(null, "public", "people"), "COLUMN_NAME"));
    }

    /** Reads with a fetch size, by which the driver takes a portal in pieces. */
    static void pieces(Connection c) throws SQLException {
        c.setAutoCommit(false);
        try (Statement s = c.createStatement()) {
            s.setFetchSize(100);
            try (ResultSet r = s.executeQuery("SELECT range FROM range(1050)")) {
                long n = 0;
                long sum = 0;
                while (r.next()) {
                    n++;
                    sum += r.getLong(1);
                }
                say("in pieces", n + " rows, sum " + sum);
            }
        }
        c.commit();
        c.setAutoCommit(true);
    }

    static void copy(Connection c) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        long n = c.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY people (name, born) TO STDOUT (FORMAT csv)", out);
        say("copied", n + " " + out.toString(StandardCharsets.UTF_8).replace("\n", ";"));
    }

    static void errors(Connection c) throws SQLException {
        for (String sql : List.of(
            "SELECT nosuch FROM people", "SELEKT 1", "SELECT * FROM read_csv('/etc/passwd')", "DELETE FROM people", "SELECT * FROM nosuch")) {
            try {
                query(c, sql);
                say(sql, "no error");
            } catch (SQLException e) {
                say(sql, e.getSQLState());
            }
        }
    }

    static void cancel(Connection c) throws Exception {
        try (Statement s = c.createStatement()) {
            s.setQueryTimeout(1);
            s.executeQuery(ENDLESS);
            say("timeout", "no error");
        } catch (SQLException e) {
            say("timeout", e.getSQLState());
        }
        say("after", query(c, "SELECT 1"));
    }
}
