package dict

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

const (
	// tableBytes is kept free for what precedes the content of a Zstd dictionary. Literal table 129, three sequence tables
	// of at most 128, magic, id and offsets 20: real ones take 100 to 300.
	tableBytes = 384

	// trainedID is the smallest id a dictionary can have. It takes one byte in every frame, a random one takes four.
	trainedID = 1

	// testWindow is the window of the self-test: room for the largest dictionary and a whole sample.
	testWindow = 2 * MaxBytes
)

// builder makes a dictionary of content: zstd.BuildDict, or what a test puts in its place.
type builder func(zstd.BuildDictOptions) ([]byte, error)

// build makes content a dictionary for samples: Zstd if tables can be built and prove themselves, else RawContent.
func build(content []byte, samples [][]byte, level int, b builder) (*Dict, error) {
	d, err := buildZstd(content, samples, level, b)
	if err == nil {
		return d, nil
	}
	raw, rawErr := buildRaw(content, samples, level)
	if rawErr != nil {
		return nil, errors.Join(err, rawErr)
	}
	raw.fallback = err.Error()
	return raw, nil
}

func buildZstd(content []byte, samples [][]byte, level int, b builder) (*Dict, error) {
	var out []byte
	err := guard(func() (err error) {
		out, err = b(zstd.BuildDictOptions{
			ID:         trainedID,
			Contents:   samples,
			History:    content,
			Offsets:    [3]int{1, 4, 8}, // what a frame without dictionary starts with
			CompatV155: true,            // zstd 1.5.5 and older refuse a literal table without byte 255
			Level:      encoderLevel(level),
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("dict: entropy tables: %w", err)
	}
	if most := len(content) + tableBytes; len(out) > most {
		return nil, fmt.Errorf("dict: entropy tables: %w: %d bytes, want at most %d", ErrInvalid, len(out), most)
	}
	d, err := New(Zstd, out)
	if err != nil {
		return nil, err
	}
	if _, err := selfTest(d, samples, level); err != nil {
		return nil, err
	}
	return d, nil
}

func buildRaw(content []byte, samples [][]byte, level int) (*Dict, error) {
	for hasMagic(content) {
		content = content[1:]
	}
	d, err := New(RawContent, bytes.Clone(content))
	if err != nil {
		return nil, err
	}
	if _, err := selfTest(d, samples, level); err != nil {
		return nil, err
	}
	return d, nil
}

// encoderLevel maps zstd's number of a level to the compressor's own. The strongest counts as the second strongest:
// with a dictionary it takes milliseconds a call, and the tables hardly differ.
func encoderLevel(level int) zstd.EncoderLevel {
	return min(zstd.EncoderLevelFromZstd(level), zstd.SpeedBetterCompression)
}

// selfTest sends every sample through encoder and decoder with d, or without a dictionary where d is nil, and returns
// what they take compressed. An error means that d must not be used.
func selfTest(d *Dict, samples [][]byte, level int) (stored int64, err error) {
	err = guard(func() error {
		enc, dec, err := coders(d, level)
		if err != nil {
			return err
		}
		defer enc.Close() // of an encoder that writes nowhere: no error to lose
		defer dec.Close()
		var packed, back []byte
		for i, s := range samples {
			packed = enc.EncodeAll(s, packed[:0])
			back, err = dec.DecodeAll(packed, back[:0])
			if err != nil {
				return fmt.Errorf("sample %d: %w", i, err)
			}
			if !bytes.Equal(s, back) {
				return fmt.Errorf("sample %d: %d bytes come back as %d others", i, len(s), len(back))
			}
			stored += int64(len(packed))
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("dict: self-test: %w", err)
	}
	return stored, nil
}

func coders(d *Dict, level int) (*zstd.Encoder, *zstd.Decoder, error) {
	eo := []zstd.EOption{
		zstd.WithEncoderLevel(encoderLevel(level)),
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false),
		zstd.WithSingleSegment(true),
		zstd.WithWindowSize(testWindow),
	}
	do := []zstd.DOption{
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(testWindow),
	}
	switch {
	case d == nil:
	case d.kind == Zstd:
		eo = append(eo, zstd.WithEncoderDict(d.bytes))
		do = append(do, zstd.WithDecoderDicts(d.bytes))
	default:
		eo = append(eo, zstd.WithEncoderDictRaw(0, d.bytes))
		do = append(do, zstd.WithDecoderDictRaw(0, d.bytes))
	}
	enc, err := zstd.NewWriter(nil, eo...)
	if err != nil {
		return nil, nil, err
	}
	dec, err := zstd.NewReader(nil, do...)
	if err != nil {
		enc.Close() // wrote nothing
		return nil, nil, err
	}
	return enc, dec, nil
}
