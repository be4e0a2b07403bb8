package spicepod

import (
	"maps"
	"strings"
	"time"
)

// Access says whether a dataset may be written.
type Access string

// Accesses.
const (
	AccessRead      Access = "read"
	AccessReadWrite Access = "read_write"
)

// ReadyState says when a dataset counts as ready.
type ReadyState string

// When a dataset counts as ready.
const (
	ReadyOnRegistration ReadyState = "on_registration"
	ReadyOnLoad         ReadyState = "on_load"
)

// Dataset is one entry of `datasets:`.
type Dataset struct {
	From                  Text              `yaml:"from" required:"true" doc:"Source as connector:path, for example file:flights.parquet. May contain secret references."`
	Name                  string            `yaml:"name" required:"true" doc:"Table name, or schema.table. Lower case unless quoted."`
	Description           string            `yaml:"description" doc:"What the data contains; shown to people and to models."`
	Access                Access            `yaml:"access" enum:"read,read_write" default:"read" doc:"Whether statements may write, to a table of duckdb:, mysql: or postgres:."`
	TimeColumn            string            `yaml:"time_column" doc:"Column that orders the rows in time; needed for refresh_mode append, refresh_data_window and retention_period."`
	TimeFormat            string            `yaml:"time_format" enum:"timestamp,timestamptz,unix_seconds,unix_millis,ISO8601,date" doc:"Format of time_column. Without it: that of its type; integers are unix_seconds and texts ISO8601. Times without a time zone are UTC."`
	Params                Params            `yaml:"params" doc:"Settings of the connector. Strings may contain secret references."`
	Columns               []DatasetColumn   `yaml:"columns" doc:"Notes on columns."`
	RowFilter             string            `yaml:"row_filter" doc:"SQL condition that a row must meet to be visible, for example owner = ctx('user_id'). ctx returns an attribute of the caller: user_id, space_id, session_id, agent, model, principal or request_id. A key authenticates principal, and user_id and space_id unless the principal has on_behalf_of; the caller sets the others, and all of them if no keys are configured. If the condition is NULL, the row is hidden."`
	ColumnMask            map[string]string `yaml:"column_mask" doc:"SQL expression that callers see instead of a column, by column, for example CASE WHEN ctx('space_id') = 'hr' THEN salary END. A masked column of an ENUM type becomes text."`
	Metadata              map[string]any    `yaml:"metadata" doc:"Free-form notes; stored, never interpreted."`
	Acceleration          *Acceleration     `yaml:"acceleration" doc:"Store a copy of the data in the engine."`
	DependsOn             []string          `yaml:"dependsOn" doc:"Components that must be loaded first."`
	ReadyState            ReadyState        `yaml:"ready_state" enum:"on_registration,on_load" default:"on_load" doc:"When the dataset counts as ready for /v1/ready: when its first load has ended, also with an error, and its search index is built (on_load), or when it is declared (on_registration)."`
	Mode                  string            `yaml:"mode" served:"no" enum:"read,read_write" instead:"'access'" doc:"Older form of access."`
	UnsupportedTypeAction string            `yaml:"unsupported_type_action" served:"no" enum:"error,warn,ignore,string" instead:"a 'columns[].type', or a view that casts or leaves out the column" doc:"What happens to columns of a type that is not supported."`
	CheckAvailability     string            `yaml:"check_availability" served:"no" enum:"auto,disabled" instead:"'spiced.datasets.state' and 'GET /v1/status'" doc:"Whether the source is checked while it is idle."`
	Replication           any               `yaml:"replication" served:"no" instead:"'access: read_write' on a 'duckdb:' dataset" doc:"Write-through to the source."`
	Embeddings            []any             `yaml:"embeddings" served:"no" instead:"'columns[].embeddings'" doc:"Older form of columns[].embeddings."`
	Metrics               any               `yaml:"metrics" served:"no" instead:"the metrics of datasets at '/metrics'" doc:"Metrics of the dataset."`
	Vectors               any               `yaml:"vectors" served:"no" instead:"nothing: vectors are kept in the state directory, and compared exactly" doc:"Vector index."`
	InvalidTypeAction     any               `yaml:"invalid_type_action" served:"no" instead:"a 'columns[].type', or a view that casts or leaves out the column" doc:"Older form of unsupported_type_action."`
	HasMetadataTable      any               `yaml:"has_metadata_table" served:"no" instead:"nothing: the metadata of files is read with them" doc:"Whether a second table has the metadata of objects."`
	TimePartitionColumn   any               `yaml:"time_partition_column" served:"no" instead:"nothing: conditions on a column of a partition skip its files" doc:"Column of the partitions by time."`
	TimePartitionFormat   any               `yaml:"time_partition_format" served:"no" instead:"nothing: conditions on a column of a partition skip its files" doc:"Format of time_partition_column."`
}

