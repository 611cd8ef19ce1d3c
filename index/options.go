package index

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options are how to open a store; the zero value is ready.
type Options struct {
	// ReadOnly opens what is there and writes nothing, not even a lock, so
	// that a read-only mount will do. A directory that a writer has open
	// changes underneath: give its Checkpoint instead.
	ReadOnly bool
	// CacheBytes is for blocks of tables, read and checked. Default 32 MiB.
	CacheBytes int64
	// MemTableBytes is for new entries until they are written into a table;
	// up to two of them are held. Default 8 MiB, at least 1 MiB.
	MemTableBytes int
	// OpenFiles is how many tables are kept open. Default 256.
	OpenFiles int
	// Logger gets what Pebble has to say, its information at debug level.
	// Default none.
	Logger *slog.Logger
}

const (
	// pebbleFormat is the newest that the module required knows; a later one
	// would keep older programs from opening the database.
	pebbleFormat = pebble.FormatValueSeparation

	// blockBytes is of data and index blocks. Entries are hashes: no codec
	// finds anything that the blocks' own prefixes leave, and a block of
	// 32 KiB costs the least a key with offsets of 16 bits.
	blockBytes = 32 << 10

	minMemTable = 1 << 20
)

func (o Options) withDefaults() Options {
	o.CacheBytes = cmp.Or(o.CacheBytes, 32<<20)
	o.MemTableBytes = cmp.Or(o.MemTableBytes, 8<<20)
	o.OpenFiles = cmp.Or(o.OpenFiles, 256)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

func (o Options) validate() error {
	switch {
	case o.CacheBytes < 0:
		return invalid("CacheBytes %d", o.CacheBytes)
	case o.MemTableBytes < minMemTable || o.MemTableBytes > 1<<30:
		return invalid("MemTableBytes %d, expected %d to %d", o.MemTableBytes, minMemTable, 1<<30)
	case o.OpenFiles < 1:
		return invalid("OpenFiles %d", o.OpenFiles)
	}
	return nil
}

// pebbleOptions are also what tables of a load are written with.
func (s *Store) pebbleOptions(fs vfs.FS) *pebble.Options {
	o := &pebble.Options{
		FS:                    fs,
		ReadOnly:              s.options.ReadOnly,
		CacheSize:             s.options.CacheBytes,
		MemTableSize:          uint64(s.options.MemTableBytes),
		MaxOpenFiles:          s.options.OpenFiles + 10, // what Pebble keeps for itself
		FormatMajorVersion:    pebbleFormat,
		Logger:                pebbleLogger{s},
		FlushDelayDeleteRange: time.Second, // until the space of what was replaced is looked after
		L0CompactionThreshold: 2,
		L0StopWritesThreshold: 1 << 20, // a commit would wait without end for a compaction that fails
		EventListener: &pebble.EventListener{
			BackgroundError: s.fail,
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				s.options.Logger.Error("index: damaged file", "dir", s.dir, "path", info.Path, "error", info.Details)
			},
			CompactionEnd: func(pebble.CompactionInfo) { s.renew() },
			FlushEnd:      func(pebble.FlushInfo) { s.renew() },
		},
	}
	o.Experimental.CompactionScheduler = s.merges
	for i := range o.Levels {
		o.Levels[i] = pebble.LevelOptions{
			BlockSize:      blockBytes,
			IndexBlockSize: blockBytes,
			Compression:    func() *block.CompressionProfile { return block.NoCompression },
		}
	}
	return o
}

// pebbleLogger passes Pebble's log on. Fatalf comes where Pebble does not know
// what of a write is on the disk: it then counts on the process to end. It
// returns here, and the store writes nothing any more.
type pebbleLogger struct{ s *Store }

func (l pebbleLogger) Infof(format string, args ...any) {
	l.s.options.Logger.Debug("index: pebble: "+fmt.Sprintf(format, args...), "dir", l.s.dir)
}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.s.options.Logger.Error("index: pebble: "+fmt.Sprintf(format, args...), "dir", l.s.dir)
}

func (l pebbleLogger) Fatalf(format string, args ...any) {
	err := fmt.Errorf("pebble: "+format, args...)
	for _, arg := range args {
		if cause, ok := arg.(error); ok {
			err = cause
		}
	}
	l.s.fail(err)
}
