package cmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
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
  same content       a file of the same rows had it, that recompression replaced
  different          neither, or the file is not there
Names in the list are taken from DIR, by default the current directory.`,
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
				dir := "."
				if len(args) == 1 {
					dir = args[0]
				}
				return a.checkList(ctx, list, dir)
			}
			return a.checksums(ctx, args, sha)
		},
	}.command()
	c.Flags().BoolVar(&sha, "sha256", false, "SHA-256, as sha256sum prints it")
	c.Flags().StringVarP(&list, "check", "c", "", "check a list of checksums; - is stdin")
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
				a.printf("%s\n", s)
			}
		}
	}
	if a.json {
		failed = append(failed, a.printJSON(done))
	}
	return errors.Join(failed...)
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
func (a *app) checkList(ctx context.Context, path, dir string) error {
	in := io.Reader(a.input(ctx))
	if path != "-" {
		f, err := a.fs.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	answers := []archive.Expectation{}
	different, missing := 0, 0
	for e, err := range archive.CheckList(ctx, a.fs, dir, in) {
		if err != nil {
			return err
		}
		if e.Answer == archive.Different {
			different++
		}
		answers = append(answers, e)
		if !a.json {
			a.printf("%s: %s\n", e.File, answer(e))
		}
	}
	if a.json {
		if err := a.printJSON(answers); err != nil {
			return err
		}
	}
	switch {
	case len(answers) == 0:
		return &exitError{codeFailed, errors.New(path + ": no line is a checksum and a name")}
	case different > 0:
		return &exitError{codeCorrupt, nil}
	case missing > 0:
		return missingf("%d files of %s: %w", missing, path, fs.ErrNotExist)
	}
	return nil
}

// answer puts an answer in words.
func answer(e archive.Expectation) string {
	switch e.Answer {
	case archive.SameFile:
		return "same file"
	case archive.SameContent:
		return "same content, recompressed since: now " + e.Checksum.String()
	}
	return "different: " + or(e.Reason, "another checksum")
}
