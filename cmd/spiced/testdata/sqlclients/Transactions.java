import java.sql.*;

/** Transactions of a driver, with autocommit off: java Transactions.java URL KEY. */
class Transactions {
	static Connection a;

	static String run(String sql) throws SQLException {
		try (Statement s = a.createStatement()) {
			if (!s.execute(sql)) {
				return String.valueOf(s.getUpdateCount());
			}
			var out = new StringBuilder();
			try (ResultSet r = s.getResultSet()) {
				while (r.next()) {
					out.append(out.isEmpty() ? "" : " ").append(r.getString(1));
				}
			}
			return out.toString();
		}
	}

	public static void main(String[] args) throws SQLException {
		a = DriverManager.getConnection(args[0], "x", args[1]);
		a.setAutoCommit(false);
		String names = "SELECT name FROM orders ORDER BY id";
		System.out.println(run("INSERT INTO orders (id, name) VALUES (2, 'two')") + ", " + run(names));
		a.rollback();
		System.out.println(run(names));
		Savepoint s = a.setSavepoint();
		try {
			run("INSERT INTO orders (id, name) VALUES (1, 'one')");
		} catch (SQLException e) {
			System.out.println(e.getSQLState());
		}
		a.rollback(s);
		try (PreparedStatement p = a.prepareStatement("INSERT INTO orders (id, name) VALUES (?, ?)")) {
			for (int i = 3; i < 6; i++) {
				p.setInt(1, i);
				p.setString(2, "n" + i);
				p.addBatch();
			}
			System.out.println(p.executeBatch().length);
		}
		a.commit();
		System.out.println(run(names));
		try (Statement parts = a.createStatement()) {
			parts.setFetchSize(1);
			ResultSet r = parts.executeQuery(names);
			r.next();
			System.out.println(r.getString(1) + ", " + run("DELETE FROM orders WHERE id = 1") + ", " + r.next());
		}
		a.commit();
		a.close();
	}
}
