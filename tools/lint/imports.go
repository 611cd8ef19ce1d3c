package lint

import (
	"go/ast"
	"path"
	"strconv"
	"strings"
)

// checkImports holds each import of the package to the rules' tables.
func (p *pack) checkImports(r Rules, t *tree) (found []Finding) {
	var row *Package
	for i := range r.Packages {
		if match(r.Packages[i].Folder, p.folder) {
			row = &r.Packages[i]
			break
		}
	}
	if row == nil {
		return []Finding{{Path: p.folder, Rule: "import", Text: "package without a row in the import table"}}
	}
	for _, s := range p.files {
		for _, spec := range s.ast.Imports {
			what, err := strconv.Unquote(spec.Path.Value)
			switch {
			case err != nil:
				found = append(found, p.finding(s, spec, "import", "path %s", spec.Path.Value))
			case what == "C":
				found = append(found, p.finding(s, spec, "import", "cgo"))
			case within(r.Module, what):
				found = append(found, p.checkOwn(s, spec, row, strings.TrimPrefix(strings.TrimPrefix(what, r.Module), "/"), t)...)
			case strings.Contains(strings.Split(what, "/")[0], "."): // not of the standard library
				found = append(found, p.checkModule(s, spec, r, what)...)
			}
			if spec.Name != nil && spec.Name.Name == "." && !s.test {
				found = append(found, p.finding(s, spec, "import", "dot import of %s", what))
			}
		}
	}
	return found
}

// checkOwn checks an import of a folder of this module.
func (p *pack) checkOwn(s *source, spec *ast.ImportSpec, row *Package, folder string, t *tree) []Finding {
	switch {
	case folder == p.folder && s.test: // a test from outside
		return nil
	case forTests(folder) && !s.test:
		return []Finding{p.finding(s, spec, "import", "%s is for tests only", folder)}
	case matchAny(row.Imports, folder):
		if only := row.Only[folder]; only != "" && !s.test {
			return p.checkOnly(s, spec, folder, only, t)
		}
		return nil
	case s.test && matchAny(row.TestImports, folder):
		return nil
	}
	return []Finding{p.finding(s, spec, "import", "%s must not import %s", p.folder, folder)}
}

// checkOnly checks that a file uses no name of an imported folder but those
// that one file there declares.
func (p *pack) checkOnly(s *source, spec *ast.ImportSpec, folder, only string, t *tree) (found []Finding) {
	declared := t.declared(only)
	name := path.Base(folder)
	if spec.Name != nil {
		name = spec.Name.Name
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == name && sel.Sel.IsExported() && !declared[sel.Sel.Name] {
			found = append(found, p.finding(s, sel, "import", "%s may use the types in %s only, not %s.%s", p.folder, only, name, sel.Sel.Name))
		}
		return true
	})
	return found
}

// declared returns the names that a file declares at its top level.
func (t *tree) declared(name string) map[string]bool {
	names := map[string]bool{}
	for _, p := range t.packages {
		for _, s := range p.files {
			if s.path != name {
				continue
			}
			for _, d := range s.ast.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					names[d.Name.Name] = true
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						switch spec := spec.(type) {
						case *ast.TypeSpec:
							names[spec.Name.Name] = true
						case *ast.ValueSpec:
							for _, id := range spec.Names {
								names[id.Name] = true
							}
						}
					}
				}
			}
		}
	}
	return names
}

// checkModule checks an import of another module's package.
func (p *pack) checkModule(s *source, spec *ast.ImportSpec, r Rules, what string) []Finding {
	var row *Module
	for i := range r.Modules {
		if m := &r.Modules[i]; within(m.Path, what) && (row == nil || len(m.Path) > len(row.Path)) {
			row = m
		}
	}
	switch {
	case row == nil:
		return []Finding{p.finding(s, spec, "module", "%s is not in the module table", what)}
	case matchAny(row.Folders, p.folder):
		return nil
	case row.Tests && s.test:
		return nil
	case len(row.Folders) == 0:
		return []Finding{p.finding(s, spec, "module", "%s is for tests only", row.Path)}
	}
	return []Finding{p.finding(s, spec, "module", "%s is for %s only", row.Path, strings.Join(row.Folders, ", "))}
}