// Qualified splits the name at its dot and returns each part as the engine knows it: in
// lower case unless quoted. schema is empty for a name without a schema.
func (d Dataset) Qualified() (schema, table string) { return qualified(d.Name) }

// Protected reports whether callers see less than the whole dataset.
func (d Dataset) Protected() bool { return d.RowFilter != "" || len(d.ColumnMask) > 0 }

// SamePolicy reports whether both show every caller the same of equal rows.
func (d Dataset) SamePolicy(o Dataset) bool {
	return d.RowFilter == o.RowFilter && maps.Equal(d.ColumnMask, o.ColumnMask)
}

// Names are names, written as a list, or as one text with commas between them.
type Names []string

// DatasetColumn is one entry of `datasets[].columns`.
type DatasetColumn struct {
	Name           string            `yaml:"name" required:"true" doc:"Name of the column."`
	Description    string            `yaml:"description" doc:"What the column means."`
	Type           string            `yaml:"type" doc:"Type to read the column as."`
	Metadata       map[string]any    `yaml:"metadata" doc:"Free-form notes; stored, never interpreted."`
	Embeddings     []ColumnEmbedding `yaml:"embeddings" doc:"Makes the column searchable by meaning."`
	FullTextSearch *FullTextSearch   `yaml:"full_text_search" doc:"Makes the column searchable by words."`
}

// Engine is where accelerated data is stored.
type Engine string

// Engines. Arrow and DuckDB both mean the DuckDB inside this process.
const (
	EngineArrow  Engine = "arrow"
	EngineDuckDB Engine = "duckdb"
)

// Mode says where an engine stores its data.
type Mode string

// Modes.
const (
	ModeMemory     Mode = "memory"
	ModeFile       Mode = "file"
	ModeFileCreate Mode = "file_create"
	ModeFileUpdate Mode = "file_update"
)

// File reports whether the data is in a file.
func (m Mode) File() bool { return m == ModeFile || m == ModeFileCreate || m == ModeFileUpdate }

// RefreshMode says what a refresh reads.
type RefreshMode string

// Refresh modes.
const (
	RefreshFull    RefreshMode = "full"
	RefreshAppend  RefreshMode = "append"
	RefreshCaching RefreshMode = "caching"
	RefreshChanges RefreshMode = "changes" // not served
)

// RefreshOnStartup says whether data stored by the last run is refreshed.
type RefreshOnStartup string

// What happens at start.
const (
	RefreshAuto   RefreshOnStartup = "auto"
	RefreshAlways RefreshOnStartup = "always"
)

