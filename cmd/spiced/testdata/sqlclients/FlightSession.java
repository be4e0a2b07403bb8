import java.math.BigDecimal;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.Properties;

/** A session of Flight SQL's JDBC driver: java FlightSession.java HOST:PORT KEY. */
public class FlightSession {
    /** A value of each type of DuckDB, at a limit of its range where it has one. */
    static final String[] VALUES = {
        "true", "(-128)::TINYINT", "(-32768)::SMALLINT", "(-2147483648)::INTEGER", "(-9223372036854775808)::BIGINT",
        "170141183460469231731687303715884105727::HUGEINT", "(-170141183460469231731687303715884105728)::HUGEINT",
        "200::UTINYINT", "60000::USMALLINT", "4000000000::UINTEGER", "18446744073709551615::UBIGINT",
        "340282366920938463463374607431768211455::UHUGEINT", "1.5::FLOAT", "0.1::DOUBLE", "12.500::DECIMAL(18, 3)",
        "99999999999999999999999999999999999999::DECIMAL(38, 0)", "'123456789012345678901234567890123456789012'::BIGNUM",
        "'Zürich'", "'b'::ENUM('a', 'b')", "'{\"a\":1}'::JSON", "'01234567-89ab-4def-8123-456789abcdef'::UUID",
        "'ab'::BLOB", "'0101'::BIT", "DATE '2024-02-29'", "TIME '12:30:00.123'", "'12:30:00'::TIME_NS", "TIMETZ '12:30:00+02'",
        "TIMESTAMP '2024-02-29 12:30:00.123456'", "TIMESTAMP_S '2024-02-29 12:30:00'", "TIMESTAMP_MS '2024-02-29 12:30:00.123'",
        "TIMESTAMP_NS '2024-02-29 12:30:00.123456789'", "TIMESTAMPTZ '2024-02-29 12:30:00.123456+00'",
        "INTERVAL '1 year 2 days 3 seconds'", "[1, 2]", "[200::UTINYINT]", "['b'::ENUM('a', 'b')]", "[1, 2]::INTEGER[2]",
        "{'n': 200::UTINYINT, 'e': 'b'::ENUM('a', 'b')}", "MAP {'k': 18446744073709551615::UBIGINT}",
        "union_value(n := 60000::USMALLINT)", "NULL",
    };

    public static void main(String[] args) throws Exception {
        String url = "jdbc:arrow-flight-sql://" + args[0] + "/?useEncryption=false";
        Properties login = new Properties();
        login.setProperty("token", args[1]);
        try (Connection c = DriverManager.getConnection(url, login)) {
            types(c);
            parameters(c);
            transaction(c);
            catalog(c);
        }
        login.setProperty("x-spiced-autocommit", "true");
        try (Connection c = DriverManager.getConnection(url, login)) {
            writes(c);
        }
        login.setProperty("x-spiced-arrow-types", "signed");
        try (Connection c = DriverManager.getConnection(url, login); Statement s = c.createStatement()) {
            fails("unknown types", () -> s.executeQuery("SELECT 1"));
        } catch (SQLException e) {
            say("unknown types", e.getMessage().split("\n")[0]);
        }
    }

    interface Call {
        void run() throws SQLException;
    }

    static void fails(String name, Call call) {
        try {
            call.run();
            say(name, "no error");
        } catch (SQLException e) {
            say(name, e.getMessage().split("\n")[0]);
        }
    }

    static void say(String name, Object value) {
        System.out.println(name + ": " + value);
    }

    static Object plain(Object o) throws SQLException {
        if (o instanceof Array) {
            return Arrays.deepToString((Object[]) ((Array) o).getArray());
        }
        return o instanceof byte[] ? Arrays.toString((byte[]) o) : o;
    }

    /** Each value as the driver has it, with the name of its class, next to DuckDB's text. */
    static void types(Connection c) throws SQLException {
        for (String value : VALUES) {
            try (Statement s = c.createStatement();
                ResultSet r = s.executeQuery("SELECT v, v::VARCHAR FROM (SELECT " + value + " AS v)")) {
                r.next();
                Object o = value.startsWith("TIMESTAMPTZ") ? r.getTimestamp(1) : r.getObject(1);
                say(value, plain(o) + (o == null ? "" : " " + o.getClass().getSimpleName()) + " = " + r.getString(2));
            }
        }
    }

    static void parameters(Connection c) throws SQLException {
        String sql = "SELECT ?::UTINYINT, ?::USMALLINT, ?::UINTEGER, ?::UBIGINT, ?::ENUM('a', 'b'), ?::INTEGER";
        try (PreparedStatement s = c.prepareStatement(sql)) {
            s.setShort(1, (short) 255);
            s.setInt(2, 65535);
            s.setLong(3, 4294967295L);
            s.setBigDecimal(4, new BigDecimal("18446744073709551615"));
            s.setString(5, "b");
            s.setInt(6, -1);
            try (ResultSet r = s.executeQuery()) {
                r.next();
                for (int i = 1; i <= 6; i++) {
                    say("parameter " + r.getMetaData().getColumnTypeName(i), r.getObject(i));
                }
            }
        }
    }

    /** The driver does not report a transaction, so that writes in one must not succeed. */
    static void transaction(Connection c) throws SQLException {
        c.setAutoCommit(false);
        try (Statement s = c.createStatement()) {
            fails("write in a transaction", () -> s.executeUpdate("INSERT INTO customers VALUES (70, 'j', NULL)"));
            fails("returning", () -> s.executeQuery("INSERT INTO customers VALUES (71, 'k', NULL) RETURNING id"));
        }
        c.rollback();
        c.setAutoCommit(true);
        count(c);
    }

    static void count(Connection c) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT count(*) FROM customers WHERE id >= 70")) {
            r.next();
            say("rows", r.getLong(1));
        }
    }

    static void writes(Connection c) throws SQLException {
        try (PreparedStatement s = c.prepareStatement("INSERT INTO customers VALUES (?, ?, NULL)")) {
            for (int i = 70; i < 73; i++) {
                s.setInt(1, i);
                s.setString(2, "j" + i);
                s.addBatch();
            }
            say("batch", Arrays.toString(s.executeBatch()));
        }
        count(c);
        try (Statement s = c.createStatement()) {
            say("deleted", s.executeUpdate("DELETE FROM customers WHERE id >= 70"));
        }
        count(c);
    }

    static void catalog(Connection c) throws SQLException {
        DatabaseMetaData m = c.getMetaData();
        try (ResultSet r = m.getPrimaryKeys(null, "public", "orders")) {
            while (r.next()) {
                say("primary key", r.getString("TABLE_NAME") + "." + r.getString("COLUMN_NAME") + " " + r.getShort("KEY_SEQ"));
            }
        }
        try (ResultSet r = m.getColumns(null, "public", "wares", null)) {
            while (r.next()) {
                say("column", r.getString("COLUMN_NAME") + " " + r.getString("TYPE_NAME") + " " + r.getString("REMARKS"));
            }
        }
    }
}
