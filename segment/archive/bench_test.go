package archive_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// BenchmarkRow reads a row of a cached chunk, through the archive and from the
// segment's own reader: the difference is what finding and holding the file costs.
func BenchmarkRow(b *testing.B) {
	fs := vfs.NewMem()
	tables := testTables(b, 2000, zstdPolicy)
	mustBuild(b, fs, "/chain", archive.CreateOptions{SegmentBytes: 40 << 10}, tables)
	a := mustOpen(b, fs, "/chain", archive.Options{ReadOnly: true})
	defer mustClose(b, a)
	blocks, err := a.Table("blocks")
	if err != nil {
		b.Fatal(err)
	}
	reader, release, err := a.OpenSegment("blocks", 0)
	if err != nil {
		b.Fatal(err)
	}
	defer release()
	n := reader.EndRow() - reader.FirstRow()
	for name, read := range map[string]func(segment.Row, uint64) (segment.Row, error){"archive": blocks.Row, "segment": reader.Row} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var row segment.Row
			for i := uint64(0); b.Loop(); i++ {
				if row, err = read(row, 100+i%n); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				var row segment.Row
				var err error
				for i := uint64(0); pb.Next(); i++ {
					if row, err = read(row, 100+i%n); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
