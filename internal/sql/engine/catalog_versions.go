package engine

import (
	"math"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// versions number the states of the rows of relations. The commit lock guards them.
type versions struct {
	since    uint64              // serial of the catalog of the generation
	changed  map[Relation]uint64 // serials of later changes, by folded names
	changing map[Relation]int    // running changes outside of publications
}

func folded(r Relation) Relation { return Relation{sqltree.Fold(r.Schema), sqltree.Fold(r.Name)} }

// publish records the changes of a catalog that is being published.
func (v *versions) publish(next *Catalog) {
	if !next.renewed {
		v.since, v.changed = next.serial, map[Relation]uint64{}
	}
	for _, r := range next.changed {
		v.changed[folded(r)] = next.serial
	}
}

// of returns the version of the relations; math.MaxUint64 while one is changing.
func (v *versions) of(relations []Relation) uint64 {
	version := v.since
	for _, r := range relations {
		r = folded(r)
		if v.changing[r] > 0 {
			return math.MaxUint64
		}
		version = max(version, v.changed[r])
	}
	return version
}

// Version numbers the rows of relations that only publications and [DB.Change]
// change. The rows that a statement has read have this version if its
// [Rows.Serial] is not less than the Version after its end: they have not changed
// since it began. Each generation has new versions.
func (db *DB) Version(relations []Relation) uint64 {
	db.commit.RLock()
	defer db.commit.RUnlock()
	return db.versions.of(relations)
}

// Change runs change, which changes rows of the relation outside of a publication.
// From its beginning to the next publication, no statement has the relation's
// version.
func (db *DB) Change(r Relation, change func() error) error {
	r = folded(r)
	db.commit.Lock()
	if db.versions.changing == nil {
		db.versions.changing = map[Relation]int{}
	}
	db.versions.changing[r]++
	db.commit.Unlock()
	defer func() {
		db.commit.Lock()
		defer db.commit.Unlock()
		if db.versions.changing[r]--; db.versions.changing[r] == 0 {
			delete(db.versions.changing, r)
		}
		db.versions.changed[r] = db.serial.Add(1)
	}()
	return change()
}
