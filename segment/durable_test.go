package segment

import (
	"testing"

	"github.com/segstore/segstore/segment/merkle"
)

// What files hold, and what people and programs read from reports, never changes.
func TestDurableNumbers(t *testing.T) {
	for name, c := range map[string]struct{ got, want any }{
		"Version":          {Version, 1},
		"Bytes":            {Bytes, Kind(1)},
		"Fixed":            {Fixed, Kind(2)},
		"Uint":             {Uint, Kind(3)},
		"recordTable":      {recordTable, recordKind(1)},
		"recordSchema":     {recordSchema, recordKind(2)},
		"recordLayout":     {recordLayout, recordKind(3)},
		"recordDictionary": {recordDictionary, recordKind(4)},
		"header magic":     {headerMagic, "\x89SEG\r\n\x1a\n"},
		"footer magic":     {footerMagic, "SEGEND\r\n"},
		"frame magic":      {frameMagic, "CHNK"},
		"header size":      {headerSize, 64},
		"footer size":      {footerSize, 128},
		"rows of a run":    {merkle.RunRows, 256},

		// Files that exist may be this large: limits are raised, never lowered.
		"MaxColumns":        {MaxColumns, 256},
		"MaxNameBytes":      {MaxNameBytes, 64},
		"MaxFixedWidth":     {MaxFixedWidth, 65536},
		"MaxRowBytes":       {MaxRowBytes, 134217728},
		"maxChunkRows":      {maxChunkRows, 65536},
		"maxBlock":          {maxBlock, 135266304},
		"maxBlocks":         {maxBlocks, 4096},
		"maxChunks":         {maxChunks, 268435456},
		"maxStreams":        {maxStreams, 256},
		"maxEncodingName":   {maxEncodingName, 64},
		"maxSpecText":       {maxSpecText, 32},
		"maxDictionaries":   {maxDictionaries, 4096},
		"maxRecordBytes":    {maxRecordBytes, 1048577},
		"maxFrontBytes":     {maxFrontBytes, 268435456},
		"maxDirectoryBytes": {maxDirectoryBytes, 536870912},
		"maxPolicyText":     {maxPolicyText, 65536},
		"maxTrialsText":     {maxTrialsText, 1048576},
		"maxEncoderText":    {maxEncoderText, 256},
		"maxMetadata":       {maxMetadata, 1024},
		"maxMetadataKey":    {maxMetadataKey, 256},
		"maxMetadataValue":  {maxMetadataValue, 16777216},
		"mostUnpacked":      {mostUnpacked(10 << 20), 2560 << 20},
		"maxRoom":           {maxRoom, 270532608},

		"section of a record 1": {recordTable.section(), SectionTable},
		"section of a record 4": {recordDictionary.section(), SectionDictionary},
		"SectionHeader":         {SectionHeader, Section("header")},
		"SectionTable":          {SectionTable, Section("table")},
		"SectionSchema":         {SectionSchema, Section("schema")},
		"SectionLayout":         {SectionLayout, Section("layout")},
		"SectionDictionary":     {SectionDictionary, Section("dictionary")},
		"SectionFrame":          {SectionFrame, Section("frame")},
		"SectionBlock":          {SectionBlock, Section("block")},
		"SectionDirectory":      {SectionDirectory, Section("directory")},
		"SectionFooter":         {SectionFooter, Section("footer")},
		"SectionFile":           {SectionFile, Section("file")},
		"text of Bytes":         {Column{Kind: Bytes}.KindString(), "bytes"},
		"text of Fixed":         {Column{Kind: Fixed, Width: 80}.KindString(), "fixed(80)"},
		"text of Uint":          {Column{Kind: Uint}.KindString(), "uint"},
		"text of a kind":        {Kind(9).String(), "kind(9)"},
		"text of a checksum":    {Checksum(0x1f).String(), "000000000000001f"},
		"text of an ID":         {ID{0xab}.String(), "ab000000000000000000000000000000"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %v, must stay %v", name, c.got, c.want)
		}
	}
}

// The golden bytes of the records that have fixed places.
func TestHeaderAndFooterPlaces(t *testing.T) {
	h := header{features: features{required: 0x04030201, ignorable: 0x08070605}, id: ID{0xa0, 15: 0xaf}, firstRow: 0x1122334455667788, front: 0x99}
	b := h.appendTo(nil)
	want := map[int]byte{0: 0x89, 7: '\n', 8: 1, 12: 1, 15: 4, 16: 5, 19: 8, 20: 0, 24: 0xa0, 39: 0xaf, 40: 0x88, 47: 0x11, 48: 0x99}
	for at, v := range want {
		if b[at] != v {
			t.Errorf("header: byte %d is %#x, must stay %#x", at, b[at], v)
		}
	}
	f := footer{id: ID{0xa0}, firstRow: 1, rows: 2, front: 3, dirOffset: 4, dirLength: 5, dirSum: 6, root: merkle.Hash{7, 31: 8}}
	b = f.appendTo(nil)
	want = map[int]byte{0: 'S', 7: '\n', 8: 1, 24: 0xa0, 40: 1, 48: 2, 56: 3, 64: 4, 72: 5, 80: 6, 88: 7, 119: 8}
	for at, v := range want {
		if b[at] != v {
			t.Errorf("footer: byte %d is %#x, must stay %#x", at, b[at], v)
		}
	}
	if len(h.appendTo(nil)) != 64 || len(b) != 128 {
		t.Error("sizes")
	}
}