// Acceleration is `datasets[].acceleration` and `views[].acceleration`.
type Acceleration struct {
	Enabled                 bool              `yaml:"enabled" default:"true" doc:"Store the copy."`
	Engine                  Engine            `yaml:"engine" enum:"arrow,duckdb,sqlite,postgres,cayenne,turso" unserved:"sqlite,postgres,cayenne,turso" default:"duckdb" instead:"'duckdb', with 'mode: file' for data that outlives a run" doc:"Where the copy is stored; arrow and duckdb both mean the DuckDB in the process."`
	Mode                    Mode              `yaml:"mode" enum:"memory,file,file_create,file_update" default:"memory" doc:"In memory, or in a file of the state directory: file keeps the rows of the last run for the same declaration; file_create loads them again at each start; file_update keeps them for another declaration too, adds new columns of the source, and loads all rows again if columns are gone or have other types."`
	RefreshMode             RefreshMode       `yaml:"refresh_mode" enum:"full,append,changes,caching" refuses:"changes" default:"full" instead:"'full' or 'append'" doc:"Whether a refresh reads all rows again (full) or only those whose time_column is later than the newest one, without those that have no time (append), or rows are fetched when statements ask for them (caching), of a dataset from http whose statements choose the requests."`
	RefreshCheckInterval    time.Duration     `yaml:"refresh_check_interval" doc:"How often to refresh. Without it: only at start and on request."`
	RefreshCron             string            `yaml:"refresh_cron" doc:"When to refresh: five fields of cron, in UTC, with seconds as an optional first one, or @hourly and the like; CRON_TZ=Europe/Berlin before it sets a time zone. Instead of refresh_check_interval."`
	RefreshSQL              string            `yaml:"refresh_sql" doc:"Query that selects the rows to store."`
	RefreshDataWindow       time.Duration     `yaml:"refresh_data_window" doc:"How far back from now a load reads, by time_column. Rows without a time are left out."`
	RefreshAppendOverlap    time.Duration     `yaml:"refresh_append_overlap" doc:"How far back from the newest row an append reads again, by time_column, for rows that come late. Without it, a row that comes later with a time equal to the newest one is not read, except of dates: the newest day is read again. The rows that it reads replace those of that time, or with on_conflict those of their keys."`
	RefreshRetryEnabled     bool              `yaml:"refresh_retry_enabled" default:"true" doc:"Try a failed refresh again."`
	RefreshRetryMaxAttempts int               `yaml:"refresh_retry_max_attempts" min:"0" doc:"Maximum number of retries; 0 for no limit."`
	RefreshOnStartup        RefreshOnStartup  `yaml:"refresh_on_startup" enum:"auto,always" default:"auto" doc:"Whether data stored by the last run is refreshed at start."`
	RefreshJitterEnabled    bool              `yaml:"refresh_jitter_enabled" doc:"Move each scheduled refresh by a random time, so that not all begin at once: earlier or later with refresh_check_interval, later with refresh_cron."`
	RefreshJitterMax        time.Duration     `yaml:"refresh_jitter_max" doc:"How far refreshes are moved. Default: a tenth of refresh_check_interval."`
	RetentionPeriod         time.Duration     `yaml:"retention_period" doc:"How long rows are kept, by time_column, with retention_check_enabled: checks remove older rows, and loads leave them out. Rows without a time are kept."`
	RetentionSQL            string            `yaml:"retention_sql" doc:"DELETE FROM the dataset WHERE …: the rows that a check removes, with retention_check_enabled. A load brings those back that the source still has, until the next check."`
	RetentionCheckEnabled   bool              `yaml:"retention_check_enabled" doc:"Remove rows by retention_period and retention_sql, which have no effect without it."`
	RetentionCheckInterval  time.Duration     `yaml:"retention_check_interval" doc:"How often rows are removed."`
	Indexes                 map[string]string `yaml:"indexes" doc:"Indexes by column or (column, column): enabled or unique."`
	PrimaryKey              string            `yaml:"primary_key" doc:"Primary key: a column or (column, column)."`
	PartitionBy             []any             `yaml:"partition_by" doc:"Expressions of columns, each with or without a name, by whose values the rows of the copy are stored together, so that a statement with conditions on these columns skips most others."`
	OnZeroResults           string            `yaml:"on_zero_results" enum:"return_empty,use_source" refuses:"use_source" default:"return_empty" instead:"a dataset without 'acceleration', or 'refresh_mode: caching' of an HTTP API" doc:"What a statement gets for which the copy has no rows: nothing (return_empty), or the rows of the source (use_source)."`
	ReadyState              string            `yaml:"ready_state" enum:"on_registration,on_load" served:"no" instead:"'ready_state' of the dataset" doc:"Older place of the dataset's ready_state."`
	MaintainedAggregates    any               `yaml:"maintained_aggregates" served:"no" instead:"a view with 'acceleration'" doc:"Aggregates that are kept next to the copy."`
	WriteMode               string            `yaml:"write_mode" served:"no" instead:"'access: read_write' without 'acceleration'" doc:"How writes reach the source of an accelerated dataset."`
	StorageProfile          string            `yaml:"storage_profile" served:"no" instead:"nothing: DuckDB adapts to the disk" doc:"Kind of disk of mode file."`
	Metrics                 any               `yaml:"metrics" served:"no" instead:"the metrics of datasets at '/metrics'" doc:"Metrics of the acceleration."`
	OnConflict              map[string]string `yaml:"on_conflict" doc:"What happens to a loaded row whose primary_key or unique index, a column or (column, column), another row has. drop keeps the first row and upsert the last, in the order of the source; upsert_dedup is upsert, but two different rows of one load fail it; upsert_dedup_by_row_id is upsert. Without it, such a load fails."`
	Params                  Params            `yaml:"params" doc:"Settings of the engine, which have no effect here, and of refresh_mode caching: see docs/acceleration.md."`

	Snapshots                 SnapshotUse     `yaml:"snapshots" enum:"disabled,enabled,bootstrap_only,create_only" default:"disabled" doc:"Whether a start without rows of the last run loads the newest snapshot instead of the source (bootstrap_only), a refresh writes one (create_only), or both (enabled), at the location of the top-level snapshots."`
	SnapshotsTrigger          SnapshotTrigger `yaml:"snapshots_trigger" enum:"refresh_complete,time_interval,stream_batches" unserved:"stream_batches" default:"refresh_complete" instead:"'refresh_complete' or 'time_interval'" doc:"When rows that have changed are written: after a refresh, at most once a minute (refresh_complete), or once in snapshots_trigger_threshold (time_interval)."`
	SnapshotsTriggerThreshold time.Duration   `yaml:"snapshots_trigger_threshold" doc:"Least time between two snapshots of snapshots_trigger time_interval."`
	SnapshotsCreationPolicy   SnapshotPolicy  `yaml:"snapshots_creation_policy" enum:"on_change,always" default:"on_change" doc:"Whether rows that are the same as those of the last snapshot are written again."`
	SnapshotsCompaction       string          `yaml:"snapshots_compaction" enum:"disabled,enabled" doc:"Whether the copy is made smaller before it is written. A snapshot has the rows only, so that it is as small in either case."`
	SnapshotsResetExpiry      string          `yaml:"snapshots_reset_expiry_on_load" enum:"disabled,enabled" doc:"Whether rows of a snapshot, or of the last run, of refresh_mode caching expire as if they were new."`
}

