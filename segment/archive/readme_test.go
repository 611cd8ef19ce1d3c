package archive_test

import (
	"os"
	"strings"
	"testing"
)

// TestReadme holds the README's example to the one that is run here.
func TestReadme(t *testing.T) {
	source, err := os.ReadFile("readme_example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, ok := strings.Cut(string(source), "func ExampleCreate() {\n")
	body, _, found := strings.Cut(body, "\t// Output:")
	if !ok || !found {
		t.Fatal("no example in readme_example_test.go")
	}
	var want strings.Builder
	for line := range strings.Lines(body) {
		want.WriteString(strings.TrimPrefix(line, "\t"))
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+want.String()+"```\n") {
		t.Errorf("the README's example is not that of readme_example_test.go:\n%s", want.String())
	}
}
