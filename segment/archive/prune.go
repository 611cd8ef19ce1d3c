package archive

import (
	"context"
	"fmt"
	"time"

	"github.com/segstore/segstore/segment"
)

// Pruned is what a Prune has removed, or would remove.
type Pruned struct {
	Table       string `json:"table"`
	FirstRow    uint64 `json:"first_row"` // of the table from now on
	Rows        uint64 `json:"rows"`      // that are gone
	Segments    int    `json:"segments"`  // that are gone
	StoredBytes int64  `json:"stored_bytes"`
}

// Prune lets a table begin with the first row of the segment that holds row before:
// the segments before it go, when no view needs them. Rows before it that are in the
// same segment, or in the log, stay. Other tables are not touched. With dryRun nothing
// is changed. ErrNoTable; segment.ErrRange where the table ends before the row.
func (a *Archive) Prune(ctx context.Context, table string, before uint64, dryRun bool) (Pruned, error) {
	began := time.Now()
	ctx, end, err := a.begin(ctx, !dryRun)
	if err != nil {
		return Pruned{}, err
	}
	defer end()
	if dryRun {
		return a.state.Load().prunes(table, before)
	}
	done, err := a.turn(ctx)
	if err != nil {
		return Pruned{}, err
	}
	defer done()
	a.change.Lock()
	defer a.change.Unlock()
	p, err := a.state.Load().prunes(table, before)
	if err != nil || p.Segments == 0 {
		return p, err
	}
	_, err = a.swapManifest(false, func(st *state, pl *plan) error {
		if p, err = st.prunes(table, before); err != nil {
			return err
		}
		t := &pl.m.tables[st.number[table]]
		t.segments, t.firstRow = t.segments[p.Segments:], p.FirstRow
		return nil
	})
	a.pruned(p, began, err)
	if err == nil {
		a.log.Info("pruned", "dir", a.dir, "table", table, "first_row", p.FirstRow, "rows", p.Rows, "stored_bytes", p.StoredBytes)
	}
	return p, err
}

// prunes returns what a prune would remove.
func (st *state) prunes(table string, before uint64) (p Pruned, err error) {
	k, ok := st.number[table]
	if !ok {
		return p, st.noTable(table)
	}
	t := &st.tables[k]
	if before > t.end() {
		return p, fmt.Errorf("%w: table %q ends before row %d: it has %d to %d", segment.ErrRange, table, before, t.firstRow, t.end())
	}
	p = Pruned{Table: table, FirstRow: t.firstRow}
	for _, s := range t.tableEntry.segments {
		if s.EndRow() > before {
			break
		}
		p.Segments++
		p.Rows += s.Rows
		p.StoredBytes += s.StoredBytes
		p.FirstRow = s.EndRow()
	}
	return p, nil
}
