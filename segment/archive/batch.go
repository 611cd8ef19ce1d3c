package archive

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A manifest is written as a whole. If it were for every segment, many small ones
// would cost more for manifests than for themselves: so new files wait until they
// have manifestShare times its bytes, or one has waited for maxWait. Until then the
// manifest names the old files, which are all there; a crash costs no more than the
// work on those that wait.
const (
	manifestShare = 16
	maxWait       = 10 * time.Second
)

// replacement is a segment whose new file has its name.
type replacement struct {
	old, next SegmentInfo
	took      time.Duration // to write and check it
}

// batch is replacements that the manifest does not name yet. Only the job whose
// turn it is has one.
type batch struct {
	a     *Archive
	wait  []replacement
	bytes int64 // of their new files
	since time.Time
	lost  map[string]bool // new files of which nothing came, because of an error
}

// add gives a draft that was verified the name of the segment next, which takes the
// place of old: at once, or soon.
func (b *batch) add(d *draft, r replacement) error {
	if err := b.publish(d, r.next); err != nil {
		b.a.recompressed(r, err)
		return err
	}
	if len(b.wait) == 0 {
		b.since = time.Now()
	}
	b.wait = append(b.wait, r)
	b.bytes += r.next.StoredBytes
	if b.bytes < b.a.share*b.a.state.Load().size && time.Since(b.since) < maxWait {
		return nil
	}
	return b.flush()
}

func (b *batch) publish(d *draft, next SegmentInfo) error {
	a := b.a
	a.change.Lock()
	defer a.change.Unlock()
	if err := a.failed.get(); err != nil {
		return errors.Join(err, d.discard())
	}
	return a.name(d, next.File)
}

// flush lets the manifest name what waits, and then the old files go. After an
// error nothing of it is named, and its files are in lost.
func (b *batch) flush() (err error) {
	if len(b.wait) == 0 {
		return nil
	}
	a, wait := b.a, b.wait
	b.wait, b.bytes = nil, 0
	defer func() {
		for _, r := range wait {
			a.recompressed(r, err)
		}
		if err == nil {
			return
		}
		if b.lost == nil {
			b.lost = map[string]bool{}
		}
		for _, r := range wait {
			b.lost[r.next.File] = true
		}
	}()
	a.change.Lock()
	defer a.change.Unlock()
	done, err := a.swapManifest(false, func(st *state, p *plan) error {
		stale := p.m.replace(wait)
		if stale != "" {
			return fmt.Errorf("%w: %s", ErrStale, stale)
		}
		return nil
	})
	if err != nil && !done {
		return errors.Join(err, a.removeNew(wait))
	}
	if err != nil {
		return err // the manifest on the disk may be either, now or after a crash: all files stay
	}
	for _, r := range wait {
		a.log.Info("segment replaced", "dir", a.dir, "file", r.next.File, "replaced", r.old.File, "stored_bytes", r.next.StoredBytes, "before", r.old.StoredBytes)
	}
	return nil
}

// removeNew removes files that no manifest has named.
func (a *Archive) removeNew(wait []replacement) (err error) {
	for _, r := range wait {
		err = errors.Join(err, a.withdraw(r.next.File))
	}
	return err
}

// replace puts other segments with the same rows in the place of segments; it returns
// the name of an old one that is not there any more. The manifest is a fresh copy.
func (m *manifest) replace(all []replacement) (stale string) {
	cloned := map[int]bool{}
	for _, r := range all {
		i := slices.IndexFunc(m.tables, func(t tableEntry) bool { return t.name == r.old.Table })
		if i < 0 {
			return r.old.File
		}
		t := &m.tables[i]
		k := t.find(r.old.FirstRow)
		if k < 0 || t.segments[k].File != r.old.File {
			return r.old.File
		}
		if !cloned[i] {
			t.segments, cloned[i] = slices.Clone(t.segments), true
		}
		t.segments[k] = r.next
	}
	return ""
}
