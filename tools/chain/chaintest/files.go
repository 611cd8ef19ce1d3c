package chaintest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"go/build"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/segstore/segstore/tools/chain"
)

// BytesFile returns a file that holds b.
func BytesFile(name string, b []byte) chain.File {
	return chain.File{Name: name, Size: int64(len(b)), Open: func() (io.ReadCloser, error) {
		return seekCloser{bytes.NewReader(b)}, nil
	}}
}

type seekCloser struct{ *bytes.Reader }

func (seekCloser) Close() error { return nil }

// StreamFile returns a file that holds b, does not know its size and cannot seek.
func StreamFile(name string, b []byte) chain.File {
	return chain.File{Name: name, Size: -1, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(struct{ io.Reader }{bytes.NewReader(b)}), nil
	}}
}

// Output is a chain.Output in memory.
type Output struct {
	Files map[string][]byte // those committed
}

var _ chain.Output = (*Output)(nil)

// Create starts a file.
func (o *Output) Create(name string) (chain.OutputFile, error) {
	if strings.ContainsAny(name, "/\\\x00") || name == "" || name == "." || name == ".." || len(name) > 255 {
		return nil, fmt.Errorf("chaintest: %q is not a file name", name)
	}
	for have := range o.Files {
		if strings.EqualFold(have, name) {
			return nil, fmt.Errorf("chaintest: %q is there already", name)
		}
	}
	return &outputFile{out: o, name: name}, nil
}

type outputFile struct {
	bytes.Buffer
	out  *Output
	name string
	done bool
}

func (f *outputFile) Commit() error {
	if f.done {
		return errors.New("chaintest: Commit after the end")
	}
	if f.done = true; f.out.Files == nil {
		f.out.Files = map[string][]byte{}
	}
	f.out.Files[f.name] = f.Bytes()
	return nil
}

func (f *outputFile) Abort() error {
	f.done = true
	return nil
}

// DataPath returns the path of a file of real chain data, named relative to the data folder. That is $SEGSTORE_DATA or the
// folder shared/data beside the module. Where the file is not there the test is skipped, or fails where REALDATA=required.
func DataPath(tb testing.TB, name string) string {
	tb.Helper()
	path, ok := FindData(tb, name)
	if !ok {
		tb.Skipf("real chain data %s is not there (set SEGSTORE_DATA)", name)
	}
	return path
}

// FindData is DataPath for a test that goes on without the file.
func FindData(tb testing.TB, name string) (path string, ok bool) {
	tb.Helper()
	for _, dir := range dataFolders() {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Stat(path); err == nil {
			return path, true
		}
	}
	if os.Getenv("REALDATA") == "required" {
		tb.Fatalf("real chain data %s is not there, and REALDATA=required", name)
	}
	return "", false
}

func dataFolders() (dirs []string) {
	if dir := os.Getenv("SEGSTORE_DATA"); dir != "" {
		return []string{dir}
	}
	dir, err := os.Getwd()
	for err == nil {
		dirs = append(dirs, filepath.Join(dir, "shared", "data"))
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return dirs
}

// ModuleFile returns a file of a module, "path@version/file", from the cache of Go modules. Where it is not there the test is
// skipped, or fails where REALDATA=required; `go mod download -json path@version` in any folder brings it.
func ModuleFile(tb testing.TB, name string) chain.File {
	tb.Helper()
	cache := os.Getenv("GOMODCACHE")
	if cache == "" {
		cache = filepath.Join(build.Default.GOPATH, "pkg", "mod")
	}
	f, err := chain.OSFile(filepath.Join(cache, filepath.FromSlash(name)))
	if err != nil {
		module, rest, _ := strings.Cut(name, "@")
		version, _, _ := strings.Cut(rest, "/")
		missing := fmt.Sprintf("%s is not in the module cache (go mod download -json %s@%s)", name, module, version)
		if os.Getenv("REALDATA") == "required" {
			tb.Fatalf("%s, and REALDATA=required", missing)
		}
		tb.Skip(missing)
	}
	return f
}

// DataFile returns a file of real chain data, as DataPath finds it.
func DataFile(tb testing.TB, name string) chain.File {
	tb.Helper()
	f, err := chain.OSFile(DataPath(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// ReadAll returns the bytes of a file.
func ReadAll(tb testing.TB, f chain.File) []byte {
	tb.Helper()
	r, err := f.Open()
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// Import imports files into a new Memory.
func Import(tb testing.TB, im chain.Importer, files ...chain.File) (*Memory, chain.Report) {
	tb.Helper()
	m := &Memory{}
	r, err := im.Import(tb.Context(), files, m, chain.ImportOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return m, r
}

// Export exports all sources of a view.
func Export(tb testing.TB, ex chain.Exporter, v chain.View) (*Output, chain.ExportReport) {
	tb.Helper()
	out := &Output{}
	r, err := ex.Export(tb.Context(), v, out, chain.ExportOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return out, r
}

// Gzip returns b as one member of a gzip file.
func Gzip(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b) // a buffer has no errors
	_ = w.Close()
	return out.Bytes()
}
