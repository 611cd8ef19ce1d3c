package codec

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// zstdTool runs the zstd command in a directory of its own, where files are put
// first, and returns its standard output.
func zstdTool(t *testing.T, files map[string][]byte, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath("zstd")
	if err != nil {
		if os.Getenv("REALDATA") == "required" {
			t.Fatal("the zstd command is required")
		}
		t.Skip("no zstd command")
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = t.TempDir()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(cmd.Dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("zstd %v: %v\n%s", args, err, &stderr)
	}
	return stdout.Bytes()
}

// The zstd command decodes what we encode, with the dictionary's bytes as -D,
// and sees the size of the content and no checksum.
func TestToolDecodes(t *testing.T) {
	for _, c := range codecs(t, Options{Window: 1 << 20}) {
		if c.spec.ID != Zstd {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			files, args := map[string][]byte{}, []string{"-d", "-c", "-q"}
			if c.dict != nil {
				files["dict"] = c.dict.Bytes()
				args = append(args, "-D", "dict")
			}
			var want []byte
			for shape, src := range shapes() { // one frame a file; the tool writes them one after another
				name := strings.ReplaceAll(shape, " ", "-") + ".zst"
				enc, err := c.Encode(nil, src)
				if err != nil {
					t.Fatal(err)
				}
				files[name] = enc
				args = append(args, name)
				want = append(want, src...)
			}
			if got := zstdTool(t, files, args...); !bytes.Equal(got, want) {
				t.Errorf("%d bytes, expected %d, or other ones", len(got), len(want))
			}
			if c.dict == nil {
				list := string(zstdTool(t, files, "-l", "-v", "200-KiB.zst"))
				if !strings.Contains(list, "(204800 B)") || !strings.Contains(list, "Check: None") {
					t.Errorf("zstd -l says\n%s", list)
				}
			}
		})
	}
}

// We decode what the zstd command encodes.
func TestToolEncodes(t *testing.T) {
	dicts := dictionaries(t)
	for _, tc := range []struct {
		name, dict string
		args       []string
	}{
		{"level 1", "", []string{"-1"}},
		{"level 19, no checksum", "", []string{"-19", "--no-check"}},
		{"long", "", []string{"-3", "--long=27"}},
		{"dictionary", "zstd", []string{"-3", "-D", "dict"}},
		{"raw content", "raw content", []string{"-3", "-D", "dict"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Spec{ID: Zstd, Level: 1, Dict: tc.dict != ""}
			c, err := New(s, dicts[tc.dict], Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, shape := range []string{"empty", "one byte", "256", "200 KiB", "zeros", "noise"} {
				src := shapes()[shape]
				files := map[string][]byte{"in": src}
				if tc.dict != "" {
					files["dict"] = dicts[tc.dict].Bytes()
				}
				enc := zstdTool(t, files, append(tc.args, "-q", "-c", "in")...)
				if got, err := c.Decode(nil, enc, len(src)); err != nil || !bytes.Equal(got, src) {
					t.Errorf("%s: %v, or other bytes", shape, err)
				}
			}
		})
	}
}
