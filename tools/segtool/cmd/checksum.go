package cmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
	"github.com/spf13/cobra"
)

func (a *app) checksumVerb() *cobra.Command {
	var sha bool
	var list string
	c := verb{
		use: "checksum [--sha256] PATH... | checksum -c LIST [DIR]", short: "Print checksums of files as xxhsum and sha256sum do, or check a list",
		long: `Checksum prints the xxh64 of each file as xxhsum -H1 does, or its SHA-256 as
sha256sum does; of each segment's file where PATH is an archive; of stdin for "-".

With -c it reads a list that any of the three has printed and answers for each line:
  same file          the file has this checksum
  same content       a file of the same rows had it, that recompression replaced,
                     or it is the content root of the file's rows
  different          neither, or the file is not there
  unknown            neither, but the file replaced another whose SHA-256 is not known:
                     exit code 4 where nothing is different
A segment's file that is not there any more is asked for in the archive it was in, by
the list, or in DIR. A line that cannot be read is reported, and the rest is checked.`,
		example: "  segtool checksum chain >LIST\n  segtool recompress --level 19 chain\n  segtool checksum -c LIST",
		codes:   []int{codeFine, codeFailed, codeUsage, codeCorrupt, codeMissing},
		args: func(_ *cobra.Command, args []string) error {
			switch {
			case list != "" && (len(args) > 1 || sha):
				return errors.New("-c takes one directory at most, and knows which checksums a list has")
			case list == "" && len(args) == 0:
				return errors.New("which files?")
			}
			return nil
		},
		run: func(ctx context.Context, args []string) error {
			if list != "" {
				dir := ""
				if len(args) == 1 {
					dir = args[0]
				}
				return a.checkList(ctx, list, dir)
			}
			return a.checksums(ctx, args, sha)
		},
	}.command()
	c.Flags().BoolVar(&sha, "sha256", false, "SHA-256, as sha256sum prints it")
	shortFlag(c, &list, "check", "c", "", "check a list of checksums; - is stdin", nil)
	return c
}

// fileSum is the checksum of a file.
type fileSum struct {
	File     string            `json:"file"`
	Bytes    int64             `json:"stored_bytes"`
	Checksum *segment.Checksum `json:"checksum,omitempty"`
	SHA256   string            `json:"sha256,omitempty"`
}

