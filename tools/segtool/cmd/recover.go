package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/segstore/segstore/tools/chain/newfile"
	"github.com/spf13/cobra"
)

func (a *app) recoverVerb() *cobra.Command {
	return verb{
		use: "recover FILE OUT", short: "Save the rows of a damaged segment that can be read",
		long: `Recover reads what is left of a damaged segment, also of one whose end is lost, and
writes it to the new directory OUT: a segment file for each run of rows without a
gap. It says what is lost, which is exit code 5, and what is wrong beside the rows.
Bytes behind the end of a segment are no loss: they are ignored, and that is said.
FILE stays as it is.

OUT appears when all is written. What a killed recover leaves has its name with .tmp-
and 16 hex digits behind; the next one for the same OUT removes it.`,
		example: "  segtool recover blocks.seg saved",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing, codeLost},
		args:    cobra.ExactArgs(2),
		makes:   "OUT",
		run: func(ctx context.Context, args []string) error {
			return a.recover(ctx, args[0], args[1])
		},
	}.command()
}

// recovered is the result of recover.
type recovered struct {
	Table    string          `json:"table"`
	Segments []recoveredFile `json:"segments"`
	Rows     uint64          `json:"rows"`
	Lost     []segment.Flaw  `json:"lost"`                    // places that could not be read
	LostRows uint64          `json:"lost_rows"`               // that are known to be missing
	Flaws    []segment.Flaw  `json:"flaws"`                   // beside the rows
	Ignored  int64           `json:"ignored_bytes,omitempty"` // behind the segment's end
}

type recoveredFile struct {
	File string `json:"file"`
	segment.Info
}

func (a *app) recover(ctx context.Context, path, out string) error {
	dir, err := a.isDir(path)
	if err != nil {
		return err
	}
	if dir {
		return usagef("%s is a directory: recover takes one segment file", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // a pipe would be waited for
		return usagef("%s is no file: recover takes one segment file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	end, err := segmentEnd(ctx, f, info.Size())
	if err != nil {
		return err
	}
	d, err := segment.Recover(f, end, segment.RecoverOptions{Name: path})
	if err != nil {
		if errors.Is(err, segment.ErrCorrupt) {
			return &exitError{codeLost, err}
		}
		return err
	}
	made, err := newfile.MakeDir(out)
	if err != nil {
		return err
	}
	s := &salvage{a: a, ctx: ctx, d: d, dir: made.Path(), out: out}
	s.result.Table, s.result.Ignored = d.Table(), info.Size()-end
	err = s.run()
	switch {
	case err != nil:
		return errors.Join(err, s.abort(), made.Abort())
	case len(s.result.Segments) == 0: // an empty directory is of no use
		err = made.Abort()
	default:
		err = made.Commit()
	}
	if err != nil {
		return err
	}
	if err := a.result(s.result, func() { a.recovered(s.result, out) }); err != nil {
		return err
	}
	if len(s.result.Lost) > 0 {
		return &exitError{codeLost, nil}
	}
	return nil
}

// salvage writes the rows of a damaged segment, a file for each run without a gap.
type salvage struct {
	a      *app
	ctx    context.Context
	d      *segment.Damaged
	dir    string // where files are written
	out    string // where they will be
	w      *archive.FileWriter
	name   string
	next   uint64 // row that belongs into w
	result recovered
}

func (s *salvage) run() error {
	s.result.Segments, s.result.Lost, s.result.Flaws = []recoveredFile{}, []segment.Flaw{}, []segment.Flaw{}
	for _, f := range s.d.Flaws() {
		s.result.Flaws = append(s.result.Flaws, f)
		if f.Section == segment.SectionFile || f.Section == segment.SectionFooter {
			s.lost(&f) // of the end: nothing says how many rows there were
		}
	}
	for row, err := range s.d.Rows(s.ctx) {
		if f := (*segment.CorruptionError)(nil); errors.As(err, &f) {
			s.lost(f)
			continue
		}
		if err != nil {
			return err
		}
		if err := s.append(row); err != nil {
			return err
		}
	}
	return s.finish()
}

func (s *salvage) lost(f *segment.Flaw) {
	s.result.Lost = append(s.result.Lost, *f)
	s.result.LostRows += f.Rows
}

func (s *salvage) append(row segment.Numbered) error {
	if s.w != nil && row.N != s.next {
		if err := s.finish(); err != nil {
			return err
		}
	}
	if s.w == nil {
		o := segment.WriterOptions{Table: s.d.Table(), Schema: s.d.Schema(), FirstRow: row.N, Context: s.ctx}
		if p, ok := s.d.Policy(); ok {
			o.Policy = p
		}
		s.name = fmt.Sprintf("%s-%010d.seg", s.d.Table(), row.N)
		var err error
		if s.w, err = archive.CreateFile(s.a.fs, filepath.Join(s.dir, s.name), o); err != nil {
			return err
		}
	}
	s.next = row.N + 1
	s.result.Rows++
	return s.w.Append(row.Row)
}

func (s *salvage) finish() error {
	if s.w == nil {
		return nil
	}
	info, err := s.w.Finish()
	if err != nil {
		return err
	}
	s.w = nil
	s.result.Segments = append(s.result.Segments, recoveredFile{filepath.Join(s.out, s.name), info})
	return nil
}

// abort drops the file that is being written.
func (s *salvage) abort() error {
	if s.w == nil {
		return nil
	}
	return s.w.Abort()
}

func (a *app) recovered(r recovered, out string) {
	if r.Ignored > 0 {
		a.printf("ignored: %s behind the end of the segment\n", plural(r.Ignored, "byte"))
	}
	for _, f := range r.Flaws {
		a.printf("flaw: %s\n", f.Error())
	}
	for _, f := range r.Lost {
		a.printf("lost: %s\n", f.Error())
	}
	g := newGrid("saved", "rows", ">count", ">stored")
	for _, f := range r.Segments {
		g.add(f.File, fmt.Sprintf("%d-%d", f.FirstRow, f.FirstRow+f.Rows-1), count(f.Rows), size(f.StoredBytes))
	}
	if len(r.Segments) > 0 {
		g.print(a, "")
	}
	switch {
	case len(r.Segments) == 0:
		a.printf("no row can be read; %s is not made\n", out)
	case len(r.Lost) == 0:
		a.printf("all %s rows are saved\n", count(r.Rows))
	case r.LostRows == 0:
		a.printf("%s rows are saved; what followed them is lost, and nothing says how much that was\n", count(r.Rows))
	default:
		a.printf("%s rows are saved, %s are lost\n", count(r.Rows), count(r.LostRows))
	}
}
