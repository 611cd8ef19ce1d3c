package segment

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/segstore/segstore/codec"
)

// Cache keeps decoded chunks of any number of readers, the least recently used of
// which go when it holds too many bytes. It is safe for concurrent use. A nil
// *Cache keeps nothing.
type Cache struct {
	last   atomic.Uint64
	shards [cacheShards]cacheShard
	limit  int64 // bytes a shard
}

const (
	cacheShards  = 16
	maxCacheKeys = 1 << 30 // entries are bounded by bytes, never by their number
	entryBytes   = 200     // what an entry costs beside its values
)

type cacheKey struct {
	reader uint64
	chunk  int
}

type cacheShard struct {
	mu     sync.Mutex
	lru    *simplelru.LRU[cacheKey, *cacheEntry]
	bytes  int64
	hits   uint64
	misses uint64
	_      [24]byte // shards on lines of their own
}

// cacheEntry is one chunk: the columns that somebody has asked for. Values in it
// never change.
type cacheEntry struct {
	columns []atomic.Pointer[codec.Values]
	bytes   int64 // under the shard's lock
}

// CacheStats are counters of a Cache.
type CacheStats struct {
	Bytes  int64  `json:"bytes"` // held now
	Chunks int    `json:"chunks"`
	Hits   uint64 `json:"hits"`
	Misses uint64 `json:"misses"`
}

// NewCache returns a cache of at most about so many bytes; nil, which keeps
// nothing, where bytes is not positive. A chunk larger than a sixteenth of it is
// not kept.
func NewCache(bytes int64) *Cache {
	if bytes <= 0 {
		return nil
	}
	c := &Cache{limit: max(bytes/cacheShards, 1)}
	for i := range c.shards {
		s := &c.shards[i]
		s.lru, _ = simplelru.NewLRU(maxCacheKeys, func(_ cacheKey, e *cacheEntry) { s.bytes -= e.bytes }) // fails for sizes < 1 only
	}
	return c
}

// Key returns a number, not 0, that no other call has returned: ReaderOptions.CacheKey
// for a segment that is opened again and again.
func (c *Cache) Key() uint64 {
	if c == nil {
		return 1
	}
	return c.last.Add(1)
}

func (c *Cache) shard(k cacheKey) *cacheShard {
	h := (k.reader*0x9e3779b97f4a7c15 ^ uint64(k.chunk)) * 0x9e3779b97f4a7c15
	return &c.shards[h>>60]
}

// get returns the entry of a chunk, or nil.
func (c *Cache) get(k cacheKey) *cacheEntry {
	s := c.shard(k)
	s.mu.Lock()
	e, ok := s.lru.Get(k)
	if ok {
		s.hits++
	} else {
		s.misses++
	}
	s.mu.Unlock()
	return e
}

// put adds columns, by number, to a chunk of so many columns. The cache owns the
// values from then on.
func (c *Cache) put(k cacheKey, columns int, add map[int]*codec.Values) {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.lru.Get(k)
	if !ok {
		e = &cacheEntry{columns: make([]atomic.Pointer[codec.Values], columns), bytes: entryBytes + int64(columns)*8}
	}
	before := e.bytes
	for i, v := range add {
		if e.columns[i].CompareAndSwap(nil, v) {
			e.bytes += int64(cap(v.Data)) + int64(cap(v.Ends))*int64(unsafe.Sizeof(v.Ends[0])) + int64(unsafe.Sizeof(*v))
		}
	}
	switch {
	case e.bytes > c.limit:
		e.bytes = before // what the entry was counted as, when it goes
		if ok {
			s.lru.Remove(k)
		}
		return
	case ok:
		s.bytes += e.bytes - before
	default:
		s.bytes += e.bytes
		s.lru.Add(k, e)
	}
	for s.bytes > c.limit {
		s.lru.RemoveOldest()
	}
}

// Stats returns the counters.
func (c *Cache) Stats() (st CacheStats) {
	if c == nil {
		return st
	}
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		st.Bytes += s.bytes
		st.Chunks += s.lru.Len()
		st.Hits += s.hits
		st.Misses += s.misses
		s.mu.Unlock()
	}
	return st
}
