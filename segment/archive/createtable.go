package archive

import (
	"context"
	"fmt"

	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
)

// CreateTable adds a table without rows to an archive that is there, durably; batches,
// also those begun before, can append to it when it returns. Commits wait for one write
// of the manifest. Views do not have it, and read-only archives have it after Refresh.
// Policy defaults to the profile "balanced".
//
// ErrExists where there is a table of that name.
func (a *Archive) CreateTable(ctx context.Context, s TableSpec) error {
	_, end, err := a.begin(ctx, true)
	if err != nil {
		return err
	}
	defer end()
	if len(s.Policy.Rules) == 0 {
		if s.Policy, err = codec.Profile(codec.DefaultProfile); err != nil {
			return err
		}
	}
	e, err := s.entry()
	if err != nil {
		return err
	}
	a.change.Lock()
	defer a.change.Unlock()
	_, err = a.swapManifest(true, func(st *state, p *plan) error {
		if _, ok := st.number[s.Name]; ok {
			return fmt.Errorf("%w: table %q", ErrExists, s.Name)
		}
		p.m.tables = append(p.m.tables, e)
		if err := p.m.validate(); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		if err := a.makeTableDir(s.Name); err != nil {
			return err
		}
		return a.rotate() // a log has frames of the tables that were there when it began
	})
	if err == nil {
		a.log.Info("table created", "dir", a.dir, "table", s.Name, "first_row", s.FirstRow)
	}
	return err
}

// entry returns the manifest's entry of a table without rows.
func (s TableSpec) entry() (tableEntry, error) {
	if err := s.Policy.Validate(); err != nil {
		return tableEntry{}, err
	}
	e := tableEntry{name: s.Name, schema: s.Schema, firstRow: s.FirstRow, policy: s.Policy.String()}
	if err := e.validate(); err != nil {
		return e, fmt.Errorf("archive: table %.*q: %w", segment.MaxNameBytes, s.Name, err)
	}
	return e, nil
}

// makeTableDir makes the directory of a table's segments, durably.
func (a *Archive) makeTableDir(table string) error {
	dir := a.fs.PathJoin(a.dir, table)
	if err := a.fs.MkdirAll(dir, 0o777); err != nil {
		return ioError("creating", dir, err)
	}
	return syncDir(a.fs, a.dir)
}
