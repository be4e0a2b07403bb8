package pgcatalog

import (
	"slices"
	"strings"
)

// empty are the catalogs that have no rows here: there are no
// triggers, partitions, sequences, domains, publications or foreign
// servers, and there are no views of other sessions or statistics. The
// columns are PostgreSQL's; a type is written before the columns that have it.
var empty = map[string]string{
	"pg_aggregate": "VARCHAR aggfnoid, aggkind; SMALLINT aggnumdirectargs; VARCHAR aggtransfn, aggfinalfn, " +
		"aggcombinefn; BIGINT aggsortop, aggtranstype; VARCHAR agginitval; BIGINT xmin",
	"pg_amop": "BIGINT oid, amopfamily, amoplefttype, amoprighttype; SMALLINT amopstrategy; VARCHAR " +
		"amoppurpose; BIGINT amopopr, amopmethod, amopsortfamily, xmin",
	"pg_amproc": "BIGINT oid, amprocfamily, amproclefttype, amprocrighttype; SMALLINT amprocnum; VARCHAR " +
		"amproc; BIGINT xmin",
	"pg_attrdef":      "BIGINT oid, adrelid; SMALLINT adnum; VARCHAR adbin; BIGINT xmin",
	"pg_auth_members": "BIGINT oid, roleid, member, grantor; BOOLEAN admin_option; BIGINT xmin",
	"pg_cast": "BIGINT oid, castsource, casttarget, castfunc; VARCHAR castcontext, castmethod; BIGINT " +
		"tableoid, xmin",
	"pg_conversion": "BIGINT oid; VARCHAR conname; BIGINT connamespace, conowner; INTEGER conforencoding, " +
		"contoencoding; VARCHAR conproc; BOOLEAN condefault; BIGINT tableoid, xmin",
	"pg_cursors": "VARCHAR name, statement; BOOLEAN is_holdable, is_binary, is_scrollable; TIMESTAMPTZ " +
		"creation_time",
	"pg_db_role_setting": "BIGINT setdatabase, setrole; VARCHAR[] setconfig; BIGINT xmin",
	"pg_default_acl": "BIGINT oid, defaclrole, defaclnamespace; VARCHAR defaclobjtype; VARCHAR[] " +
		"defaclacl; BIGINT xmin",
	"pg_depend": "BIGINT classid, objid; INTEGER objsubid; BIGINT refclassid, refobjid; INTEGER " +
		"refobjsubid; VARCHAR deptype; BIGINT xmin",
	"pg_enum": "BIGINT oid, enumtypid; FLOAT enumsortorder; VARCHAR enumlabel; BIGINT xmin",
	"pg_event_trigger": "BIGINT oid; VARCHAR evtname, evtevent; BIGINT evtowner, evtfoid; VARCHAR evtenabled; " +
		"VARCHAR[] evttags; BIGINT xmin",
	"pg_extension": "BIGINT oid; VARCHAR extname; BIGINT extowner, extnamespace; BOOLEAN extrelocatable; " +
		"VARCHAR extversion; BIGINT[] extconfig; VARCHAR[] extcondition; BIGINT tableoid, xmin",
	"pg_available_extensions": "VARCHAR name, default_version, installed_version, comment",
	"pg_foreign_data_wrapper": "BIGINT oid; VARCHAR fdwname; BIGINT fdwowner, fdwhandler, fdwvalidator; " +
		"VARCHAR[] fdwacl, " +
		"fdwoptions; BIGINT tableoid, xmin",
	"pg_foreign_server": "BIGINT oid; VARCHAR srvname; BIGINT srvowner, srvfdw; VARCHAR srvtype, srvversion; " +
		"VARCHAR[] srvacl, srvoptions; BIGINT tableoid, xmin",
	"pg_foreign_table":        "BIGINT ftrelid, ftserver; VARCHAR[] ftoptions; BIGINT xmin",
	"pg_inherits":             "BIGINT inhrelid, inhparent; INTEGER inhseqno; BOOLEAN inhdetachpending; BIGINT xmin",
	"pg_largeobject_metadata": "BIGINT oid, lomowner; VARCHAR[] lomacl; BIGINT xmin",
	"pg_locks": "VARCHAR locktype; BIGINT database, relation; INTEGER page; SMALLINT tuple; VARCHAR " +
		"virtualxid; BIGINT transactionid, classid, objid; SMALLINT objsubid; VARCHAR virtualtransaction; INTEGER pid; " +
		"VARCHAR mode; BOOLEAN granted, fastpath; TIMESTAMPTZ waitstart",
	"pg_matviews": "VARCHAR schemaname, matviewname, matviewowner, tablespace; BOOLEAN hasindexes, " +
		"ispopulated; VARCHAR definition",
	"pg_opclass": "BIGINT oid, opcmethod; VARCHAR opcname; BIGINT opcnamespace, opcowner, opcfamily, " +
		"opcintype; BOOLEAN opcdefault; BIGINT opckeytype, tableoid, xmin",
	"pg_operator": "BIGINT oid; VARCHAR oprname; BIGINT oprnamespace, oprowner; VARCHAR oprkind; BOOLEAN " +
		"oprcanmerge, oprcanhash; BIGINT oprleft, oprright, oprresult, oprcom, oprnegate; VARCHAR oprcode, " +
		"oprrest, oprjoin; " +
		"BIGINT tableoid, xmin",
	"pg_opfamily":      "BIGINT oid, opfmethod; VARCHAR opfname; BIGINT opfnamespace, opfowner, tableoid, xmin",
	"pg_parameter_acl": "BIGINT oid; VARCHAR parname; VARCHAR[] paracl; BIGINT xmin",
	"pg_partitioned_table": "BIGINT partrelid; VARCHAR partstrat; SMALLINT partnatts; BIGINT partdefid; SMALLINT[] " +
		"partattrs; BIGINT[] partclass, partcollation; VARCHAR partexprs; BIGINT xmin",
	"pg_policies": "VARCHAR schemaname, tablename, policyname, permissive; VARCHAR[] roles; VARCHAR cmd, " +
		"qual, with_check",
	"pg_policy": "BIGINT oid; VARCHAR polname; BIGINT polrelid; VARCHAR polcmd; BOOLEAN polpermissive; " +
		"BIGINT[] polroles; VARCHAR polqual, polwithcheck; BIGINT xmin",
	"pg_prepared_statements": "VARCHAR name, statement; TIMESTAMPTZ prepare_time; BIGINT[] parameter_types, " +
		"result_types; BOOLEAN from_sql; BIGINT generic_plans, custom_plans",
	"pg_prepared_xacts": "BIGINT transaction; VARCHAR gid; TIMESTAMPTZ prepared; VARCHAR owner, database",
	"pg_publication": "BIGINT oid; VARCHAR pubname; BIGINT pubowner; BOOLEAN puballtables, pubinsert, pubupdate, " +
		"pubdelete, pubtruncate, pubviaroot; BIGINT tableoid, xmin",
	"pg_publication_namespace": "BIGINT oid, pnpubid, pnnspid, xmin",
	"pg_publication_rel":       "BIGINT oid, prpubid, prrelid; VARCHAR prqual; SMALLINT[] prattrs; BIGINT xmin",
	"pg_publication_tables":    "VARCHAR pubname, schemaname, tablename; VARCHAR[] attnames; VARCHAR rowfilter",
	"pg_range": "BIGINT rngtypid, rngsubtype, rngmultitypid, rngcollation, rngsubopc; VARCHAR " +
		"rngcanonical, rngsubdiff; BIGINT xmin",
	"pg_replication_slots": "VARCHAR slot_name, plugin, slot_type; BIGINT datoid; VARCHAR database; BOOLEAN temporary, " +
		"active; INTEGER active_pid; BIGINT xmin, catalog_xmin; VARCHAR restart_lsn, confirmed_flush_lsn, " +
		"wal_status; BIGINT " +
		"safe_wal_size; BOOLEAN two_phase, conflicting",
	"pg_rewrite": "BIGINT oid; VARCHAR rulename; BIGINT ev_class; VARCHAR ev_type, ev_enabled; BOOLEAN " +
		"is_instead; VARCHAR ev_qual, ev_action; BIGINT tableoid, xmin",
	"pg_rules": "VARCHAR schemaname, tablename, rulename, definition",
	"pg_seclabels": "BIGINT objoid, classoid; INTEGER objsubid; VARCHAR objtype; BIGINT objnamespace; VARCHAR " +
		"objname, provider, label",
	"pg_sequence": "BIGINT seqrelid, seqtypid, seqstart, seqincrement, seqmax, seqmin, seqcache; BOOLEAN " +
		"seqcycle; BIGINT xmin",
	"pg_sequences": "VARCHAR schemaname, sequencename, sequenceowner, data_type; BIGINT start_value, " +
		"min_value, max_value, increment_by; BOOLEAN cycle; BIGINT cache_size, last_value",
	"pg_shdepend": "BIGINT dbid, classid, objid; INTEGER objsubid; BIGINT refclassid, refobjid; VARCHAR " +
		"deptype; BIGINT xmin",
	"pg_shdescription": "BIGINT objoid, classoid; VARCHAR description; BIGINT xmin",
	"pg_stat_activity": "BIGINT datid; VARCHAR datname; INTEGER pid; BIGINT usesysid; VARCHAR usename, " +
		"application_name, client_addr, client_hostname; INTEGER client_port; TIMESTAMPTZ backend_start, xact_start, " +
		"query_start, state_change; VARCHAR wait_event_type, wait_event, state; BIGINT backend_xid, " +
		"backend_xmin, query_id; " +
		"VARCHAR query, backend_type",
	"pg_stat_all_indexes": statIndexes,
	"pg_stat_all_tables":  statTables,
	"pg_stat_archiver": "BIGINT archived_count; VARCHAR last_archived_wal; TIMESTAMPTZ last_archived_time; BIGINT " +
		"failed_count; VARCHAR last_failed_wal; TIMESTAMPTZ last_failed_time, stats_reset",
	"pg_stat_bgwriter": "BIGINT checkpoints_timed, checkpoints_req; DOUBLE checkpoint_write_time, " +
		"checkpoint_sync_time; BIGINT buffers_checkpoint, buffers_clean, maxwritten_clean, buffers_backend, " +
		"buffers_backend_fsync, buffers_alloc; TIMESTAMPTZ stats_reset",
	"pg_stat_database": "BIGINT datid; VARCHAR datname; INTEGER numbackends; BIGINT xact_commit, " +
		"xact_rollback, blks_read, " +
		"blks_hit, tup_returned, tup_fetched, tup_inserted, tup_updated, tup_deleted, conflicts, temp_files, temp_bytes, " +
		"deadlocks, checksum_failures; " +
		"TIMESTAMPTZ checksum_last_failure; DOUBLE blk_read_time, blk_write_time, session_time, active_time, " +
		"idle_in_transaction_time; BIGINT sessions, sessions_abandoned, sessions_fatal, sessions_killed; " +
		"TIMESTAMPTZ stats_reset",
	"pg_stat_database_conflicts": "BIGINT datid; VARCHAR datname; BIGINT confl_tablespace, confl_lock, confl_snapshot, " +
		"confl_bufferpin, confl_deadlock, confl_active_logicalslot",
	"pg_stat_gssapi": "INTEGER pid; BOOLEAN gss_authenticated; VARCHAR principal; BOOLEAN encrypted, " +
		"credentials_delegated",
	"pg_stat_replication": "INTEGER pid; BIGINT usesysid; VARCHAR usename, application_name, client_addr, " +
		"client_hostname; INTEGER client_port; TIMESTAMPTZ backend_start; BIGINT backend_xmin; VARCHAR state, sent_lsn, " +
		"write_lsn, flush_lsn, replay_lsn; INTERVAL write_lag, flush_lag, replay_lag; INTEGER sync_priority; VARCHAR " +
		"sync_state; TIMESTAMPTZ reply_time",
	"pg_stat_ssl": "INTEGER pid; BOOLEAN ssl; VARCHAR version, cipher; INTEGER bits; VARCHAR client_dn; " +
		"DECIMAL client_serial; VARCHAR issuer_dn",
	"pg_stat_user_indexes": statIndexes,
	"pg_stat_user_tables":  statTables,
	"pg_stat_wal_receiver": "INTEGER pid; VARCHAR status, receive_start_lsn; INTEGER receive_start_tli; VARCHAR " +
		"written_lsn, flushed_lsn; INTEGER received_tli; TIMESTAMPTZ last_msg_send_time, last_msg_receipt_time; VARCHAR " +
		"latest_end_lsn; TIMESTAMPTZ latest_end_time; VARCHAR slot_name, sender_host; INTEGER sender_port; VARCHAR conninfo",
	"pg_statio_all_indexes":  statioIndexes,
	"pg_statio_user_indexes": statioIndexes,
	"pg_stats": "VARCHAR schemaname, tablename, attname; BOOLEAN inherited; FLOAT null_frac; INTEGER " +
		"avg_width; FLOAT n_distinct; VARCHAR[] most_common_vals; FLOAT[] most_common_freqs; VARCHAR[] histogram_bounds; " +
		"FLOAT correlation; VARCHAR[] most_common_elems; FLOAT[] most_common_elem_freqs, elem_count_histogram",
	"pg_statistic_ext": "BIGINT oid, stxrelid; VARCHAR stxname; BIGINT stxnamespace, stxowner; INTEGER " +
		"stxstattarget; SMALLINT[] stxkeys; VARCHAR[] stxkind; VARCHAR stxexprs; BIGINT tableoid, xmin",
	"pg_subscription": "BIGINT oid, subdbid; VARCHAR subskiplsn, subname; BIGINT subowner; BOOLEAN subenabled, " +
		"subbinary, substream; VARCHAR subtwophasestate; BOOLEAN subdisableonerr; VARCHAR subconninfo, subslotname, " +
		"subsynccommit; VARCHAR[] subpublications",
	"pg_timezone_abbrevs": "VARCHAR abbrev; INTERVAL utc_offset; BOOLEAN is_dst",
	"pg_trigger": "BIGINT oid, tgrelid, tgparentid; VARCHAR tgname; BIGINT tgfoid; SMALLINT tgtype; " +
		"VARCHAR tgenabled; BOOLEAN tgisinternal; BIGINT tgconstrrelid, tgconstrindid, tgconstraint; BOOLEAN tgdeferrable, " +
		"tginitdeferred; SMALLINT tgnargs; SMALLINT[] tgattr; BLOB tgargs; VARCHAR tgqual, tgoldtable, tgnewtable; BIGINT " +
		"tableoid, xmin",
	"pg_ts_config": "BIGINT oid; VARCHAR cfgname; BIGINT cfgnamespace, cfgowner, cfgparser, xmin",
	"pg_ts_dict": "BIGINT oid; VARCHAR dictname; BIGINT dictnamespace, dictowner, dicttemplate; VARCHAR " +
		"dictinitoption; BIGINT xmin",
	"pg_ts_parser":    "BIGINT oid; VARCHAR prsname; BIGINT prsnamespace, xmin",
	"pg_ts_template":  "BIGINT oid; VARCHAR tmplname; BIGINT tmplnamespace, xmin",
	"pg_user_mapping": "BIGINT oid, umuser, umserver; VARCHAR[] umoptions; BIGINT xmin",
	"pg_user_mappings": "BIGINT umid, srvid; VARCHAR srvname; BIGINT umuser; VARCHAR usename; " +
		"VARCHAR[] umoptions",
	"attributes": "VARCHAR udt_catalog, udt_schema, udt_name, attribute_name; INTEGER ordinal_position; VARCHAR " +
		"attribute_default, is_nullable, data_type; INTEGER character_maximum_length, character_octet_length; " +
		"VARCHAR character_set_catalog, character_set_schema, character_set_name, collation_catalog, collation_schema, " +
		"collation_name; INTEGER numeric_precision, numeric_precision_radix, numeric_scale, datetime_precision; VARCHAR " +
		"interval_type; INTEGER interval_precision; " +
		"VARCHAR attribute_udt_catalog, attribute_udt_schema, attribute_udt_name, scope_catalog, scope_schema, scope_name; " +
		"INTEGER maximum_cardinality; VARCHAR dtd_identifier, is_derived_reference_attribute",
	"check_constraints": "VARCHAR constraint_catalog, constraint_schema, constraint_name, check_clause",
	"column_domain_usage": "VARCHAR domain_catalog, domain_schema, domain_name, table_catalog, table_schema, " +
		"table_name, column_name",
	"column_udt_usage": "VARCHAR udt_catalog, udt_schema, udt_name, table_catalog, table_schema, " +
		"table_name, column_name",
	"constraint_table_usage": "VARCHAR table_catalog, table_schema, table_name, constraint_catalog, constraint_schema, " +
		"constraint_name",
	"domains": "VARCHAR domain_catalog, domain_schema, domain_name, data_type; INTEGER " +
		"character_maximum_length, numeric_precision, numeric_scale; VARCHAR domain_default, udt_catalog, " +
		"udt_schema, udt_name",
	"element_types": "VARCHAR object_catalog, object_schema, object_name, object_type, " +
		"collection_type_identifier, data_type, udt_catalog, udt_schema, udt_name",
	"referential_constraints": "VARCHAR constraint_catalog, constraint_schema, constraint_name, " +
		"unique_constraint_catalog, " +
		"unique_constraint_schema, unique_constraint_name, match_option, update_rule, delete_rule",
	"sequences": "VARCHAR sequence_catalog, sequence_schema, sequence_name, data_type; INTEGER " +
		"numeric_precision, numeric_precision_radix, numeric_scale; VARCHAR start_value, minimum_value, maximum_value, " +
		"increment, cycle_option",
	"triggers": "VARCHAR trigger_catalog, trigger_schema, trigger_name, event_manipulation, " +
		"event_object_catalog, event_object_schema, event_object_table; INTEGER action_order; VARCHAR action_condition, " +
		"action_statement, action_orientation, action_timing; TIMESTAMPTZ created",
	"usage_privileges": "VARCHAR grantor, grantee, object_catalog, object_schema, object_name, object_type, " +
		"privilege_type, is_grantable",
	"user_defined_types": "VARCHAR user_defined_type_catalog, user_defined_type_schema, user_defined_type_name, " +
		"user_defined_type_category, data_type",
	"view_column_usage": "VARCHAR view_catalog, view_schema, view_name, table_catalog, table_schema, " +
		"table_name, column_name",
	"view_table_usage": "VARCHAR view_catalog, view_schema, view_name, table_catalog, table_schema, table_name",
}

