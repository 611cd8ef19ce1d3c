package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/segstore/segstore/codec"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/merkle"
)

// The manifest is JSON that people can read and tools can compare line by line:
// a segment is one line. It begins with manifestHead and the version, and ends
// with two lines that no version changes:
//
//	  "checksum": "<16 hex digits>"
//	}
//
// The checksum is the xxh64 of everything before them: it is what
// `head -n -2 MANIFEST.json | xxhsum -H1` prints.
const (
	manifestHead = "{\n  \"format\": \"segstore archive\",\n  \"version\": "
	manifestSum  = "  \"checksum\": \""
	manifestEnd  = "\"\n}\n"
	manifestTail = len(manifestSum) + 16 + len(manifestEnd)

	maxManifestBytes = 64 << 20 // about 200,000 segments
	maxTables        = 1024
	maxChainID       = 256     // bytes
	maxSegmentBytes  = 1 << 56 // of a file, and of its values
)

// manifest is the contents of MANIFEST.json. It is never changed once others see it.
type manifest struct {
	chainID string
	log     logRef
	dropped []droppedFile // files of rows that were rewound, until they are removed
	tables  []tableEntry
}

// indexEntry is an index of a table.
type indexEntry struct {
	Name string `json:"index"`
	Key  string `json:"key"` // text of a codec.KeyDefinition
}

func (e indexEntry) spec(table string) IndexSpec {
	k, _ := codec.ParseKeyDefinition(e.Key) // validated with the manifest
	return IndexSpec{Name: e.Name, Table: table, Key: k}
}

// droppedFile is a file that is to be removed.
type droppedFile struct {
	File string `json:"file"` // path from the archive's directory, with slashes
}

// logRef says which logs follow a manifest.
type logRef struct {
	First    uint64 `json:"first"`    // number of the first log that counts; 0 where there never was one
	Sequence uint64 `json:"sequence"` // of the first record that the manifest does not know of
	Open     bool   `json:"open"`     // whether the first log was there
}

// tableEntry is a table and its segments, which follow each other without gaps.
type tableEntry struct {
	name     string
	schema   segment.Schema
	firstRow uint64
	policy   string // canonical text
	indexes  []indexEntry
	rewinds  uint64 // how often it was rewound, up to what the manifest knows of
	logEnd   uint64 // one past the last row in logs that the manifest knows of; 0 where there are none
	segments []SegmentInfo
}

// sealedEnd returns one past the last row in segments.
func (t *tableEntry) sealedEnd() uint64 {
	if n := len(t.segments); n > 0 {
		return t.segments[n-1].EndRow()
	}
	return t.firstRow
}

// reserved says whether a table of this name would take the place of something
// else in the directory.
func reserved(name string) bool { return name == "index" }

// fileName returns the name that a segment has in an archive.
func fileName(table string, first, rows uint64, sum segment.Checksum) string {
	return fmt.Sprintf("%s/%010d-%010d-%s.seg", table, first, first+rows-1, sum)
}

type tableJSON struct {
	Table    string         `json:"table"`
	Schema   segment.Schema `json:"schema"`
	FirstRow uint64         `json:"first_row"`
	Policy   string         `json:"policy"`
	Indexes  []indexEntry   `json:"indexes,omitempty"`
	Rewinds  uint64         `json:"rewinds,omitempty"`
	LogEnd   uint64         `json:"log_end,omitempty"`
	Segments []segmentJSON  `json:"segments"`
}

type segmentJSON struct {
	FirstRow    uint64           `json:"first_row"`
	Rows        uint64           `json:"rows"`
	File        string           `json:"file"`
	RawBytes    uint64           `json:"raw_bytes"`
	StoredBytes int64            `json:"stored_bytes"`
	Checksum    segment.Checksum `json:"checksum"`
	ContentRoot merkle.Hash      `json:"content_root"`
	ID          segment.ID       `json:"id"`
	Replaced    []Replaced       `json:"replaced,omitempty"`
}

