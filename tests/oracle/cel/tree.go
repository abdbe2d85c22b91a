package main

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// parsed is what the parser made of an expression: the rows of its tree, or its errors with their offsets and all of
// their text.
type parsed struct {
	Tree    []any   `json:"tree,omitempty"`
	Errors  [][]any `json:"errors,omitempty"`
	Display string  `json:"display,omitempty"`
}

// parse reads an expression as a stored one; it is not checked. Where cel-go panics, it had already found a mistake.
func parse(env *cel.Env, text string) (result parsed) {
	defer func() {
		if problem := recover(); problem != nil {
			text := fmt.Sprintf("cel-go panics: %v", problem)
			result = parsed{Errors: [][]any{{-1, text}}, Display: text}
		}
	}()
	source := common.NewTextSource(text)
	tree, issues := env.ParseSource(source)
	if issues.Err() == nil {
		d := &dumper{info: tree.NativeRep().SourceInfo()}
		d.node(tree.NativeRep().Expr())
		return parsed{Tree: d.rows}
	}
	result = parsed{Display: issues.String()}
	for _, issue := range issues.Errors() {
		offset := int32(-1)
		if issue.Location.Line() > 0 {
			offset, _ = source.LocationOffset(issue.Location)
		}
		result.Errors = append(result.Errors, []any{offset, issue.Message})
	}
	return result
}

// dumper writes the nodes of a tree as rows, those below a node before its own.
type dumper struct {
	info *ast.SourceInfo
	rows []any
}

func (d *dumper) pos(id int64) int32 {
	r, ok := d.info.GetOffsetRange(id)
	if !ok {
		return -2
	}
	return r.Start
}

func (d *dumper) add(row ...any) int {
	d.rows = append(d.rows, row)
	return len(d.rows) - 1
}

func (d *dumper) node(e ast.Expr) int {
	p := d.pos(e.ID())
	switch e.Kind() {
	case ast.LiteralKind:
		switch v := e.AsLiteral().(type) {
		case types.Bool:
			return d.add("literal", p, bool(v))
		case types.Int:
			return d.add("literal", p, int64(v))
		case types.Uint:
			return d.add("uint", p, uint64(v))
		case types.Double:
			return d.add("double", p, float64(v))
		case types.String:
			return d.add("literal", p, string(v))
		case types.Bytes:
			s := []rune{}
			for _, b := range []byte(v) {
				s = append(s, rune(b))
			}
			return d.add("bytes", p, string(s))
		case types.Null:
			return d.add("literal", p, nil)
		}
		panic("literal")
	case ast.IdentKind:
		return d.add("ident", p, e.AsIdent())
	case ast.SelectKind:
		s := e.AsSelect()
		o := d.node(s.Operand())
		if s.IsTestOnly() {
			return d.add("has", p, o, s.FieldName())
		}
		return d.add("select", p, o, s.FieldName())
	case ast.CallKind:
		c := e.AsCall()
		var t any
		if c.IsMemberFunction() {
			t = d.node(c.Target())
		}
		args := []int{}
		for _, a := range c.Args() {
			args = append(args, d.node(a))
		}
		return d.add("call", p, c.FunctionName(), t, args)
	case ast.ListKind:
		l := e.AsList()
		el := []int{}
		for _, a := range l.Elements() {
			el = append(el, d.node(a))
		}
		o := l.OptionalIndices()
		if o == nil {
			o = []int32{}
		}
		return d.add("list", p, el, o)
	case ast.MapKind:
		es := []any{}
		for _, en := range e.AsMap().Entries() {
			m := en.AsMapEntry()
			k := d.node(m.Key())
			v := d.node(m.Value())
			es = append(es, []any{d.pos(en.ID()), k, v, m.IsOptional()})
		}
		return d.add("map", p, es)
	case ast.StructKind:
		es := []any{}
		for _, en := range e.AsStruct().Fields() {
			m := en.AsStructField()
			k := d.add("literal", d.pos(en.ID()), m.Name())
			v := d.node(m.Value())
			es = append(es, []any{d.pos(en.ID()), k, v, m.IsOptional()})
		}
		return d.add("message", p, e.AsStruct().TypeName(), es)
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		r := d.node(c.IterRange())
		i := d.node(c.AccuInit())
		co := d.node(c.LoopCondition())
		s := d.node(c.LoopStep())
		re := d.node(c.Result())
		return d.add("fold", p, r, c.IterVar(), c.IterVar2(), c.AccuVar(), i, co, s, re)
	}
	panic("kind")
}