// Window returns how far back from now loads read; 0 for everything.
func (a *Acceleration) Window() time.Duration {
	window := a.RefreshDataWindow
	if a.RetentionCheckEnabled && a.RetentionPeriod > 0 && (window == 0 || a.RetentionPeriod < window) {
		window = a.RetentionPeriod
	}
	return window
}

// View is one entry of `views:`. SQL has the query wherever it was written; SQLRef is
// left as declared.
type View struct {
	Name         string          `yaml:"name" required:"true" doc:"Name of the view, or schema.view. Lower case unless quoted."`
	SQL          string          `yaml:"sql" doc:"The query."`
	SQLRef       string          `yaml:"sql_ref" file:"SQL" doc:"File with the query, relative to the file that names it. Instead of sql."`
	Description  string          `yaml:"description" doc:"What the view shows."`
	Acceleration *Acceleration   `yaml:"acceleration" doc:"Store the result in the engine."`
	Columns      []DatasetColumn `yaml:"columns" doc:"Notes on columns."`
	Metadata     map[string]any  `yaml:"metadata" doc:"Free-form notes; stored, never interpreted."`
	ReadyState   any             `yaml:"ready_state" served:"no" instead:"'ready_state' of the datasets that the view reads" doc:"When the view counts as ready."`
	Vectors      any             `yaml:"vectors" served:"no" instead:"nothing: vectors are kept in the state directory, and compared exactly" doc:"Vector index."`
	Metrics      any             `yaml:"metrics" served:"no" instead:"the metrics of datasets at '/metrics'" doc:"Metrics of the view."`
	DependsOn    []string        `yaml:"dependsOn" doc:"Components that must be loaded first."`
}

// Qualified is [Dataset.Qualified] for a view.
func (v View) Qualified() (schema, table string) { return qualified(v.Name) }

func qualified(name string) (schema, table string) {
	parts := nameParts(name)
	for i, part := range parts {
		if len(part) >= 2 && part[0] == '"' && part[len(part)-1] == '"' {
			parts[i] = strings.ReplaceAll(part[1:len(part)-1], `""`, `"`)
		} else {
			parts[i] = strings.ToLower(part)
		}
	}
	if len(parts) == 1 {
		return "", parts[0]
	}
	return strings.Join(parts[:len(parts)-1], "."), parts[len(parts)-1]
}

// nameParts splits a name at the dots outside of double quotes.
func nameParts(name string) []string {
	var parts []string
	quoted, start := false, 0
	for i := 0; i < len(name); i++ {
		switch {
		case name[i] == '"':
			quoted = !quoted
		case name[i] == '.' && !quoted:
			parts = append(parts, name[start:i])
			start = i + 1
		}
	}
	return append(parts, name[start:])
}
