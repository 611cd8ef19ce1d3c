package codec

import "fmt"

// Encoding turns the values of one column of one chunk into streams of bytes
// and back. An Encoding keeps no state: it is safe for concurrent use.
type Encoding interface {
	// Name is the name with its version, as a segment records it: "plain/1".
	// A name never changes its meaning.
	Name() string

	// Streams returns the names of the streams, in order.
	Streams() []string

	// Split appends stream i to streams[i][:0] and returns the streams, as many as
	// Streams names; streams may be nil or shorter. Values that the encoding
	// cannot hold are an error. Join gives the same values back.
	Split(streams [][]byte, v *Values) ([][]byte, error)

	// Join rebuilds the values of rows rows, at least one. It reuses v.Ends and
	// v.Buf and sets v.Data, which may alias a stream: it is valid as long as both
	// the streams and v are. Streams may be hostile: what no Split wrote is an
	// error that wraps ErrCorrupt, in time and memory bounded by the streams and
	// rows.
	Join(v *Values, streams [][]byte, rows int) error
}

// Encodings returns the encodings of this package.
func Encodings() []Encoding { return []Encoding{plain{}, fixed{}, uints{}} }

// Plain returns plain/1, for values of any length: one stream of lengths, one of
// the values.
func Plain() Encoding { return plain{} }

// Fixed returns fixed/1, for values of one length: one stream, the values.
func Fixed() Encoding { return fixed{} }

// Uint returns uint/1, for values of 8 bytes that are numbers, little-endian:
// one stream, of differences packed into as few bits as they need.
func Uint() Encoding { return uints{} }

// MaxRows is the most values Join accepts: rows come from a file.
const MaxRows = 1 << 24

// resize returns streams with n elements, each empty, storage kept.
func resize(streams [][]byte, n int) [][]byte {
	for len(streams) < n {
		streams = append(streams, nil)
	}
	streams = streams[:n]
	for i := range streams {
		streams[i] = streams[i][:0]
	}
	return streams
}

// checkJoin checks what every Join of this package needs.
func checkJoin(name string, streams [][]byte, want, rows int) error {
	if len(streams) != want {
		return fmt.Errorf("%w: %s: %d streams, expected %d", ErrCorrupt, name, len(streams), want)
	}
	if rows < 1 || rows > MaxRows {
		return fmt.Errorf("%w: %s: %d rows not in 1..%d", ErrCorrupt, name, rows, MaxRows)
	}
	return nil
}
