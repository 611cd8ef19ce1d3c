package jsonl

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
)

func file(name, content string) chain.File {
	return chain.File{Name: name, Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(content)), nil
	}}
}

// output keeps files in memory.
type output map[string]string

type outputFile struct {
	bytes.Buffer
	out  output
	name string
}

func (o output) Create(name string) (chain.OutputFile, error) {
	if _, ok := o[name]; ok {
		return nil, errors.New("exists: " + name)
	}
	return &outputFile{out: o, name: name}, nil
}

func (f *outputFile) Commit() error {
	f.out[f.name] = f.String()
	return nil
}

func (f *outputFile) Abort() error { return nil }

func parse(t testing.TB, columns string) []Column {
	t.Helper()
	c, err := ParseColumns(columns)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func importFiles(t testing.TB, columns string, files ...chain.File) (*chaintest.Memory, chain.Report, error) {
	t.Helper()
	m := new(chaintest.Memory)
	report, err := Importer{Columns: parse(t, columns)}.Import(context.Background(), files, m, chain.ImportOptions{})
	return m, report, err
}

func export(t testing.TB, m *chaintest.Memory) (output, chain.ExportReport) {
	t.Helper()
	out := output{}
	report, err := Exporter{}.Export(context.Background(), m, out, chain.ExportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out, report
}