// encode returns the bytes of the file.
func (m *manifest) encode() ([]byte, error) {
	b := []byte(manifestHead)
	b = strconv.AppendInt(b, Version, 10)
	var err error
	add := func(before string, v any) {
		j, e := json.Marshal(v)
		err = errors.Join(err, e)
		b = append(append(b, before...), j...)
	}
	if m.chainID != "" {
		add(",\n  \"chain_id\": ", m.chainID)
	}
	if m.log != (logRef{}) {
		add(",\n  \"log\": ", m.log)
	}
	if len(m.dropped) > 0 {
		add(",\n  \"dropped\": ", m.dropped)
	}
	b = append(b, ",\n  \"tables\": ["...)
	for i, t := range m.tables {
		if i > 0 {
			b = append(b, ',')
		}
		add("\n    {\n      \"table\": ", t.name)
		add(",\n      \"schema\": ", t.schema)
		add(",\n      \"first_row\": ", t.firstRow)
		add(",\n      \"policy\": ", t.policy)
		if len(t.indexes) > 0 {
			add(",\n      \"indexes\": ", t.indexes)
		}
		if t.rewinds != 0 {
			add(",\n      \"rewinds\": ", t.rewinds)
		}
		if t.logEnd != 0 {
			add(",\n      \"log_end\": ", t.logEnd)
		}
		b = append(b, ",\n      \"segments\": ["...)
		for k, s := range t.segments {
			if k > 0 {
				b = append(b, ',')
			}
			add("\n        ", segmentJSON{s.FirstRow, s.Rows, s.File, s.RawBytes, s.StoredBytes, s.Checksum, s.ContentRoot, s.ID, s.Replaced})
		}
		b = closed(b, len(t.segments), "\n      ]")
		b = append(b, "\n    }"...)
	}
	b = append(closed(b, len(m.tables), "\n  ]"), ",\n"...)
	sum := segment.Checksum(xxhash.Sum64(b))
	b = append(append(append(b, manifestSum...), sum.String()...), manifestEnd...)
	if err == nil && len(b) > maxManifestBytes {
		err = fmt.Errorf("archive: manifest of %d bytes, at most %d", len(b), maxManifestBytes)
	}
	return b, err
}

// closed ends a list of n elements: on a line of its own, unless it is empty.
func closed(b []byte, n int, end string) []byte {
	if n == 0 {
		end = "]"
	}
	return append(b, end...)
}

// decodeManifest reads what encode returns. The checksum comes first: where it
// does not hold nothing else is believed. An error is damage, or ErrVersion.
func decodeManifest(b []byte) (*manifest, error) {
	if err := checkManifestSum(b); err != nil {
		return nil, err
	}
	rest, ok := bytes.CutPrefix(b, []byte(manifestHead))
	digits := len(rest) - len(bytes.TrimLeft(rest, "0123456789"))
	version, err := strconv.ParseUint(string(rest[:digits]), 10, 32)
	switch {
	case !ok || err != nil:
		return nil, errors.New("not the manifest of an archive: no format and version at the start")
	case version != Version:
		return nil, fmt.Errorf("%w: manifest version %d, this one reads %d", ErrVersion, version, Version)
	}
	var j struct {
		Format   string        `json:"format"`
		Version  int           `json:"version"`
		ChainID  string        `json:"chain_id"`
		Log      logRef        `json:"log"`
		Dropped  []droppedFile `json:"dropped"`
		Tables   []tableJSON   `json:"tables"`
		Checksum string        `json:"checksum"`
	}
	if err := checkMembers(b, manifestShape()); err != nil { // what is not understood would be lost when the manifest is written again
		return nil, err
	}
	if err := json.Unmarshal(b, &j); err != nil {
		return nil, err
	}
	m := &manifest{chainID: j.ChainID, log: j.Log, dropped: j.Dropped, tables: make([]tableEntry, 0, len(j.Tables))}
	for _, t := range j.Tables {
		e := tableEntry{name: t.Table, schema: t.Schema, firstRow: t.FirstRow, policy: t.Policy, indexes: t.Indexes, rewinds: t.Rewinds, logEnd: t.LogEnd, segments: make([]SegmentInfo, len(t.Segments))}
		for i, s := range t.Segments {
			e.segments[i] = SegmentInfo{
				Table: t.Table, FirstRow: s.FirstRow, Rows: s.Rows, File: s.File, RawBytes: s.RawBytes, StoredBytes: s.StoredBytes,
				Checksum: s.Checksum, ContentRoot: s.ContentRoot, ID: s.ID, Replaced: s.Replaced, schema: t.Schema,
			}
		}
		m.tables = append(m.tables, e)
	}
	return m, m.validate()
}

func checkManifestSum(b []byte) error {
	if len(b) < manifestTail {
		return fmt.Errorf("%d bytes: cut off, or not a manifest", len(b))
	}
	body, tail := b[:len(b)-manifestTail], string(b[len(b)-manifestTail:])
	digits, ok := strings.CutPrefix(tail, manifestSum)
	if ok {
		digits, ok = strings.CutSuffix(digits, manifestEnd)
	}
	if !ok {
		return errors.New("no checksum at the end: cut off, or changed by hand")
	}
	if got := segment.Checksum(xxhash.Sum64(body)).String(); got != digits {
		return fmt.Errorf("checksum of the bytes is %s, recorded is %q", got, digits)
	}
	return nil
}

