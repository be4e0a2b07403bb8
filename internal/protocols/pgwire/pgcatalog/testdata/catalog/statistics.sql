SELECT (SELECT count(*) FROM pg_stat_ssl WHERE NOT ssl), (SELECT count(*) FROM pg_stat_user_indexes WHERE idx_scan = 0),
	(SELECT count(*) FROM pg_stat_all_indexes), (SELECT count(*) FROM pg_statio_user_indexes), (SELECT count(*) FROM pg_statio_all_indexes),
	(SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'), (SELECT count(*) FROM pg_stat_wal_receiver), (SELECT sum(checkpoints_req) FROM pg_stat_bgwriter),
	(SELECT count(*) FROM pg_stat_archiver), (SELECT count(*) FROM pg_cursors), (SELECT count(*) FROM pg_prepared_statements WHERE from_sql), (SELECT count(*) FROM pg_timezone_abbrevs)
