package archive_test

import (
	"context"
	"encoding/json"
	"expvar"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/segstore/segstore/segment"
	"github.com/segstore/segstore/segment/archive"
)

// notes makes an archive with one table, and opens it.
func notes(o archive.Options) *archive.Archive {
	fs := vfs.NewMem()
	b, err := archive.Create(fs, "/notes", archive.CreateOptions{})
	check(err)
	check(b.Create(archive.TableSpec{Name: "notes", Schema: notesSchema()}))
	_, err = b.Finish(context.Background())
	check(err)
	a, err := archive.Open(fs, "/notes", o)
	check(err)
	return a
}

// note commits one row.
func note(a *archive.Archive, text string) {
	b := a.Batch()
	check(b.Append("notes", segment.Row{[]byte(text)}))
	_, err := b.Commit(context.Background())
	check(err)
}

// Metrics under /debug/vars, as JSON.
func ExampleArchive_Metrics() {
	a := notes(archive.Options{})
	defer a.Close()
	archives := new(expvar.Map).Init()
	archives.Set("notes", expvar.Func(func() any { return a.Metrics() }))
	if expvar.Get("archives") == nil { // once a process
		expvar.Publish("archives", archives)
	}
	note(a, "eleven by.")
	var got map[string]archive.Metrics // what a collector reads
	check(json.Unmarshal([]byte(archives.String()), &got))
	c := got["notes"].Counters
	fmt.Println(c.Commits, "commit,", c.CommittedRows, "row,", c.CommittedRawBytes, "bytes,", c.Syncs, "sync")
	// Output:
	// 1 commit, 1 row, 10 bytes, 1 sync
}

// Metrics in the text format of Prometheus; with its client library, a Collector that
// sends the same numbers.
func ExampleArchive_Metrics_prometheus() {
	a := notes(archive.Options{})
	defer a.Close()
	serve := func(w http.ResponseWriter, _ *http.Request) {
		m := a.Metrics()
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprintf(w, "# TYPE segstore_commits_total counter\nsegstore_commits_total %d\n", m.Counters.Commits)
		fmt.Fprintf(w, "# TYPE segstore_sync_seconds_total counter\nsegstore_sync_seconds_total %g\n", float64(m.Counters.SyncNS)/1e9)
		fmt.Fprintf(w, "# TYPE segstore_failed gauge\nsegstore_failed %d\n", m.Gauges.Failed)
		fmt.Fprint(w, "# TYPE segstore_table_rows gauge\n")
		for _, t := range m.Gauges.Tables {
			fmt.Fprintf(w, "segstore_table_rows{table=%q} %d\n", t.Table, t.Rows)
		}
	}
	note(a, "one")
	note(a, "two")

	answer := httptest.NewRecorder() // http.HandleFunc("/metrics", serve) in a program
	serve(answer, nil)
	text, err := io.ReadAll(answer.Body)
	check(err)
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "seconds") { // which differ
			fmt.Print(line)
		}
	}
	// Output:
	// # TYPE segstore_commits_total counter
	// segstore_commits_total 2
	// # TYPE segstore_failed gauge
	// segstore_failed 0
	// # TYPE segstore_table_rows gauge
	// segstore_table_rows{table="notes"} 2
}

// A listener that counts rows that were committed, and logs seals.
func ExampleEventListener() {
	var rows uint64
	a := notes(archive.Options{EventListener: &archive.EventListener{
		Commit: func(i archive.CommitInfo) { rows += i.Rows }, // commits come one after another
		SealEnd: func(i archive.SealInfo) {
			fmt.Println("sealed", i.Rows, "rows into", len(i.Segments), "segment, error", i.Err)
		},
	}})
	defer a.Close()
	note(a, "one")
	note(a, "two")
	check(a.Seal(context.Background()))
	fmt.Println(rows, "rows committed")
	// Output:
	// sealed 2 rows into 1 segment, error <nil>
	// 2 rows committed
}
