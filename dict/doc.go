// Package dict trains, checks and chooses zstd dictionaries.
//
// A dictionary is bytes that a compressor and its decompressor both hold before the first block, so that small blocks
// which look alike need not each spell out what they share. It is worth having only where it saves more than the
// copies of it cost, and only the data can say so: [Choose] trains on some blocks, measures on others, and adopts a
// dictionary or none, with every trial recorded. [Train] does the first half alone, for callers that decide themselves.
//
// There are two kinds. [Zstd] is the dictionary format of RFC 8878, section 5: entropy tables, three repeat offsets,
// content. [RawContent] is the content alone: a few percent weaker, but nothing in it can be invalid. `zstd -D` and
// other zstd implementations read both, and [Parse] tells them apart as they do, by the magic number.
//
// # Training
//
// Content is chosen greedily among all segments of all samples: the segment with the most bytes that other samples
// also hold goes in first, at the end of the dictionary, where offsets are shortest; what it covers counts no more;
// and so on until the dictionary is full. So the last n bytes of a dictionary's content are the best content of n
// bytes. What a segment is worth is counted in samples, not in occurrences: repeats inside one block are found without
// a dictionary. This is the idea of the COVER family (Liao, Petri, Moffat, Wirth: Effective construction of relative
// Lempel-Ziv dictionaries, WWW 2016) with hashed 6-byte strings and one global heap in place of epochs.
//
// Entropy tables come from klauspost/compress, for the level the dictionary will be used with. They are never trusted:
// the result must load in encoder and decoder and carry every sample there and back, else the content alone is kept
// and [Dict.Fallback] says why.
//
// The same samples give the same bytes: no clock, no random numbers, no map order, whatever GOMAXPROCS is. (Not across
// versions of this package or of the compressor.) No goroutine is started.
//
// # Limits
//
// At most 128 times [TrainOptions.MaxBytes] of samples is kept, but never less than 4 MiB or more than 16 MiB: where there
// is more, an even selection of it, and of each sample its first 128 KiB. While it trains, memory is at most about ten
// times what it keeps and 16 MiB for counters: 100 MB for the default of 64 KiB, 180 MB at the most.
//
//	choice, err := dict.Choose(ctx, blocks, dict.ChooseOptions{TotalBytes: raw, Copies: 2},
//		func(d *dict.Dict, block []byte) (stored int, err error) { … })
//	if err != nil { return err }
//	log.Print(choice.Reason)
//	if choice.Dict != nil { … }
//
// A [Dict] is immutable and may be used by any number of goroutines.
package dict
