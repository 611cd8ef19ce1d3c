package cmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
)

// logger returns a logger that tells the user, in one line each on stderr, what
// happens beside a verb's result.
func (a *app) logger() *slog.Logger { return slog.New(&lines{w: a.stderr}) }

// lines is a slog.Handler of lines such as "segtool: message (key value, key value)".
type lines struct {
	w     io.Writer
	attrs []slog.Attr
}

var _ slog.Handler = (*lines)(nil)

func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (l *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lines{l.w, append(slices.Clone(l.attrs), attrs...)}
}

func (l *lines) WithGroup(string) slog.Handler { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	var parts []string
	reported := false
	add := func(at slog.Attr) bool {
		parts = append(parts, fmt.Sprintf("%s %v", strings.ReplaceAll(at.Key, "_", " "), at.Value))
		reported = reported || at.Key == "replaced" // the report of recompress says it better
		return true
	}
	for _, at := range l.attrs {
		add(at)
	}
	r.Attrs(add)
	if reported && r.Level < slog.LevelWarn {
		return nil
	}
	text := "segtool: " + r.Message
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	_, err := fmt.Fprintln(l.w, shown(strings.ReplaceAll(text, "\n", "; ")))
	return err
}
