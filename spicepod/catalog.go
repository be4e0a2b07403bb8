package spicepod

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Catalog is one entry of `catalogs:`.
type Catalog struct {
	From                 Text           `yaml:"from" required:"true" doc:"Server as connector or connector:target, for example pg, postgres:shop or spice.ai:https://host:50051. May contain secret references."`
	Name                 string         `yaml:"name" required:"true" doc:"Name of the catalog in SQL: its tables are name.schema.table."`
	Description          string         `yaml:"description" doc:"What the catalog contains."`
	Access               Access         `yaml:"access" enum:"read,read_write,read_write_create" unserved:"read_write_create" default:"read" instead:"'read_write', and create tables at the server" doc:"Whether statements may write. Of a read_write catalog, tables that cannot be written are read; a privilege that the server grants later counts after a reload."`
	Include              []string       `yaml:"include" doc:"Patterns of the tables to serve, each of schema.table, with *, ?, [a-z] and {one,other}. Without it: all that the user may read."`
	Params               Params         `yaml:"params" doc:"Settings of the connector. Strings may contain secret references."`
	DatasetParams        Params         `yaml:"dataset_params" doc:"Settings of the connector for each table, in addition to params."`
	Acceleration         *Acceleration  `yaml:"acceleration" doc:"Store copies of the tables in the engine, each when a statement first reads it. Tables of connectors that read into copies only have one in memory without it."`
	RefreshCheckInterval time.Duration  `yaml:"refresh_check_interval" default:"1m" doc:"How often the server is asked for tables that are new, changed or gone."`
	Metadata             map[string]any `yaml:"metadata" doc:"Free-form notes; stored, never interpreted."`
	Metrics              any            `yaml:"metrics" served:"no" instead:"the metrics of datasets at '/metrics'" doc:"Metrics of the catalog."`
	DependsOn            []string       `yaml:"dependsOn" doc:"Components that must be loaded first."`
}

// reservedCatalogs are names of DuckDB and the runtime.
var reservedCatalogs = []string{"spice", "system", "temp", "memory", "main"}

// minCatalogInterval is the minimum of a catalog's refresh_check_interval.
const minCatalogInterval = time.Second

func (d *decoder) checkCatalog(c *Catalog) {
	switch name := truncate.Runes(c.Name, maxShown); {
	case c.Name == "":
	case !namePart.MatchString(c.Name):
		d.failPath("name", fmt.Sprintf("catalog name %q is not allowed", name), "write letters, digits, _ and -")
	case slices.Contains(reservedCatalogs, strings.ToLower(c.Name)):
		d.failPath("name", fmt.Sprintf("catalog name %q is reserved", name), "use another name")
	}
	if c.RefreshCheckInterval < minCatalogInterval {
		d.failPath("refresh_check_interval",
			fmt.Sprintf("the interval is %s; it must be at least %s", c.RefreshCheckInterval, minCatalogInterval), "")
	}
	if a := c.Acceleration; a != nil {
		for key, set := range map[string]bool{
			"refresh_mode": a.RefreshMode == RefreshAppend || a.RefreshMode == RefreshCaching, "refresh_sql": a.RefreshSQL != "",
			"primary_key": a.PrimaryKey != "", "indexes": len(a.Indexes) > 0,
			"on_conflict": len(a.OnConflict) > 0, "refresh_data_window": a.RefreshDataWindow > 0,
			"retention_period": a.RetentionPeriod > 0, "retention_sql": a.RetentionSQL != "",
			"partition_by": len(a.PartitionBy) > 0,
		} {
			if set {
				d.failPath("acceleration."+key, key+" depends on the table", "declare that table as a dataset")
			}
		}
		if a.Snapshots.Loads() || a.Snapshots.Writes() {
			d.failPath("acceleration.snapshots", "tables of catalogs have no snapshots", "declare that table as a dataset")
		}
	}
}

// CatalogTable is a table of a catalog as a dataset.
type CatalogTable struct {
	Catalog int // index in Catalogs
	Dataset Dataset
}

// WithTables returns a copy of the Spicepod with the tables of catalogs as further
// datasets. Problems about them are at the catalog.
func (p *Pod) WithTables(tables []CatalogTable) *Pod {
	next := *p
	next.Datasets, next.tables = slices.Clip(p.Datasets), nil
	for _, t := range tables {
		next.Datasets, next.tables = append(next.Datasets, t.Dataset), append(next.tables, t.Catalog)
	}
	return &next
}

// CatalogOf returns the index of the catalog that dataset i is from; false if it is declared.
func (p *Pod) CatalogOf(i int) (int, bool) {
	if i -= len(p.Datasets) - len(p.tables); i < 0 || i >= len(p.tables) {
		return 0, false
	}
	return p.tables[i], true
}

// declaredPath returns the path of what declares the value at a path, which differ for a
// table of a catalog.
func (p *Pod) declaredPath(path string) string {
	rest, ok := strings.CutPrefix(path, "datasets[")
	if !ok || len(p.tables) == 0 {
		return path
	}
	number, below, _ := strings.Cut(rest, "]")
	i, err := strconv.Atoi(number)
	if err != nil {
		return path
	}
	c, ok := p.CatalogOf(i)
	if !ok {
		return path
	}
	if key, ok := strings.CutPrefix(below, ".params."); ok && p.Catalogs[c].DatasetParams.Has(key) {
		below = ".dataset_params." + key
	}
	return fmt.Sprintf("catalogs[%d]%s", c, below)
}

// With returns params with others in place of those of the same name.
func (p Params) With(others Params) Params {
	all := make(Params, len(p)+len(others))
	maps.Copy(all, p)
	maps.Copy(all, others)
	return all
}
