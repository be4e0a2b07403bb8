WITH held AS (
    SELECT pid, locktype, mode, granted, transactionid AS tid, relation, page, tuple FROM pg_locks
), clash AS (
    SELECT * FROM (VALUES ('RowShareLock', 'ExclusiveLock', 1), ('RowShareLock', 'AccessExclusiveLock', 2)) AS v (mode1, mode2, prt)
), waits AS (
    SELECT w.pid AS blocked_pid, wa.usename AS blocked_user, w.other AS blocking_pid, oa.usename AS blocking_user,
        wa.query AS blocked_statement, oa.query AS statement_in
    FROM (
        SELECT h.*, c.mode2, c.prt, o.pid AS other, row_number() OVER (PARTITION BY h.pid ORDER BY c.prt) AS place
        FROM held h
        JOIN clash c ON h.mode = c.mode1
        JOIN held o ON o.locktype = h.locktype AND o.mode = c.mode2 AND o.granted AND h.pid != o.pid
            AND coalesce(h.tid::text, '*') || ':' || coalesce(h.relation::text, '*') || ':' || coalesce(h.page::text, '*') || ':' || coalesce(h.tuple::text, '*')
            = coalesce(o.tid::text, '*') || ':' || coalesce(o.relation::text, '*') || ':' || coalesce(o.page::text, '*') || ':' || coalesce(o.tuple::text, '*')
        WHERE NOT h.granted
    ) w
    JOIN pg_catalog.pg_stat_activity wa ON wa.pid = w.pid
    JOIN pg_catalog.pg_stat_activity oa ON oa.pid = w.other
    WHERE w.place = 1
), first AS (
    SELECT blocking_pid AS blocking_pid FROM waits EXCEPT SELECT blocked_pid FROM waits
)
SELECT blocked_pid, blocked_user, blocking_pid, blocking_user, blocked_statement, statement_in FROM waits
UNION
SELECT waits.blocking_pid, waits.blocking_user, null::integer, null::text, waits.statement_in, null::text
FROM waits, first WHERE waits.blocking_pid = first.blocking_pid
