package pgcatalog

import (
	"slices"
	"strings"
)

// empty are the catalogs that have no rows here: there are no constraints,
// indexes, triggers, partitions, sequences, domains, publications or foreign
// servers. The columns are PostgreSQL's; a type is written before the columns
// that have it.
var empty = map[string]string{
	"pg_aggregate":    "VARCHAR aggfnoid, aggkind; SMALLINT aggnumdirectargs; VARCHAR aggtransfn, aggfinalfn, aggcombinefn; BIGINT aggsortop, aggtranstype; VARCHAR agginitval",
	"pg_amop":         "BIGINT oid, amopfamily, amoplefttype, amoprighttype; SMALLINT amopstrategy; VARCHAR amoppurpose; BIGINT amopopr, amopmethod, amopsortfamily",
	"pg_amproc":       "BIGINT oid, amprocfamily, amproclefttype, amprocrighttype; SMALLINT amprocnum; VARCHAR amproc",
	"pg_attrdef":      "BIGINT oid, adrelid; SMALLINT adnum; VARCHAR adbin",
	"pg_auth_members": "BIGINT oid, roleid, member, grantor; BOOLEAN admin_option",
	"pg_cast":         "BIGINT oid, castsource, casttarget, castfunc; VARCHAR castcontext, castmethod; BIGINT tableoid",
	"pg_constraint": "BIGINT oid; VARCHAR conname; BIGINT connamespace; VARCHAR contype; BOOLEAN condeferrable, condeferred, convalidated; " +
		"BIGINT conrelid, contypid, conindid, conparentid, confrelid; VARCHAR confupdtype, confdeltype, confmatchtype; BOOLEAN conislocal; INTEGER coninhcount; " +
		"BOOLEAN connoinherit; SMALLINT[] conkey, confkey; BIGINT[] conpfeqop, conppeqop, conffeqop; SMALLINT[] confdelsetcols; BIGINT[] conexclop; VARCHAR conbin, consrc; BIGINT tableoid",
	"pg_conversion":           "BIGINT oid; VARCHAR conname; BIGINT connamespace, conowner; INTEGER conforencoding, contoencoding; VARCHAR conproc; BOOLEAN condefault; BIGINT tableoid",
	"pg_db_role_setting":      "BIGINT setdatabase, setrole; VARCHAR[] setconfig",
	"pg_default_acl":          "BIGINT oid, defaclrole, defaclnamespace; VARCHAR defaclobjtype; VARCHAR[] defaclacl",
	"pg_depend":               "BIGINT classid, objid; INTEGER objsubid; BIGINT refclassid, refobjid; INTEGER refobjsubid; VARCHAR deptype",
	"pg_enum":                 "BIGINT oid, enumtypid; FLOAT enumsortorder; VARCHAR enumlabel",
	"pg_event_trigger":        "BIGINT oid; VARCHAR evtname, evtevent; BIGINT evtowner, evtfoid; VARCHAR evtenabled; VARCHAR[] evttags",
	"pg_extension":            "BIGINT oid; VARCHAR extname; BIGINT extowner, extnamespace; BOOLEAN extrelocatable; VARCHAR extversion; BIGINT[] extconfig; VARCHAR[] extcondition; BIGINT tableoid",
	"pg_available_extensions": "VARCHAR name, default_version, installed_version, comment",
	"pg_foreign_data_wrapper": "BIGINT oid; VARCHAR fdwname; BIGINT fdwowner, fdwhandler, fdwvalidator; VARCHAR[] fdwacl, fdwoptions; BIGINT tableoid",
	"pg_foreign_server":       "BIGINT oid; VARCHAR srvname; BIGINT srvowner, srvfdw; VARCHAR srvtype, srvversion; VARCHAR[] srvacl, srvoptions; BIGINT tableoid",
	"pg_foreign_table":        "BIGINT ftrelid, ftserver; VARCHAR[] ftoptions",
	"pg_index": "BIGINT indexrelid, indrelid; SMALLINT indnatts, indnkeyatts; BOOLEAN indisunique, indnullsnotdistinct, indisprimary, indisexclusion, indimmediate, " +
		"indisclustered, indisvalid, indcheckxmin, indisready, indislive, indisreplident; SMALLINT[] indkey; BIGINT[] indcollation, indclass; SMALLINT[] indoption; VARCHAR indexprs, indpred",
	"pg_indexes":               "VARCHAR schemaname, tablename, indexname, tablespace, indexdef",
	"pg_inherits":              "BIGINT inhrelid, inhparent; INTEGER inhseqno; BOOLEAN inhdetachpending",
	"pg_largeobject_metadata":  "BIGINT oid, lomowner; VARCHAR[] lomacl",
	"pg_locks":                 "VARCHAR locktype; BIGINT database, relation; INTEGER page; SMALLINT tuple; VARCHAR virtualxid; BIGINT transactionid, classid, objid; SMALLINT objsubid; VARCHAR virtualtransaction; INTEGER pid; VARCHAR mode; BOOLEAN granted, fastpath; TIMESTAMPTZ waitstart",
	"pg_matviews":              "VARCHAR schemaname, matviewname, matviewowner, tablespace; BOOLEAN hasindexes, ispopulated; VARCHAR definition",
	"pg_opclass":               "BIGINT oid, opcmethod; VARCHAR opcname; BIGINT opcnamespace, opcowner, opcfamily, opcintype; BOOLEAN opcdefault; BIGINT opckeytype, tableoid",
	"pg_operator":              "BIGINT oid; VARCHAR oprname; BIGINT oprnamespace, oprowner; VARCHAR oprkind; BOOLEAN oprcanmerge, oprcanhash; BIGINT oprleft, oprright, oprresult, oprcom, oprnegate; VARCHAR oprcode, oprrest, oprjoin; BIGINT tableoid",
	"pg_opfamily":              "BIGINT oid, opfmethod; VARCHAR opfname; BIGINT opfnamespace, opfowner, tableoid",
	"pg_parameter_acl":         "BIGINT oid; VARCHAR parname; VARCHAR[] paracl",
	"pg_partitioned_table":     "BIGINT partrelid; VARCHAR partstrat; SMALLINT partnatts; BIGINT partdefid; SMALLINT[] partattrs; BIGINT[] partclass, partcollation; VARCHAR partexprs",
	"pg_policies":              "VARCHAR schemaname, tablename, policyname, permissive; VARCHAR[] roles; VARCHAR cmd, qual, with_check",
	"pg_policy":                "BIGINT oid; VARCHAR polname; BIGINT polrelid; VARCHAR polcmd; BOOLEAN polpermissive; BIGINT[] polroles; VARCHAR polqual, polwithcheck",
	"pg_prepared_xacts":        "BIGINT transaction; VARCHAR gid; TIMESTAMPTZ prepared; VARCHAR owner, database",
	"pg_publication":           "BIGINT oid; VARCHAR pubname; BIGINT pubowner; BOOLEAN puballtables, pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot; BIGINT tableoid",
	"pg_publication_namespace": "BIGINT oid, pnpubid, pnnspid",
	"pg_publication_rel":       "BIGINT oid, prpubid, prrelid; VARCHAR prqual; SMALLINT[] prattrs",
	"pg_publication_tables":    "VARCHAR pubname, schemaname, tablename; VARCHAR[] attnames; VARCHAR rowfilter",
	"pg_range":                 "BIGINT rngtypid, rngsubtype, rngmultitypid, rngcollation, rngsubopc; VARCHAR rngcanonical, rngsubdiff",
	"pg_rewrite":               "BIGINT oid; VARCHAR rulename; BIGINT ev_class; VARCHAR ev_type, ev_enabled; BOOLEAN is_instead; VARCHAR ev_qual, ev_action; BIGINT tableoid",
	"pg_rules":                 "VARCHAR schemaname, tablename, rulename, definition",
	"pg_seclabels":             "BIGINT objoid, classoid; INTEGER objsubid; VARCHAR objtype; BIGINT objnamespace; VARCHAR objname, provider, label",
	"pg_sequence":              "BIGINT seqrelid, seqtypid, seqstart, seqincrement, seqmax, seqmin, seqcache; BOOLEAN seqcycle",
	"pg_sequences":             "VARCHAR schemaname, sequencename, sequenceowner, data_type; BIGINT start_value, min_value, max_value, increment_by; BOOLEAN cycle; BIGINT cache_size, last_value",
	"pg_shdepend":              "BIGINT dbid, classid, objid; INTEGER objsubid; BIGINT refclassid, refobjid; VARCHAR deptype",
	"pg_shdescription":         "BIGINT objoid, classoid; VARCHAR description",
	"pg_stat_activity":         "BIGINT datid; VARCHAR datname; INTEGER pid; BIGINT usesysid; VARCHAR usename, application_name, client_addr, client_hostname; INTEGER client_port; TIMESTAMPTZ backend_start, xact_start, query_start, state_change; VARCHAR wait_event_type, wait_event, state; BIGINT backend_xid, backend_xmin, query_id; VARCHAR query, backend_type",
	"pg_stat_all_tables":       statTables,
	"pg_stat_user_tables":      statTables,
	"pg_stats":                 "VARCHAR schemaname, tablename, attname; BOOLEAN inherited; FLOAT null_frac; INTEGER avg_width; FLOAT n_distinct; VARCHAR[] most_common_vals; FLOAT[] most_common_freqs; VARCHAR[] histogram_bounds; FLOAT correlation; VARCHAR[] most_common_elems; FLOAT[] most_common_elem_freqs, elem_count_histogram",
	"pg_statistic_ext":         "BIGINT oid, stxrelid; VARCHAR stxname; BIGINT stxnamespace, stxowner; INTEGER stxstattarget; SMALLINT[] stxkeys; VARCHAR[] stxkind; VARCHAR stxexprs; BIGINT tableoid",
	"pg_subscription":          "BIGINT oid, subdbid; VARCHAR subskiplsn, subname; BIGINT subowner; BOOLEAN subenabled, subbinary, substream; VARCHAR subtwophasestate; BOOLEAN subdisableonerr; VARCHAR subconninfo, subslotname, subsynccommit; VARCHAR[] subpublications",
	"pg_trigger":               "BIGINT oid, tgrelid, tgparentid; VARCHAR tgname; BIGINT tgfoid; SMALLINT tgtype; VARCHAR tgenabled; BOOLEAN tgisinternal; BIGINT tgconstrrelid, tgconstrindid, tgconstraint; BOOLEAN tgdeferrable, tginitdeferred; SMALLINT tgnargs; SMALLINT[] tgattr; VARCHAR tgargs, tgqual, tgoldtable, tgnewtable; BIGINT tableoid",
	"pg_ts_config":             "BIGINT oid; VARCHAR cfgname; BIGINT cfgnamespace, cfgowner, cfgparser",
	"pg_ts_dict":               "BIGINT oid; VARCHAR dictname; BIGINT dictnamespace, dictowner, dicttemplate; VARCHAR dictinitoption",
	"pg_ts_parser":             "BIGINT oid; VARCHAR prsname; BIGINT prsnamespace",
	"pg_ts_template":           "BIGINT oid; VARCHAR tmplname; BIGINT tmplnamespace",
	"pg_user_mapping":          "BIGINT oid, umuser, umserver; VARCHAR[] umoptions",
	"pg_user_mappings":         "BIGINT umid, srvid; VARCHAR srvname; BIGINT umuser; VARCHAR usename; VARCHAR[] umoptions",
	"check_constraints":        "VARCHAR constraint_catalog, constraint_schema, constraint_name, check_clause",
	"column_domain_usage":      "VARCHAR domain_catalog, domain_schema, domain_name, table_catalog, table_schema, table_name, column_name",
	"column_udt_usage":         "VARCHAR udt_catalog, udt_schema, udt_name, table_catalog, table_schema, table_name, column_name",
	"constraint_column_usage":  "VARCHAR table_catalog, table_schema, table_name, column_name, constraint_catalog, constraint_schema, constraint_name",
	"constraint_table_usage":   "VARCHAR table_catalog, table_schema, table_name, constraint_catalog, constraint_schema, constraint_name",
	"domains":                  "VARCHAR domain_catalog, domain_schema, domain_name, data_type; INTEGER character_maximum_length, numeric_precision, numeric_scale; VARCHAR domain_default, udt_catalog, udt_schema, udt_name",
	"element_types":            "VARCHAR object_catalog, object_schema, object_name, object_type, collection_type_identifier, data_type, udt_catalog, udt_schema, udt_name",
	"key_column_usage":         "VARCHAR constraint_catalog, constraint_schema, constraint_name, table_catalog, table_schema, table_name, column_name; INTEGER ordinal_position, position_in_unique_constraint",
	"referential_constraints":  "VARCHAR constraint_catalog, constraint_schema, constraint_name, unique_constraint_catalog, unique_constraint_schema, unique_constraint_name, match_option, update_rule, delete_rule",
	"sequences":                "VARCHAR sequence_catalog, sequence_schema, sequence_name, data_type; INTEGER numeric_precision, numeric_precision_radix, numeric_scale; VARCHAR start_value, minimum_value, maximum_value, increment, cycle_option",
	"table_constraints":        "VARCHAR constraint_catalog, constraint_schema, constraint_name, table_catalog, table_schema, table_name, constraint_type, is_deferrable, initially_deferred, enforced, nulls_distinct",
	"triggers":                 "VARCHAR trigger_catalog, trigger_schema, trigger_name, event_manipulation, event_object_catalog, event_object_schema, event_object_table; INTEGER action_order; VARCHAR action_condition, action_statement, action_orientation, action_timing; TIMESTAMPTZ created",
	"user_defined_types":       "VARCHAR user_defined_type_catalog, user_defined_type_schema, user_defined_type_name, user_defined_type_category, data_type",
	"view_column_usage":        "VARCHAR view_catalog, view_schema, view_name, table_catalog, table_schema, table_name, column_name",
	"view_table_usage":         "VARCHAR view_catalog, view_schema, view_name, table_catalog, table_schema, table_name",
}

const statTables = "BIGINT relid; VARCHAR schemaname, relname; BIGINT seq_scan, seq_tup_read, idx_scan, idx_tup_fetch, n_tup_ins, n_tup_upd, n_tup_del, n_live_tup, n_dead_tup; TIMESTAMPTZ last_vacuum, last_autovacuum, last_analyze, last_autoanalyze"

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
