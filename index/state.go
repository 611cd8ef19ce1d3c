package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"
)

// State is what an index was built from. It is written in one batch with the
// entries that it speaks of, or after them: where it survives, they do.
type State struct {
	// Definition names the function from row to key, in the caller's words,
	// at most 64 KiB; an index of another definition is another index.
	Definition string
	// Rows [First, End) are covered: all their keys are found.
	First, End uint64
	// Anchor is the caller's own, for example the hash of the last row
	// covered, by which it sees that the rows are still the same ones.
	Anchor [32]byte
}

// Rows returns the number of rows covered.
func (st State) Rows() uint64 { return st.End - st.First }

const (
	formatVersion = 2 // of keys and values; part of the format
	stateBytes    = 60

	maxName       = 255
	maxDefinition = 64 << 10
)

// record is the value of an index in the catalogue, little-endian:
//
//	0:4 id   4:12 first row   12:20 end   20:52 anchor   52:60 lowest   60: definition
type record struct {
	id    uint32
	state State

	// lowest is the lowest row at which Lower ended the index since it was loaded,
	// noRow where it never did: rows before it have no entries but their own.
	lowest uint64
}

const noRow = math.MaxUint64

func (r record) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, r.id)
	dst = binary.LittleEndian.AppendUint64(dst, r.state.First)
	dst = binary.LittleEndian.AppendUint64(dst, r.state.End)
	dst = append(dst, r.state.Anchor[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, r.lowest)
	return append(dst, r.state.Definition...)
}

func parseRecord(b []byte) (r record, err error) {
	if len(b) < stateBytes {
		return r, damaged("record of %d bytes, expected %d or more", len(b), stateBytes)
	}
	r.id = binary.LittleEndian.Uint32(b)
	r.state.First = binary.LittleEndian.Uint64(b[4:])
	r.state.End = binary.LittleEndian.Uint64(b[12:])
	copy(r.state.Anchor[:], b[20:])
	r.lowest = binary.LittleEndian.Uint64(b[52:])
	r.state.Definition = string(b[stateBytes:])
	if r.id == 0 || r.id > maxID {
		return r, damaged("record with id %d", r.id)
	}
	if err := r.state.validate(); err != nil {
		return r, damage{err}
	}
	return r, nil
}

func (st State) validate() error {
	if st.First > st.End {
		return invalid("rows [%d, %d)", st.First, st.End)
	}
	if len(st.Definition) > maxDefinition {
		return invalid("definition of %d bytes, expected at most %d", len(st.Definition), maxDefinition)
	}
	return nil
}

func validName(name string) error {
	if len(name) == 0 || len(name) > maxName {
		return invalid("name of %d bytes, expected 1 to %d", len(name), maxName)
	}
	return nil
}

// catalogueKey returns the key of an index's record, or of the format.
func catalogueKey(kind byte, name string) []byte {
	return append(append(appendID(nil, 0), kind), name...)
}

// readCatalogue reads the format and all records.
func readCatalogue(db *pebble.DB) (catalogue map[string]record, err error) {
	it, err := db.NewIter(nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if !it.First() || string(it.Key()) != string(catalogueKey(catalogueFormat, "")) {
		if err := it.Error(); err != nil {
			return nil, err
		}
		return nil, damaged("a Pebble database, but not of this package")
	}
	switch version, n := binary.Uvarint(it.Value()); {
	case n <= 0 || n != len(it.Value()):
		return nil, damaged("format %x", it.Value())
	case version > formatVersion:
		return nil, fmt.Errorf("%w: %d, known to %d", ErrVersion, version, formatVersion)
	case version < formatVersion: // it is a cache: loading it anew is all that an upgrade could do
		return nil, damaged("format %d, from before %d", version, formatVersion)
	}
	catalogue = map[string]record{}
	ids := map[uint32]string{}
	for it.Next() && len(it.Key()) > idBytes && binary.BigEndian.Uint32(it.Key()) == 0 {
		if it.Key()[idBytes] != catalogueIndex {
			return nil, damaged("catalogue key %x", it.Key())
		}
		name := string(it.Key()[idBytes+1:])
		r, err := parseRecord(it.Value())
		if err != nil {
			return nil, err
		}
		if other, twice := ids[r.id]; twice {
			return nil, damaged("%q and %q have one id", other, name)
		}
		ids[r.id], catalogue[name] = name, r
	}
	return catalogue, it.Error()
}

// lowest returns that of an index that is there, or noRow.
func (s *Store) lowest(name string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.catalogue[name]; ok {
		return r.lowest
	}
	return noRow
}
