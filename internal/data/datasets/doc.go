// Package datasets turns the datasets and views of a Spicepod into relations.
//
// It owns where data comes from (files, DuckDB databases, HTTP), how a source
// becomes SQL, the copies that `acceleration:` keeps and their refreshes. It
// publishes nothing itself: the runtime runs [Dataset.Install] and
// [View.Install] inside its transactions.
//
//	m, err := datasets.NewManager(datasets.Options{DB: db, Roots: pod.Runtime.DataRoots, Publish: publish})
//	defer m.Close()
//	ready, problems := m.Prepare(ctx, pod)      // reads, fetches, materialises
//	err = db.Publish(ctx, catalog, func(tx *engine.Tx) error {
//		for _, d := range ready {
//			if err := d.Install(tx); err != nil { … }
//		}
//		m.Publish(tx, ready, views)         // on commit: what is served now
//		return nil
//	})
//	go m.Run(ctx)                               // refreshes and retries
//	err = m.Refresh(ctx, "flights", datasets.Override{})
//
// A dataset without acceleration is a DuckDB view over its source. An
// accelerated one is a view over a table in a database of its own; a refresh
// fills a new database and the view switches to it in one transaction, so
// that a statement sees all of the old rows or all of the new ones.
//
// Values of secrets never reach messages, logs, Status or comments.
package datasets
