package archive

import (
	"fmt"

	"github.com/segstore/segstore/codec/wire"
	"github.com/segstore/segstore/segment"
)

// Kinds of records in a log. Part of the format: add, never change. What becomes of
// segments is no record: the manifest says it, which is replaced as a whole.
const (
	recordCommit = 1 // rows of one or more tables
	recordRewind = 2 // tables that end earlier
	recordEnd    = 3 // nothing: the writer was closed, and all before it is durable
)

// frame is a chunk of rows in a log, or what a rewind has left of one.
type frame struct {
	log   *logFile
	off   int64
	first uint64 // number of the first row
	size  uint32
	rows  uint32
	raw   uint32 // bytes of the values
}

func (f *frame) end() uint64 { return f.first + uint64(f.rows) }

// tableFrames are the frames that one commit adds to one table.
type tableFrames struct {
	table  string
	first  uint64  // row
	frames []frame // with rows, bytes and size; log, off and first once it is known where they lie
}

const (
	maxFrames    = 1 << 24 // of one commit and table
	maxFrameRaw  = 1<<32 - 1
	maxFrameRows = 1 << 16
)

// appendCommit appends what a commit record says before the frames themselves:
// count of tables; of each: string name, uvarint first row, count of frames; of each
// frame: uvarint rows, bytes of the values, bytes of the frame.
func appendCommit(dst []byte, tables []tableFrames) []byte {
	dst = wire.AppendUvarint(dst, uint64(len(tables)))
	for _, t := range tables {
		dst = wire.AppendString(dst, t.table)
		dst = wire.AppendUvarint(dst, t.first)
		dst = wire.AppendUvarint(dst, uint64(len(t.frames)))
		for _, f := range t.frames {
			dst = wire.AppendUvarint(dst, uint64(f.rows))
			dst = wire.AppendUvarint(dst, uint64(f.raw))
			dst = wire.AppendUvarint(dst, uint64(f.size))
		}
	}
	return dst
}

// placeFrames sets where the frames lie that follow each other at offset of a log, and
// their rows.
func placeFrames(tables []tableFrames, log *logFile, offset int64) {
	for i := range tables {
		next := tables[i].first
		for k := range tables[i].frames {
			f := &tables[i].frames[k]
			f.log, f.off, f.first = log, offset, next
			offset += int64(f.size)
			next = f.end()
		}
	}
}

// decodeCommit reads a commit record, that lies at offset of a log.
func decodeCommit(b []byte, log *logFile, offset int64) ([]tableFrames, error) {
	c := wire.NewCursor(b)
	tables := make([]tableFrames, 0, c.Count(maxTables, 3))
	sum := uint64(0)
	for range cap(tables) {
		t := tableFrames{table: c.String(segment.MaxNameBytes), first: c.Uvarint()}
		t.frames = make([]frame, 0, c.Count(maxFrames, 3))
		rows := t.first
		for range cap(t.frames) {
			f := frame{rows: uint32(c.Count(maxFrameRows, 0)), raw: uint32(c.Count(maxFrameRaw, 0)), size: uint32(c.Count(len(b), 0))}
			if rows+uint64(f.rows) <= rows {
				c.Fail(fmt.Errorf("frame of %d rows behind row %d", f.rows, rows))
			}
			if c.Err() != nil {
				return nil, c.Err()
			}
			rows += uint64(f.rows)
			sum += uint64(f.size)
			t.frames = append(t.frames, f)
		}
		tables = append(tables, t)
	}
	if c.Err() == nil && sum != uint64(c.Len()) {
		c.Fail(fmt.Errorf("frames of %d bytes, %d are there", sum, c.Len()))
	}
	if c.Err() != nil {
		return nil, c.Err()
	}
	placeFrames(tables, log, offset+int64(c.Offset()))
	return tables, nil
}

// tableEnd is where a rewind lets a table end.
type tableEnd struct {
	table string
	end   uint64
}

// appendRewind appends a rewind record: count of tables; of each: string name,
// uvarint row that comes next.
func appendRewind(dst []byte, tables []tableEnd) []byte {
	dst = wire.AppendUvarint(dst, uint64(len(tables)))
	for _, t := range tables {
		dst = wire.AppendString(dst, t.table)
		dst = wire.AppendUvarint(dst, t.end)
	}
	return dst
}

func decodeRewind(b []byte) ([]tableEnd, error) {
	c := wire.NewCursor(b)
	tables := make([]tableEnd, 0, c.Count(maxTables, 2))
	for range cap(tables) {
		tables = append(tables, tableEnd{c.String(segment.MaxNameBytes), c.Uvarint()})
	}
	return tables, c.Close()
}
