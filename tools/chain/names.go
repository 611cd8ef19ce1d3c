package chain

import (
	"path"
	"strconv"
	"strings"
	"unicode"
)

// maxFileName is the longest name, in bytes, that an export gives a file: room is left for a suffix and for the temporary
// name beside it.
const maxFileName = 200

// SourceName returns the name that the table sources keeps for f: the last part of its path, in valid UTF-8, without .gz where
// gz says that it was compressed.
func SourceName(f File, gz bool) string {
	name := strings.ToValidUTF8(f.Base(), "_")
	if gz {
		if short := strings.TrimSuffix(name, ".gz"); short != "" {
			name = short
		}
	}
	if len(name) > MaxSourceName {
		name = cut(name, MaxSourceName)
	}
	return name
}

// cut shortens a name to at most n bytes, keeps its extension and breaks no character.
func cut(name string, n int) string {
	ext := path.Ext(name)
	if len(ext) > 16 {
		ext = ""
	}
	return strings.ToValidUTF8(name[:n-len(ext)], "") + ext
}

// SafeName turns any string into a name for a file in a directory: no separators, control characters, or characters and names
// that some system reserves, at most 200 bytes. Usual names stay as they are.
func SafeName(name string) string {
	name = strings.ToValidUTF8(name, "_")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(`<>:"|?*`, r) {
			return '_'
		}
		return r
	}, name)
	name = strings.TrimRight(name, ". ")
	if len(name) > maxFileName {
		name = strings.TrimRight(cut(name, maxFileName), ". ")
	}
	if name == "" {
		return "unnamed"
	}
	stem, _, _ := strings.Cut(strings.ToLower(name), ".")
	switch stem = strings.TrimRight(stem, " "); stem {
	case "con", "prn", "aux", "nul":
		return "_" + name
	}
	if len(stem) == 4 && (stem[:3] == "com" || stem[:3] == "lpt") && stem[3] >= '0' && stem[3] <= '9' {
		return "_" + name
	}
	return name
}

// nameSet hands out names that differ also where case is ignored.
type nameSet map[string]bool

func (s nameSet) unique(name string) string {
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for i := 2; s[fold(name)]; i++ {
		name = stem + "-" + strconv.Itoa(i) + ext
	}
	s[fold(name)] = true
	return name
}

func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }
