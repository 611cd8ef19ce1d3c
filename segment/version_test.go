package segment_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/segstore/segstore/segment"
)

// Files of a newer version, whole: with something that this version cannot know.
func newerFiles(t *testing.T) map[string][]byte {
	files := map[string][]byte{}
	change := func(name, from string, f func(r *refFile)) {
		r := reference(t, baseNamed(t, from).file)
		f(r)
		files[name] = r.build()
	}
	change("format version 2", "raw", func(r *refFile) { r.header.version, r.footer.version = 2, 2 })
	change("required features 0x10", "raw", func(r *refFile) { r.header.required, r.footer.required = 16, 16 })
	change("zstd level 1000", "one row", func(r *refFile) { r.setLayout("zstd:1", "zstd:1000") })
	change(`"lz4"`, "raw", func(r *refFile) { r.setLayout("raw", "lz4") })
	change(`encoding "plain/2"`, "raw", func(r *refFile) { r.setLayout("plain/1", "plain/2") })
	change("dictionary of kind(3)", "dictionaries", func(r *refFile) { r.setDictionary(0, 3, r.records[3].body[1:]) })
	change("dictionary of kind(9)", "dictionaries twice", func(r *refFile) { r.setDictionary(0, 9, r.records[3].body[1:]) })
	change("directory compressed with s2", "raw", func(r *refFile) {
		r.dir.codec = 1
		r.dir.policy += "# not the directory that was there\n"
		r.footer.id = r.identify()
	})
	return files
}

// setLayout replaces text in the layout, in front and directory.
func (f *refFile) setLayout(from, to string) {
	old, b := f.dir.layout, []byte(nil)
	prefixed := func(s string) []byte { return append(binary.AppendUvarint(nil, uint64(len(s))), s...) }
	b = bytes.ReplaceAll(old, prefixed(from), prefixed(to))
	f.dir.layout, f.records[2].body = b, b
	f.parseBody(&refReader{b: b}, 3)
}

// A newer file is not damaged, and says what it needs; also where its end is lost.
func TestNewerVersions(t *testing.T) {
	for name, b := range newerFiles(t) {
		t.Run(name, func(t *testing.T) {
			want := func(who string, err error) {
				t.Helper()
				if !errors.Is(err, segment.ErrVersion) || errors.Is(err, segment.ErrCorrupt) || !strings.Contains(err.Error(), name) {
					t.Errorf("%s: %v", who, err)
				}
			}
			_, err := segment.NewReader(bytes.NewReader(b), int64(len(b)), segment.ReaderOptions{Name: "x.seg"})
			want("open", err)
			for _, d := range []segment.Depth{segment.Structure, segment.Checksums, segment.Content} {
				for f, err := range segment.Verify(context.Background(), bytes.NewReader(b), int64(len(b)), segment.VerifyOptions{Depth: d, Name: "x.seg"}) {
					if err == nil {
						t.Errorf("flaw %v", &f)
						continue
					}
					want("verify", err)
				}
			}
			_, err = segment.Recover(bytes.NewReader(b), int64(len(b)), segment.RecoverOptions{})
			want("recover", err)
			if strings.HasPrefix(name, "directory") || strings.HasPrefix(name, "dictionary") {
				return // a cut file has no directory; a damaged one may have lost the dictionary too
			}
			cut := b[:len(b)-1]
			_, err = segment.Recover(bytes.NewReader(cut), int64(len(cut)), segment.RecoverOptions{})
			want("recover a cut file", err)
			exercise(t, b)
			exercise(t, cut)
		})
	}
}

// Ignorable features are ignored.
func TestIgnorableFeatures(t *testing.T) {
	base := baseNamed(t, "s2")
	f := reference(t, base.file)
	f.header.ignorable, f.footer.ignorable = 0xffffffff, 0xffffffff
	b := f.build()
	wantWhole(t, b)
	wantRows(t, open(t, b, segment.ReaderOptions{}), base.rows)
	exercise(t, b)
}

