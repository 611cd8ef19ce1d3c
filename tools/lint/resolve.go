package lint

import (
	"errors"
	"go/ast"
	"go/types"
)

// scope knows what the identifiers of a package's files stand for.
type scope struct {
	pkg  *types.Package
	uses map[*ast.Ident]types.Object
	defs map[*ast.Ident]types.Object
}

var errNoImports = errors.New("lint: imports are not read")

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errNoImports }

// resolve binds the identifiers of the files outside tests by the type
// checker, without reading any import: what it cannot know of other packages'
// types does not matter, as every name in these files is still bound, to a
// local variable, to the package's own, to a builtin or to an import.
func (p *pack) resolve() scope {
	var files []*ast.File
	for _, s := range p.files {
		if !s.test {
			files = append(files, s.ast)
		}
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := config.Check(p.folder, p.fset, files, &info) // the error is of the imports
	return scope{pkg, info.Uses, info.Defs}
}

// isBuiltin reports whether id is the language's own, not a name declared over it.
func (s scope) isBuiltin(id *ast.Ident) bool {
	switch s.uses[id].(type) {
	case *types.Builtin, nil: // nil: code that the checker gave up on
		return true
	}
	return false
}

// isPackage reports whether id is the name of an import.
func (s scope) isPackage(id *ast.Ident) bool {
	switch s.uses[id].(type) {
	case *types.PkgName, nil:
		return true
	}
	return false
}

// packageVar returns the package's own variable that id stands for, or nil.
func (s scope) packageVar(id *ast.Ident) *types.Var {
	v, ok := s.uses[id].(*types.Var)
	if !ok {
		v, ok = s.defs[id].(*types.Var)
	}
	if !ok || v.Parent() != s.pkg.Scope() {
		return nil
	}
	return v
}