func (s fileSum) String() string {
	sum := s.SHA256
	name := s.File
	if s.Checksum != nil {
		sum = s.Checksum.String()
		if name == "-" {
			name = "stdin" // as xxhsum says
		}
	}
	if strings.ContainsAny(name, "\\\n\r") { // as sha256sum escapes
		sum = `\` + sum
		name = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(name)
	}
	return sum + "  " + name
}

// checksums prints the checksum of each file; one that cannot be read does not keep
// it from the others.
func (a *app) checksums(ctx context.Context, paths []string, sha bool) error {
	done := []fileSum{}
	var failed []error
	for _, path := range paths {
		files, err := a.filesOf(path)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for _, f := range files {
			s, err := a.sum(ctx, f, sha)
			switch {
			case err != nil && ctx.Err() != nil:
				return err
			case err != nil:
				failed = append(failed, err)
			case a.json:
				done = append(done, s)
			default:
				a.checksumLine(s)
			}
		}
	}
	if a.json {
		failed = append(failed, a.printJSON(done))
	}
	return errors.Join(failed...)
}

// checksumLine prints a line that xxhsum or sha256sum could have printed: for these
// programs the name is as it is, for a terminal it is as that can show it.
func (a *app) checksumLine(s fileSum) {
	line := s.String()
	if isTerminal(a.stdout.file) {
		line = shown(line)
	}
	_, _ = io.WriteString(a.stdout, line+"\n") // it keeps its error
}

// filesOf returns the file, or those of the segments of an archive.
func (a *app) filesOf(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	dir, err := a.isDir(path)
	if err != nil || !dir {
		return []string{path}, err
	}
	ar, err := a.openArchive(path)
	if err != nil {
		return nil, err
	}
	defer ar.Close()
	segments, err := ar.Segments()
	var files []string
	for _, s := range segments {
		files = append(files, filepath.Join(path, filepath.FromSlash(s.File)))
	}
	return files, err
}

func (a *app) sum(ctx context.Context, file string, sha bool) (s fileSum, err error) {
	s.File = file
	var x segment.Checksum
	var b [sha256.Size]byte
	switch {
	case file == "-":
		d, h := xxhash.New(), sha256.New()
		s.Bytes, err = io.Copy(io.MultiWriter(d, h), a.input(ctx))
		x, b = segment.Checksum(d.Sum64()), [sha256.Size]byte(h.Sum(nil))
	case sha:
		b, s.Bytes, err = archive.SHA256(ctx, a.fs, file)
	default:
		x, s.Bytes, err = archive.Checksum(ctx, a.fs, file)
	}
	if sha {
		s.SHA256 = hex.EncodeToString(b[:])
	} else {
		s.Checksum = &x
	}
	return s, err
}

// checkList answers for each line of a list.
func (a *app) checkList(ctx context.Context, list, dir string) (err error) {
	in := io.Reader(a.input(ctx))
	if list != "-" {
		f, err := a.fs.Open(list)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	archives := archives{a: a, open: map[string]*archive.Archive{}}
	defer func() { err = errors.Join(err, archives.close()) }()
	var ar *archive.Archive
	if dir != "" {
		if ar, err = archives.get(dir); err != nil {
			return err
		}
	}
	answers := []archive.Expectation{}
	var failed []error
	has := map[archive.Answer]bool{}
	for e, err := range archive.CheckList(ctx, a.fs, ar, in) {
		if err == nil && e.Answer == archive.Different && ar == nil {
			e, err = archives.ask(ctx, e)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", list, err)
			var bad *archive.LineError
			isLine := errors.As(err, &bad)
			if !isLine && e.Name == "" || ctx.Err() != nil {
				return err
			}
			failed = append(failed, err)
			e.Answer, e.Reason = archive.Unknown, err.Error()
		}
		has[e.Answer] = true
		answers = append(answers, e)
		if !a.json && e.Name != "" { // of a line that cannot be read stderr says all
			a.printf("%s: %s\n", e.Name, answer(e))
		}
	}
	if a.json {
		err = a.printJSON(answers)
	}
	switch {
	case err != nil:
		return err
	case len(answers) == 0:
		return fmt.Errorf("%s: no line is a checksum and a name", list)
	case len(failed) > 0:
		return errors.Join(failed...)
	case has[archive.Different]:
		return &exitError{codeCorrupt, nil}
	case has[archive.Unknown]:
		return &exitError{codeMissing, nil}
	}
	return nil
}

// archives are those that the names of a list lie in.
type archives struct {
	a    *app
	open map[string]*archive.Archive
}

func (l *archives) get(dir string) (*archive.Archive, error) {
	if ar := l.open[dir]; ar != nil {
		return ar, nil
	}
	ar, err := l.a.openArchive(dir)
	if err == nil {
		l.open[dir] = ar
	}
	return ar, err
}

// ask asks the archive that a file of a list was in, by its path: recompression has
// given the file another name.
func (l *archives) ask(ctx context.Context, e archive.Expectation) (archive.Expectation, error) {
	if _, err := l.a.fs.Stat(e.Name); !errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	ar, err := l.get(filepath.Dir(filepath.Dir(e.Name)))
	if errors.Is(err, archive.ErrNotArchive) {
		return e, nil
	}
	if err != nil {
		return e, err
	}
	segments, err := ar.Segments()
	if err != nil || slices.ContainsFunc(segments, func(s archive.SegmentInfo) bool { return path.Base(s.File) == filepath.Base(e.Name) }) {
		return e, err // not replaced: missing
	}
	now, err := ar.Expect(ctx, e.Expected)
	if err != nil || now.Answer == archive.Different {
		return e, err
	}
	now.Name, now.Line = e.Name, e.Line
	return now, nil
}

func (l *archives) close() (err error) {
	for _, ar := range l.open {
		err = errors.Join(err, ar.Close())
	}
	return err
}

// answer puts an answer in words.
func answer(e archive.Expectation) string {
	file := e.File
	if e.Segment != nil {
		file = e.Segment.File
	}
	switch e.Answer {
	case archive.SameFile:
		return "same file"
	case archive.Unknown:
		return "unknown: " + e.Reason
	case archive.SameContent:
		if len(e.Expected) == 2*sha256.Size {
			return "same content: it is the content root of " + file
		}
		return "same content, recompressed since: now " + file
	}
	return "different: " + or(e.Reason, "another checksum")
}
