package wire

import "encoding/binary"

// AppendUvarint appends v in 1 to 10 bytes.
func AppendUvarint(dst []byte, v uint64) []byte { return binary.AppendUvarint(dst, v) }

// AppendUint16 appends v in 2 bytes, little-endian.
func AppendUint16(dst []byte, v uint16) []byte { return binary.LittleEndian.AppendUint16(dst, v) }

// AppendUint32 appends v in 4 bytes, little-endian.
func AppendUint32(dst []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(dst, v) }

// AppendUint64 appends v in 8 bytes, little-endian.
func AppendUint64(dst []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(dst, v) }

// AppendBytes appends the length of b as a uvarint, then b.
func AppendBytes(dst, b []byte) []byte {
	return append(AppendUvarint(dst, uint64(len(b))), b...)
}

// AppendString appends the length of s as a uvarint, then its bytes.
func AppendString(dst []byte, s string) []byte {
	return append(AppendUvarint(dst, uint64(len(s))), s...)
}