// The columns of views that come as those of all and as those of the user.
const (
	statTables = "BIGINT relid; VARCHAR schemaname, relname; BIGINT seq_scan; TIMESTAMPTZ last_seq_scan; BIGINT " +
		"seq_tup_read, idx_scan; TIMESTAMPTZ last_idx_scan; " +
		"BIGINT idx_tup_fetch, n_tup_ins, n_tup_upd, n_tup_del, n_tup_hot_upd, n_tup_newpage_upd, n_live_tup, n_dead_tup, " +
		"n_mod_since_analyze, n_ins_since_vacuum; " +
		"TIMESTAMPTZ last_vacuum, last_autovacuum, last_analyze, last_autoanalyze; BIGINT vacuum_count, autovacuum_count, " +
		"analyze_count, autoanalyze_count"
	statIndexes = "BIGINT relid, indexrelid; VARCHAR schemaname, relname, indexrelname; BIGINT idx_scan; TIMESTAMPTZ " +
		"last_idx_scan; BIGINT idx_tup_read, idx_tup_fetch"
	statioIndexes = "BIGINT relid, indexrelid; VARCHAR schemaname, relname, indexrelname; BIGINT " +
		"idx_blks_read, idx_blks_hit"
)

// emptyViews are the views without rows, by name.
func emptyViews() []view {
	views := make([]view, 0, len(empty))
	for name, columns := range empty {
		views = append(views, view{name, "SELECT " + nullColumns(columns) + " WHERE false"})
	}
	slices.SortFunc(views, func(a, b view) int { return strings.Compare(a.name, b.name) })
	return views
}

// nullColumns selects NULL for each of the columns of an empty catalog.
func nullColumns(columns string) string {
	var list []string
	for group := range strings.SplitSeq(columns, ";") {
		typ, names, _ := strings.Cut(strings.TrimSpace(group), " ")
		for name := range strings.SplitSeq(names, ",") {
			list = append(list, "NULL::"+typ+` AS "`+strings.TrimSpace(name)+`"`)
		}
	}
	return strings.Join(list, ", ")
}
