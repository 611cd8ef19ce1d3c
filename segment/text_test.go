package segment_test

import (
	"encoding/json"
	"testing"

	"github.com/segstore/segstore/segment"
)

func TestInfoJSON(t *testing.T) {
	_, want := write(t, segment.WriterOptions{}, testRows(3, 1))
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got segment.Info
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(got)
	if err != nil || string(again) != string(b) || got.ID != want.ID || got.Checksum != want.Checksum {
		t.Fatalf("%s came back as %s: %v", b, again, err)
	}
	for _, text := range []string{"", "0", "zz", "00112233445566778899aabbccddee", "00112233445566778899aabbccddeeff00", "x0112233445566778899aabbccddeeff"} {
		if err := new(segment.ID).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("ID %q read", text)
		}
		if err := new(segment.Checksum).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("checksum %q read", text)
		}
	}
}
