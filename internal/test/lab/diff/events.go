package diff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spiced-sql/spiced/internal/test/lab/serve"
)

// happen lets something happen to the data or to the runtime.
func (c *cycle) happen(ctx context.Context, event string) error {
	switch event {
	case "write":
		return c.writeRows(ctx)
	case "refresh":
		return c.refresh(ctx)
	case "reload":
		return c.reload(ctx)
	case "replace":
		if c.pod.cache { // an old result would be right
			return nil
		}
		return c.replace(ctx, "p")
	case "restart":
		c.close()
		if err := c.server.Stop(); err != nil {
			return err
		}
		c.pod.version++
		return errors.Join(c.pod.write(), c.start(ctx))
	}
	return nil
}

// writeRows changes the tables that may be written, through spiced and in plain DuckDB.
func (c *cycle) writeRows(ctx context.Context) error {
	for range 1 + c.r.IntN(3) {
		sql := c.change()
		body, _ := json.Marshal(map[string]string{"sql": sql}) //nolint:errcheck // of a text
		_, err := c.server.Do(ctx, http.MethodPost, "/v1/sql", "application/json", string(body))
		if err != nil {
			return fmt.Errorf("%.500s: %w", sql, err)
		}
		if err := c.oracle.exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// change is a statement that changes rows.
func (c *cycle) change() string {
	t := pick(c.r, tables[:2])
	target := pick(c.r, t.columns[1:])
	switch c.r.IntN(4) {
	case 0:
		return fmt.Sprintf("DELETE FROM %s WHERE id %% %d = 0", t.name, 2+c.r.IntN(5))
	case 1:
		return fmt.Sprintf("UPDATE %s SET %s = %s, id = abs(id %% 1000) + 100 WHERE k IS NULL OR id %% 3 = %d", t.name, target.name, target.value(c.r), c.r.IntN(3))
	}
	return t.insert(c.r, "", 1+c.r.IntN(5))
}

// replace replaces the rows of a Parquet file.
func (c *cycle) replace(ctx context.Context, name string) error {
	for _, t := range tables {
		if t.name != name {
			continue
		}
		return errors.Join(c.oracle.exec(ctx, "DELETE FROM "+name), c.oracle.exec(ctx, t.insert(c.r, "", 5+c.r.IntN(t.rows))), c.pod.export(ctx, c.oracle, t))
	}
	return nil
}

// refresh replaces the rows of the accelerated dataset and waits until they are served.
func (c *cycle) refresh(ctx context.Context) error {
	before, err := c.refreshed(ctx)
	if err != nil {
		return err
	}
	if err := c.replace(ctx, "m"); err != nil {
		return err
	}
	if _, err := c.server.Do(ctx, http.MethodPost, "/v1/datasets/m/acceleration/refresh", "", "{}"); err != nil {
		return err
	}
	return c.until(ctx, "the refresh", func() (bool, error) {
		now, err := c.refreshed(ctx)
		return now != before, err
	})
}

// refreshed is when the accelerated dataset was refreshed.
func (c *cycle) refreshed(ctx context.Context) (string, error) {
	body, err := c.server.Do(ctx, http.MethodGet, "/v1/datasets", "", "")
	if err != nil {
		return "", err
	}
	var all []struct {
		Name        string
		LastRefresh string `json:"last_refresh"`
	}
	if err := json.Unmarshal(body, &all); err != nil {
		return "", err
	}
	for _, d := range all {
		if d.Name == "m" {
			return d.LastRefresh, nil
		}
	}
	return "", errors.New("there is no dataset m")
}

// reload changes the Spicepod.
func (c *cycle) reload(ctx context.Context) error {
	c.pod.version++
	if err := c.pod.write(); err != nil {
		return err
	}
	_, err := c.server.Do(ctx, http.MethodPost, "/v1/reload", "", "")
	return err
}

// until waits until f reports true.
func (c *cycle) until(ctx context.Context, what string, f func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, serve.Deadline)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := f()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}
