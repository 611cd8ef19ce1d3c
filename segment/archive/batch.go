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
type replacement struct{ old, next SegmentInfo }

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
func (b *batch) add(d *draft, old, next SegmentInfo) error {
	if err := b.publish(d, next); err != nil {
		return err
	}
	if len(b.wait) == 0 {
		b.since = time.Now()
	}
	b.wait = append(b.wait, replacement{old, next})
	b.bytes += next.StoredBytes
	if b.bytes < b.a.share*b.a.state.Load().size && time.Since(b.since) < maxWait {
		return nil
	}
	return b.flush()
}

func (b *batch) publish(d *draft, next SegmentInfo) error {
	a := b.a
	a.change.Lock()
	defer a.change.Unlock()
	if a.broken != nil {
		return errors.Join(a.broken, d.discard())
	}
	err := a.files.publish(d, next.File)
	if err != nil {
		_ = d.fs.Remove(d.path) // one of the two names is there; nobody knows it
		_ = d.fs.Remove(a.path(next.File))
	}
	return err
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
	if a.broken != nil {
		return errors.Join(a.broken, a.removeNew(wait))
	}
	st := a.state.Load()
	m, stale := st.m.replace(wait)
	if stale != "" {
		return errors.Join(fmt.Errorf("%w: %s", ErrStale, stale), a.removeNew(wait))
	}
	size, done, err := writeManifest(a.fs, a.dir, m)
	if err != nil && !done {
		return errors.Join(err, a.removeNew(wait))
	}
	if err != nil {
		// The manifest on the disk may be either, now or after a crash: all files stay,
		// and nothing is changed any more until it has been read again.
		a.broken = fmt.Errorf("archive: %s: closed for changes, until it is opened anew, after: %w", a.dir, err)
		return err
	}
	a.state.Store(newState(m, size, st))
	for _, r := range wait {
		t := &st.tables[st.number[r.old.Table]]
		a.files.retire(t.handles[t.find(r.old.FirstRow)])
		a.log.Info("segment replaced", "dir", a.dir, "file", r.next.File, "replaced", r.old.File, "stored_bytes", r.next.StoredBytes, "before", r.old.StoredBytes)
	}
	return nil
}

// removeNew removes files that no manifest has named.
func (a *Archive) removeNew(wait []replacement) (err error) {
	for _, r := range wait {
		err = errors.Join(err, ioError("removing", r.next.File, a.fs.Remove(a.path(r.next.File))))
	}
	return err
}

// replace returns a manifest in which segments are other ones that hold the same
// rows; or the name of an old one that is not there any more.
func (m *manifest) replace(all []replacement) (_ *manifest, stale string) {
	next := &manifest{chainID: m.chainID, tables: slices.Clone(m.tables)}
	cloned := map[int]bool{}
	for _, r := range all {
		i := slices.IndexFunc(next.tables, func(t tableEntry) bool { return t.name == r.old.Table })
		if i < 0 {
			return nil, r.old.File
		}
		t := &next.tables[i]
		k := t.find(r.old.FirstRow)
		if k < 0 || t.segments[k].File != r.old.File {
			return nil, r.old.File
		}
		if !cloned[i] {
			t.segments, cloned[i] = slices.Clone(t.segments), true
		}
		t.segments[k] = r.next
	}
	return next, ""
}
