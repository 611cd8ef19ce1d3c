package archive_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// A large batch leaves no more memory behind than a small one may: 4 MiB of frames.
func TestBatchMemory(t *testing.T) {
	_, a := notesArchive(t, s2Policy)
	defer mustClose(t, a)
	rng := rand.NewChaCha8([32]byte{1})
	for _, c := range []struct{ rows, bytes int }{{300, 33 << 10}, {80, 900 << 10}, {1, 8 << 20}, {5, 10}} {
		b := a.Batch()
		var last segment.Row
		for range c.rows {
			value := make([]byte, c.bytes)
			_, _ = rng.Read(value) // never fails
			last = segment.Row{value}
			must(t, b.Append("notes", last))
		}
		end, err := b.Commit(context.Background())
		must(t, err)
		if n := archive.KeptBytes(a); n > 4<<20 {
			t.Errorf("%d bytes are kept after %d rows of %d", n, c.rows, c.bytes)
		}
		notes, err := a.Table("notes")
		must(t, err)
		if row, err := notes.Row(nil, end["notes"]-1); err != nil || !bytes.Equal(row[0], last[0]) {
			t.Errorf("the last of %d rows of %d bytes: %v", c.rows, c.bytes, err)
		}
	}
}
