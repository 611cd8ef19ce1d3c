package jsonl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/segstore/segstore/tools/chain"
	"github.com/segstore/segstore/tools/chain/chaintest"
)

// FuzzImport: whatever a file holds, it is refused as foreign, or the standard library reads the same from what comes back
// as from the file.
func FuzzImport(f *testing.F) {
	const good = `{"n":7,"text":"a\"\u00e9\n🙂","someHex":"0xab","b":"AA==","f":"0102"}` + "\n"
	f.Add([]byte(good + good))
	f.Add([]byte(good[:len(good)-1]))
	f.Add([]byte(good + ` { "f" : "FFfe","text":"\ud83d\ude42\/","b":"","someHex":"AB","n" : 18446744073709551615}` + "\r\n"))
	f.Add([]byte("{}\n\n[1,2]"))
	columns := parse(f, allKinds)
	f.Fuzz(func(t *testing.T, in []byte) {
		m := new(chaintest.Memory)
		report, err := Importer{Columns: columns}.Import(context.Background(), []chain.File{file("x", string(in))}, m, chain.ImportOptions{})
		if err != nil {
			if !errors.Is(err, chain.ErrInput) {
				t.Fatal(err)
			}
			return
		}
		out, exported := export(t, m)
		got := []byte(out["x"])
		restore := report.Sources[0].Restore
		if exported.Files[0].Match != restore || (restore == chain.Identical) != bytes.Equal(got, in) && !bytes.HasPrefix(in, []byte{0x1f, 0x8b}) {
			t.Fatalf("%q comes back as %q: %s, %+v", in, got, restore, exported.Files)
		}
		if bytes.HasPrefix(in, []byte{0x1f, 0x8b}) {
			return
		}
		a, b := decode(t, in), decode(t, got)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%q comes back as %q", in, got)
		}
	})
}

// decode reads JSON lines with the standard library; hex is made lower case without 0x.
func decode(t *testing.T, b []byte) (all []map[string]any) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	for d.More() {
		var v map[string]any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		for _, k := range []string{"someHex", "f"} {
			s, ok := v[k].(string)
			if !ok {
				t.Fatalf("field %q is %v", k, v[k])
			}
			v[k] = string(bytes.TrimPrefix(bytes.ToLower([]byte(s)), []byte("0x")))
		}
		all = append(all, v)
	}
	return all
}