// validate checks everything that the code relies on: names that are safe as
// names of files, and rows without gaps.
func (m *manifest) validate() error {
	if len(m.tables) > maxTables {
		return fmt.Errorf("%d tables, at most %d", len(m.tables), maxTables)
	}
	if len(m.chainID) > maxChainID {
		return fmt.Errorf("chain id of %d bytes, at most %d", len(m.chainID), maxChainID)
	}
	seen, indexed := make(map[string]bool, len(m.tables)), map[string]bool{}
	for i := range m.tables {
		t := &m.tables[i]
		if err := t.validate(); err != nil {
			return fmt.Errorf("table %d, %.*q: %w", i, segment.MaxNameBytes, t.name, err)
		}
		if seen[t.name] {
			return fmt.Errorf("table %q twice", t.name)
		}
		seen[t.name] = true
		for _, e := range t.indexes {
			if indexed[e.Name] {
				return fmt.Errorf("index %q twice", e.Name)
			}
			indexed[e.Name] = true
		}
	}
	for _, d := range m.dropped {
		if table, name, ok := strings.Cut(d.File, "/"); !ok || !seen[table] || !segmentName.MatchString(name) {
			return fmt.Errorf("dropped file %.*q is no segment of a table", segment.MaxNameBytes+80, d.File)
		}
	}
	return nil
}

func (t *tableEntry) validate() error {
	if err := segment.ValidateName(t.name); err != nil {
		return err
	}
	if reserved(t.name) {
		return fmt.Errorf("the name is reserved")
	}
	if err := t.schema.Validate(); err != nil {
		return err
	}
	if p, err := codec.ParsePolicy(t.policy); err != nil {
		return fmt.Errorf("%w: %w", ErrVersion, err)
	} else if p.String() != t.policy {
		return errors.New("the text of the policy is not canonical")
	}
	for _, e := range t.indexes {
		if err := segment.ValidateName(e.Name); err != nil {
			return fmt.Errorf("index: %w", err)
		}
		k, err := codec.ParseKeyDefinition(e.Key)
		if err != nil {
			return fmt.Errorf("%w: index %q: %w", ErrVersion, e.Name, err)
		}
		if t.schema.Index(k.Column) < 0 || k.String() != e.Key {
			return fmt.Errorf("index %q: key %q", e.Name, e.Key)
		}
	}
	next := t.firstRow
	for i := range t.segments {
		s := &t.segments[i]
		switch {
		case s.FirstRow != next:
			return fmt.Errorf("segment %d begins with row %d, expected %d", i, s.FirstRow, next)
		case s.Rows == 0 || s.EndRow() < s.FirstRow:
			return fmt.Errorf("segment %d: %d rows from %d", i, s.Rows, s.FirstRow)
		case s.StoredBytes < 1 || s.StoredBytes > maxSegmentBytes || s.RawBytes > maxSegmentBytes:
			return fmt.Errorf("segment %d: %d raw bytes in %d stored", i, s.RawBytes, s.StoredBytes)
		case s.File != fileName(t.name, s.FirstRow, s.Rows, s.Checksum):
			return fmt.Errorf("segment %d: file %q, expected %q", i, s.File, fileName(t.name, s.FirstRow, s.Rows, s.Checksum))
		case len(s.Replaced) > MaxReplaced:
			return fmt.Errorf("segment %d: %d replaced checksums, at most %d", i, len(s.Replaced), MaxReplaced)
		}
		next = s.EndRow()
	}
	if t.logEnd != 0 && t.logEnd < next {
		return fmt.Errorf("log_end is %d, segments end at row %d", t.logEnd, next)
	}
	return nil
}

// find returns the number of the segment that holds row, or -1.
func (t *tableEntry) find(row uint64) int {
	i, ok := slices.BinarySearchFunc(t.segments, row, func(s SegmentInfo, row uint64) int {
		switch {
		case s.FirstRow > row:
			return 1
		case s.EndRow() <= row:
			return -1
		}
		return 0
	})
	if !ok {
		return -1
	}
	return i
}

// info sums up the segments.
func (t *tableEntry) info() TableInfo {
	i := TableInfo{Table: t.name, Schema: t.schema, FirstRow: t.firstRow, Rows: t.sealedEnd() - t.firstRow, Segments: len(t.segments), Policy: t.policy}
	for k := range t.segments {
		i.RawBytes += t.segments[k].RawBytes
		i.StoredBytes += t.segments[k].StoredBytes
	}
	return i
}

// info sums up the tables; ManifestBytes is left out.
func (m *manifest) info() Info {
	i := Info{Version: Version, ChainID: m.chainID, Tables: make([]TableInfo, 0, len(m.tables))}
	for k := range m.tables {
		t := m.tables[k].info()
		i.Segments += t.Segments
		i.Rows += t.Rows
		i.RawBytes += t.RawBytes
		i.StoredBytes += t.StoredBytes
		i.Tables = append(i.Tables, t)
	}
	return i
}

// describe returns what the manifest says of a segment that was written.
func describe(i segment.Info) SegmentInfo {
	return SegmentInfo{
		Table: i.Table, FirstRow: i.FirstRow, Rows: i.Rows, File: fileName(i.Table, i.FirstRow, i.Rows, i.Checksum),
		RawBytes: i.RawBytes, StoredBytes: i.StoredBytes, Checksum: i.Checksum, ContentRoot: i.ContentRoot, ID: i.ID, schema: i.Schema,
	}
}
