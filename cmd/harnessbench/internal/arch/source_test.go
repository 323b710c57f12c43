package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// maxLines bounds a Go file that is neither a test nor generated.
const maxLines = 600

// clockFree are the packages that never read the machine's clock: the loop and
// all it is replayed through. Waiting and measuring are loop/clock's.
const clockFree = "loop loop/guard loop/event loop/model loop/model/sim loop/tool loop/tool/... loop/prompt loop/workspace " +
	"recorder recorder/session replayer scenarios/... graders/... results results/stats results/pricing results/report ablations/trial"

// clockCalls are the functions of package time that read or use the clock.
var clockCalls = []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep"}

// exemptMethods are methods whose meaning an interface has said once.
const exemptMethods = "Kind Header String Error Unwrap Len Less Swap MarshalJSON UnmarshalJSON MarshalText UnmarshalText UnmarshalYAML Format"

// source is one parsed file.
type source struct {
	pkg  string // path of its package, relative to the module
	name string // for messages
	text string
	file *ast.File
	fset *token.FileSet
}

func parse(pkg, name, text string) (*source, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{pkg: pkg, name: name, text: text, file: f, fset: fset}, nil
}

// checkSource returns every breach of the source rules.
func checkSource(s *source) (bad []string) {
	if ast.IsGenerated(s.file) {
		return nil
	}
	if n := strings.Count(s.text, "\n"); n > maxLines {
		bad = append(bad, fmt.Sprintf("%s: %d lines are more than %d: split it where a reader would look", s.name, n, maxLines))
	}
	if covers(clockFree, s.pkg) {
		bad = append(bad, s.clock()...)
	}
	return append(bad, s.docs()...)
}

func (s *source) at(n ast.Node) string {
	p := s.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", s.name, p.Line)
}

// clock finds uses of the clock, called or not.
func (s *source) clock() (bad []string) {
	name := ""
	for _, imp := range s.file.Imports {
		if imp.Path.Value == `"time"` {
			name = "time"
			if imp.Name != nil {
				name = imp.Name.Name
			}
		}
	}
	if name == "" {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
			for _, c := range clockCalls {
				if sel.Sel.Name == c {
					bad = append(bad, fmt.Sprintf("%s: time.%s: time comes from loop/clock, or a replay would differ", s.at(n), c))
				}
			}
		}
		return true
	})
	return bad
}

// docs finds exported things without a doc comment.
func (s *source) docs() (bad []string) {
	missing := func(n ast.Node, what string) {
		bad = append(bad, fmt.Sprintf("%s: %s has no doc comment", s.at(n), what))
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if what := exportedFunc(d); what != "" && d.Doc == nil {
				missing(d, what)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				s.specDoc(d, spec, missing)
			}
		}
	}
	return bad
}

// specDoc checks one type, constant or variable: a comment of its own, beside
// it, or of its group.
func (s *source) specDoc(d *ast.GenDecl, spec ast.Spec, missing func(ast.Node, string)) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
			missing(spec, spec.Name.Name)
		}
	case *ast.ValueSpec:
		for _, n := range spec.Names {
			if n.IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
				missing(n, n.Name)
			}
		}
	}
}

// exportedFunc names a function that needs a doc comment: exported, and no
// exempt method or method of an unexported type.
func exportedFunc(d *ast.FuncDecl) string {
	if !d.Name.IsExported() {
		return ""
	}
	if d.Recv == nil {
		return d.Name.Name
	}
	if covers(exemptMethods, d.Name.Name) {
		return ""
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	switch g := t.(type) {
	case *ast.IndexExpr:
		t = g.X
	case *ast.IndexListExpr:
		t = g.X
	}
	if id, ok := t.(*ast.Ident); ok && id.IsExported() {
		return id.Name + "." + d.Name.Name
	}
	return ""
}
