package dict

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// realColumn is samples of a real column as a policy would cut them.
type realColumn struct {
	name    string
	samples [][]byte
	sizes   []int // of the dictionaries to train
}

func realColumns(t testing.TB) []realColumn {
	_, transactions, receipts := realRows(t, "eth/bench-mainnet.rlps")
	headers, _, _ := realRows(t, "eth/early-headers.rlps")
	large, both := []int{64 << 10}, []int{64 << 10, 16 << 10}
	return []realColumn{
		{"transactions 32 KiB", blocks(transactions, 32<<10), both},
		{"receipts 32 KiB", blocks(receipts, 32<<10), both},
		{"headers 32 KiB", blocks(headers, 32<<10), large},
		{"transactions 4 KiB", blocks(transactions, 4<<10), large},
		{"receipts 4 KiB", blocks(receipts, 4<<10), large},
		{"receipts row by row", receipts, large},
	}
}

// halves returns three of four samples, and the others.
func halves(samples [][]byte) (training, test [][]byte) {
	for i, s := range samples {
		if i%4 == 3 {
			test = append(test, s)
		} else {
			training = append(training, s)
		}
	}
	return training, test
}

// TestAgainstZstdTrain: on real columns, and samples neither has seen, ours is as good as what `zstd --train` makes.
func TestAgainstZstdTrain(t *testing.T) {
	if testing.Short() {
		t.Skip("many seconds; not with -short")
	}
	tool := zstdTool(t)
	for _, column := range realColumns(t) {
		training, test := halves(column.samples)
		dir := t.TempDir()
		list := filepath.Join(dir, "list")
		var names bytes.Buffer
		for i, s := range training {
			path := filepath.Join(dir, fmt.Sprintf("%06d", i))
			if err := os.WriteFile(path, s, 0o600); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&names, path)
		}
		if err := os.WriteFile(list, names.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, maxBytes := range column.sizes {
			t.Run(fmt.Sprintf("%s/%d", column.name, maxBytes), func(t *testing.T) {
				out := filepath.Join(dir, "dict")
				cmd := exec.Command(tool, "-q", "-f", "--train", "-1", "--maxdict", fmt.Sprint(maxBytes), "--filelist", list, "-o", out)
				if msg, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, msg)
				}
				b, err := os.ReadFile(out)
				if err != nil {
					t.Fatal(err)
				}
				theirs, err := New(Zstd, b)
				if err != nil {
					t.Fatal(err)
				}
				ours := mustTrain(t, training, TrainOptions{MaxBytes: maxBytes})
				if ours.Kind() != Zstd || len(ours.Bytes()) > maxBytes {
					t.Errorf("trained %v: %s", ours, ours.Fallback())
				}
				without, got, want := size(t, nil, test, 1), size(t, ours, test, 1), size(t, theirs, test, 1)
				t.Logf("%d samples: %d B without, %d with theirs, %d with ours: %s", len(test), without, want, got, percent(got, want))
				if got > want+want/100 {
					t.Errorf("ours compress to %d B, those of zstd --train to %d: %s", got, want, percent(got, want))
				}
			})
		}
	}
}

// TestZstdToolDecodes: frames made with our dictionaries decode with the zstd command, of either kind.
func TestZstdToolDecodes(t *testing.T) {
	tool := zstdTool(t)
	samples := records(rng(1), 100, 8)
	trained := mustTrain(t, samples, TrainOptions{MaxBytes: 16 << 10})
	if trained.Kind() != Zstd {
		t.Fatalf("trained %v: %s", trained, trained.Fallback())
	}
	content, err := bestContent(samples, TrainOptions{MaxBytes: 16 << 10})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := New(RawContent, content)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []*Dict{trained, raw} {
		for _, level := range []int{1, 3, 7} {
			t.Run(fmt.Sprintf("%v/%d", d.Kind(), level), func(t *testing.T) {
				enc, dec, err := coders(d, level)
				if err != nil {
					t.Fatal(err)
				}
				defer enc.Close()
				defer dec.Close()
				dir := t.TempDir()
				path := filepath.Join(dir, "dict")
				if err := os.WriteFile(path, d.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
				for i, s := range records(rng(2), 3, 1+20*level) {
					frame := filepath.Join(dir, fmt.Sprintf("%d.zst", i))
					if err := os.WriteFile(frame, enc.EncodeAll(s, nil), 0o600); err != nil {
						t.Fatal(err)
					}
					got, err := exec.Command(tool, "-q", "-d", "-c", "-D", path, frame).Output()
					if err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(got, s) {
						t.Errorf("sample %d: zstd -d -D gives %d other bytes", i, len(got))
					}
				}
			})
		}
	}
}
