package codec

// A block is kept raw unless compressing saves at least the larger of both:
// decoding costs time, and a frame its own bytes.
const (
	MinGainBytes   = 8
	MinGainPercent = 2 // of the raw bytes
)

// EncodeBlock appends the stored form of a block to dst: what c, the codec that
// id names, makes of raw, or raw itself (used is then Raw) where that does not
// shrink it by MinGainBytes and MinGainPercent. c may be nil when id is Raw. On
// error out is dst as it was.
func EncodeBlock(c Codec, id ID, dst, raw []byte) (out []byte, used ID, err error) {
	if id == Raw {
		return append(dst, raw...), Raw, nil
	}
	out, err = c.Encode(dst, raw)
	if err != nil {
		return dst, id, err
	}
	gain := len(raw) - (len(out) - len(dst))
	if gain < max(MinGainBytes, (len(raw)*MinGainPercent+99)/100) {
		return append(out[:len(dst)], raw...), Raw, nil
	}
	return out, id, nil
}
