SELECT
    numbackends AS "Backends",
    xact_commit AS "Xact committed",
    xact_rollback AS "Xact rolled back",
    blks_read AS "Blocks read",
    blks_hit AS "Blocks hit",
    tup_returned AS "Tuples returned",
    tup_fetched AS "Tuples fetched",
    tup_inserted AS "Tuples inserted",
    tup_updated AS "Tuples updated",
    tup_deleted AS "Tuples deleted",
    stats_reset AS "Last statistics reset",
    slave.confl_tablespace AS "Tablespace conflicts",
    slave.confl_lock AS "Lock conflicts",
    slave.confl_snapshot AS "Snapshot conflicts",
    slave.confl_bufferpin AS "Bufferpin conflicts",
    slave.confl_deadlock AS "Deadlock conflicts",
    temp_files AS "Temporary files",
    temp_bytes AS "Size of temporary files",
    deadlocks AS "Deadlocks",
    blk_read_time AS "Block read time",
    blk_write_time AS "Block write time",
    pg_catalog.pg_size_pretty(pg_catalog.pg_database_size(db.datid)) AS "Size"
FROM
    pg_catalog.pg_stat_database db
LEFT JOIN
    pg_catalog.pg_stat_database_conflicts slave ON db.datid=slave.datid
WHERE
    db.datid=16384::OID
