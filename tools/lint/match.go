package lint

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// match reports whether a folder is the pattern's: "a/b" is itself, "a/b/**"
// itself and all below, "**" everything.
func match(pattern, folder string) bool {
	if pattern == "**" {
		return true
	}
	if parent, ok := strings.CutSuffix(pattern, "/**"); ok {
		return within(parent, folder)
	}
	return pattern == folder
}

func matchAny(patterns []string, folder string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, folder) })
}

// within reports whether name is parent or lies below it.
func within(parent, name string) bool {
	rest, ok := strings.CutPrefix(name, parent)
	return ok && (rest == "" || rest[0] == '/')
}

// ignoreList is the patterns of a .gitignore at the root that need no more
// than path.Match: "name", "*.ext", "/name" at the root only, "**/a/b"
// anywhere; a trailing slash is dropped.
type ignoreList []string

func readIgnored(root fs.FS) (ignoreList, error) {
	data, err := fs.ReadFile(root, ".gitignore")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lint: %w", err)
	}
	var list ignoreList
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(strings.TrimSpace(line), "/")
		if line == "" || line[0] == '#' {
			continue
		}
		_, err := path.Match(line, "")
		// Git takes a slash within as "from the root", which is rarely what was meant.
		inner := strings.Contains(line[1:], "/") && !strings.HasPrefix(line, "**/")
		if err != nil || line[0] == '!' || inner {
			return nil, fmt.Errorf("lint: .gitignore: pattern %q is more than lint reads", line)
		}
		list = append(list, line)
	}
	return list, nil
}

func (l ignoreList) match(name string) bool {
	return slices.ContainsFunc(l, func(pattern string) bool {
		if anchored, ok := strings.CutPrefix(pattern, "/"); ok {
			ok, _ = path.Match(anchored, name)
			return ok
		}
		pattern, _ = strings.CutPrefix(pattern, "**/")
		ok, _ := path.Match(pattern, last(name, strings.Count(pattern, "/")+1))
		return ok
	})
}

// last returns the last n elements of a path, or all where there are fewer.
func last(name string, n int) string {
	elements := strings.Split(name, "/")
	return strings.Join(elements[max(0, len(elements)-n):], "/")
}
