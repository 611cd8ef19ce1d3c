package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// checkState looks for package-level variables that can change: libraries keep
// their state in values that the caller holds. Sentinel errors, literal tables,
// constants that must be computed (sync.OnceValue too) and embedded files are
// fine, as long as nothing in the package writes to them.
func (p *pack) checkState() (found []Finding) {
	names := p.resolve()
	vars := map[*types.Var]bool{}
	for _, s := range p.files {
		if s.test {
			continue
		}
		packages := importNames(s.ast)
		for _, d := range s.ast.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.VAR {
				continue
			}
			for _, spec := range decl.Specs {
				spec := spec.(*ast.ValueSpec)
				embedded := embeds(decl.Doc) || embeds(spec.Doc)
				for i, id := range spec.Names {
					if id.Name == "_" {
						continue
					}
					if v := names.packageVar(id); v != nil {
						vars[v] = true
					}
					if why := stateful(spec, i, packages, names); why != "" && !embedded {
						found = append(found, p.finding(s, id, "state", "%s: %s", id.Name, why))
					}
				}
			}
		}
	}
	for _, s := range p.files {
		if !s.test {
			found = append(found, p.writes(s, names, vars)...)
		}
	}
	return found
}

// stateful says why the i-th variable of spec is state, judged by its
// declaration alone, or returns "".
func stateful(spec *ast.ValueSpec, i int, packages map[string]string, names scope) string {
	if what := syncType(spec.Type, packages); what != "" {
		return what + " at package level"
	}
	if len(spec.Values) == 0 {
		return "no initial value, so it must be set later"
	}
	value := spec.Values[0] // of a call with several results
	if len(spec.Values) == len(spec.Names) {
		value = spec.Values[i]
	}
	value = ast.Unparen(value)
	if u, ok := value.(*ast.UnaryExpr); ok && u.Op == token.AND {
		value = ast.Unparen(u.X)
	}
	switch v := value.(type) {
	case *ast.CompositeLit:
		if what := syncType(v.Type, packages); what != "" {
			return what + " at package level"
		}
		if _, isMap := v.Type.(*ast.MapType); isMap && len(v.Elts) == 0 {
			return "empty map, so it must be filled later"
		}
	case *ast.CallExpr:
		if id, ok := v.Fun.(*ast.Ident); ok && names.isBuiltin(id) && (id.Name == "make" || id.Name == "new") {
			return id.Name + " of a value to be filled later"
		}
	}
	if id := spec.Names[i]; id.IsExported() && !strings.HasPrefix(id.Name, "Err") {
		return "exported variable: anyone may set it"
	}
	return ""
}

// syncType returns the name of a type of sync or sync/atomic, or "".
func syncType(expr ast.Expr, packages map[string]string) string {
	if expr == nil {
		return ""
	}
	if star, ok := expr.(*ast.StarExpr); ok {
		expr = star.X
	}
	if index, ok := expr.(*ast.IndexExpr); ok { // atomic.Pointer[T]
		expr = index.X
	}
	if sel, ok := expr.(*ast.SelectorExpr); ok {
		if id, ok := sel.X.(*ast.Ident); ok && (packages[id.Name] == "sync" || packages[id.Name] == "sync/atomic") {
			return id.Name + "." + sel.Sel.Name
		}
	}
	return ""
}

func embeds(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, c := range doc.List {
		if strings.HasPrefix(c.Text, "//go:embed ") {
			return true
		}
	}
	return false
}

// writes finds what changes one of vars: an assignment to it or to a part of
// it, its address taken, delete, clear and copy.
func (p *pack) writes(s *source, names scope, vars map[*types.Var]bool) (found []Finding) {
	report := func(at ast.Node, target ast.Expr, how string) {
		if id := root(target); id != nil {
			if v := names.packageVar(id); v != nil && vars[v] {
				found = append(found, p.finding(s, at, "state", "%s is %s", id.Name, how))
			}
		}
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, target := range n.Lhs {
					report(n, target, "assigned to")
				}
			}
		case *ast.IncDecStmt:
			report(n, n.X, "assigned to")
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				report(n, n.Key, "assigned to")
				report(n, n.Value, "assigned to")
			}
		case *ast.UnaryExpr:
			// The address of an element is how one reads a table of large structs.
			if _, element := ast.Unparen(n.X).(*ast.IndexExpr); n.Op == token.AND && !element {
				report(n, n.X, "no longer the package's own once its address is taken")
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 && names.isBuiltin(id) {
				switch id.Name {
				case "delete", "clear", "copy":
					report(n, n.Args[0], "written by "+id.Name)
				}
			}
		}
		return true
	})
	return found
}

// root returns the variable that an expression is a part of, or nil.
func root(expr ast.Expr) *ast.Ident {
	for {
		switch e := expr.(type) {
		case *ast.Ident:
			return e
		case *ast.ParenExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.SliceExpr:
			expr = e.X
		case *ast.SelectorExpr:
			expr = e.X
		case *ast.StarExpr:
			expr = e.X
		default:
			return nil
		}
	}
}
