package lint

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// defaultLogger are the functions of log/slog that write to, or replace, the
// process's own logger.
var defaultLogger = []string{
	"Default", "SetDefault", "SetLogLoggerLevel", "Log", "LogAttrs", "With",
	"Debug", "DebugContext", "Info", "InfoContext", "Warn", "WarnContext", "Error", "ErrorContext",
}

// checkCode looks for what code outside tests must not do. Ending the process
// and init are forbidden to commands too, printing and logging are not.
func (p *pack) checkCode(r Rules) (found []Finding) {
	names := p.resolve()
	program := matchAny(r.Programs, p.folder)
	for _, s := range p.files {
		if s.test {
			continue
		}
		packages := importNames(s.ast)
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					found = append(found, p.finding(s, n, "init", "work before main runs"))
				}
			case *ast.CallExpr:
				id, ok := ast.Unparen(n.Fun).(*ast.Ident)
				if !ok || !names.isBuiltin(id) {
					return true
				}
				switch id.Name {
				case "panic":
					found = append(found, p.finding(s, n, "panic", "return the error"))
				case "print", "println":
					found = append(found, p.finding(s, n, "print", "builtin %s", id.Name))
				}
			case *ast.SelectorExpr:
				id, ok := n.X.(*ast.Ident)
				if !ok || !names.isPackage(id) {
					return true
				}
				if rule := forbidden(packages[id.Name], n.Sel.Name, program); rule != "" && (rule != "exit" || s.path != r.ExitFile) {
					found = append(found, p.finding(s, n, rule, "%s.%s", id.Name, n.Sel.Name))
				}
			}
			return true
		})
	}
	return found
}

// forbidden returns the rule that a use of a standard library's name breaks, or "".
func forbidden(pkg, name string, program bool) string {
	switch {
	case pkg == "os" && name == "Exit", pkg == "syscall" && name == "Exit", pkg == "runtime" && name == "Goexit":
		return "exit"
	case pkg == "log" && (strings.HasPrefix(name, "Fatal") || strings.HasPrefix(name, "Panic")):
		return "exit"
	case program:
		return ""
	case pkg == "fmt" && strings.HasPrefix(name, "Print"), pkg == "os" && (name == "Stdout" || name == "Stderr"):
		return "print"
	case pkg == "log", pkg == "log/slog" && slices.Contains(defaultLogger, name):
		return "log"
	}
	return ""
}

// importNames maps the names that a file gives to its imports to their paths.
func importNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.Imports {
		what, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // checkImports says so
		}
		name := what[strings.LastIndexByte(what, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = what
	}
	return names
}