// A damaged version is damage, in each byte of header and footer.
func TestDamageIsNotVersion(t *testing.T) {
	whole := baseNamed(t, "raw").file
	for i := range whole {
		if i >= 64 && i < len(whole)-128 {
			continue
		}
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[i] ^= 1 << bit
			for _, err := range segment.Verify(context.Background(), bytes.NewReader(b), int64(len(b)), segment.VerifyOptions{}) {
				if err != nil {
					t.Fatalf("byte %d, bit %d: %v", i, bit, err)
				}
			}
		}
	}
}

// What a file says twice must be said alike: a part that was put in from another
// file, whole by itself, is found.
func TestPartsThatDisagree(t *testing.T) {
	for name, c := range map[string]struct {
		section segment.Section
		change  func(f *refFile) []byte
	}{
		"table": {segment.SectionTable, func(f *refFile) []byte {
			f.records[0].body = []byte("other")
			return f.build()
		}},
		"schema": {segment.SectionSchema, func(f *refFile) []byte {
			f.records[1].body = bytes.Replace(f.records[1].body, []byte("number"), []byte("NUMBER"), 1)
			return f.build()
		}},
		"schema, valid": {segment.SectionSchema, func(f *refFile) []byte {
			f.records[1].body = bytes.Replace(f.records[1].body, []byte("number"), []byte("height"), 1)
			return f.build()
		}},
		"layout": {segment.SectionLayout, func(f *refFile) []byte {
			f.records[2].body = bytes.Replace(f.records[2].body, []byte("uint/1"), []byte("uint/2"), 1)
			return f.build()
		}},
		"layout of one codec more": {segment.SectionLayout, func(f *refFile) []byte {
			f.records[2].body = bytes.Replace(f.records[2].body, []byte("\x02s2"), []byte("\x02s3"), 1)
			return f.build()
		}},
		"header, first row": {segment.SectionHeader, func(f *refFile) []byte {
			b := f.build()
			h := fit(b[:56], 56)
			h[40]++
			copy(b, stamp(h))
			return b
		}},
		"header, ID": {segment.SectionHeader, func(f *refFile) []byte {
			b := f.build()
			h := fit(b[:56], 56)
			h[30]++
			copy(b, stamp(h))
			return b
		}},
		"header, ignorable features": {segment.SectionHeader, func(f *refFile) []byte {
			f.footer.ignorable = 1
			return f.build()
		}},
		"policy": {segment.SectionFooter, func(f *refFile) []byte {
			f.dir.policy = "chunk 1024\n* group=column codec=raw\n"
			return f.build()
		}},
		"ID": {segment.SectionFooter, func(f *refFile) []byte {
			f.footer.id[0]++
			return f.build()
		}},
		"content root": {segment.SectionDirectory, func(f *refFile) []byte {
			f.footer.root[0]++
			return f.build()
		}},
		"node of a run": {segment.SectionDirectory, func(f *refFile) []byte {
			f.dir.runs[0] = bytes.Repeat([]byte{7}, 32)
			f.footer.root = rootOfNodes(f.dir.runs)
			return f.build()
		}},
		"bytes of values": {segment.SectionDirectory, func(f *refFile) []byte {
			f.dir.stats[2][0]++
			return f.build()
		}},
		"frame, rows": {segment.SectionFrame, func(f *refFile) []byte {
			b := f.build()
			i := bytes.Index(b, []byte("CHNK"))
			b[i+5]++
			return b
		}},
		"blocks changed places": {segment.SectionBlock, func(f *refFile) []byte {
			b := f.chunks[0].blocks // each whole, with the sum of its own place
			b[2], b[3] = b[3], b[2]
			return f.build()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := reference(t, baseNamed(t, "s2").file)
			b := c.change(f)
			wantFlaw(t, b, c.section, "")
			exercise(t, b)
		})
	}
}
