package codec

import (
	"bytes"
	"fmt"
	"math"
)

// maxDataBytes is the most bytes of Values.
const maxDataBytes = math.MaxUint32

// Values is one column of one chunk: value i is Data[Ends[i-1]:Ends[i]], with 0
// for Ends[-1]. Data is shorter than 4 GiB. The zero value has no values.
type Values struct {
	Data []byte   // all values, one after another
	Ends []uint32 // ascending; the last one is len(Data)

	// Buf is storage in which a Join may build Data; else Data aliases a stream.
	// It belongs to the Values: never share it.
	Buf []byte
}

// Len returns the number of values.
func (v *Values) Len() int { return len(v.Ends) }

// At returns value i, which aliases Data; i is in 0..Len()-1.
func (v *Values) At(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = v.Ends[i-1]
	}
	end := v.Ends[i]
	return v.Data[start:end:end]
}

// Append adds a copy of value at the end. Not for Values that a Join filled:
// their Data may belong to a stream.
func (v *Values) Append(value []byte) {
	v.Data = append(v.Data, value...)
	v.Ends = append(v.Ends, uint32(len(v.Data)))
}

// Reset removes all values and keeps the storage that Append used. Not for
// Values that a Join filled, for the same reason.
func (v *Values) Reset() { v.Data, v.Ends = v.Data[:0], v.Ends[:0] }

// Equal reports whether both hold the same values.
func (v *Values) Equal(o *Values) bool {
	if len(v.Ends) != len(o.Ends) || !bytes.Equal(v.Data, o.Data) {
		return false
	}
	for i, end := range v.Ends {
		if o.Ends[i] != end {
			return false
		}
	}
	return true
}

// check reports Values that are none: ends that do not ascend to the end of Data.
func (v *Values) check() error {
	last := uint32(0)
	for i, end := range v.Ends {
		if end < last {
			return fmt.Errorf("end %d of value %d is before its start %d", end, i, last)
		}
		last = end
	}
	if uint64(last) != uint64(len(v.Data)) {
		return fmt.Errorf("values end at %d, data has %d bytes", last, len(v.Data))
	}
	return nil
}
