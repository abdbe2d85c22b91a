package main

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
)

// Signature is one overload of one function, with the types as cel-go spells them.
type Signature struct {
	Function  string   `json:"function"`
	Overload  string   `json:"overload"`
	Args      []string `json:"args"` // the receiver first, if member
	Result    string   `json:"result"`
	Member    bool     `json:"member"`
	Params    []string `json:"params"`    // names of type parameters
	NonStrict bool     `json:"nonstrict"` // may be called with error arguments
	Envs      []string `json:"envs"`
}

// Macro is one macro; one with varargs takes any number of arguments.
type Macro struct {
	Macro   string   `json:"macro"`
	Args    int      `json:"args"`
	Member  bool     `json:"member"`
	Varargs bool     `json:"varargs"`
	Envs    []string `json:"envs"`
}

// Variable is an identifier that every expression sees: the name of a type.
type Variable struct {
	Variable string   `json:"variable"`
	Type     string   `json:"type"`
	Envs     []string `json:"envs"`
}

// Catalogue is all that the base environments declare.
type Catalogue struct {
	Functions []Signature `json:"functions"`
	Macros    []Macro     `json:"macros"`
	Variables []Variable  `json:"variables"`
}

// both are the base environments, in the order in which their names are listed.
func both() []struct {
	name string
	env  *cel.Env
} {
	base := baseEnvSet()
	return []struct {
		name string
		env  *cel.Env
	}{{"new", base.NewExpressionsEnv()}, {"stored", base.StoredExpressionsEnv()}}
}

// writeFunctions prints the catalogue, an entry a line.
func writeFunctions(out io.Writer) error {
	catalogue := catalogue()
	sections := []struct {
		name    string
		entries []any
	}{
		{"functions", anys(catalogue.Functions)},
		{"macros", anys(catalogue.Macros)},
		{"variables", anys(catalogue.Variables)},
	}
	text := []byte("{")
	for i, section := range sections {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, "\n\""+section.name+"\": ["...)
		for j, entry := range section.entries {
			if j > 0 {
				text = append(text, ',')
			}
			line, err := marshal(entry)
			if err != nil {
				return err
			}
			text = append(append(text, '\n'), line...)
		}
		text = append(text, "\n]"...)
	}
	if !json.Valid(append(slices.Clone(text), '}')) {
		panic("functions: not JSON")
	}
	_, err := out.Write(append(text, "\n}\n"...))
	return err
}

func anys[T any](entries []T) []any {
	result := make([]any, len(entries))
	for i, entry := range entries {
		result[i] = entry
	}
	return result
}

func catalogue() Catalogue {
	functions := map[string]*Signature{}
	macros := map[string]*Macro{}
	variables := map[string]*Variable{}
	for _, e := range both() {
		for _, function := range e.env.Functions() {
			for _, overload := range function.OverloadDecls() {
				s := signature(function, overload)
				found := merge(functions, s.Function+" "+s.Overload, &s)
				found.Envs = append(found.Envs, e.name)
			}
		}
		for _, m := range e.env.Macros() {
			found := merge(macros, m.MacroKey(), &Macro{m.Function(), m.ArgCount(), m.IsReceiverStyle(), m.ArgCount() == 0, nil})
			found.Envs = append(found.Envs, e.name)
		}
		for _, v := range e.env.Variables() {
			found := merge(variables, v.Name(), &Variable{v.Name(), spell(v.Type()), nil})
			found.Envs = append(found.Envs, e.name)
		}
	}
	return Catalogue{
		sorted(functions, func(s Signature) string { return s.Function + " " + s.Overload }),
		sorted(macros, func(m Macro) string { return m.Macro + " " + string(rune('0'+m.Args)) }),
		sorted(variables, func(v Variable) string { return v.Variable }),
	}
}

func signature(function *decls.FunctionDecl, overload *decls.OverloadDecl) Signature {
	args := []string{}
	for _, arg := range overload.ArgTypes() {
		args = append(args, spell(arg))
	}
	params := overload.TypeParams()
	if params == nil {
		params = []string{}
	}
	slices.Sort(params)
	return Signature{
		Function: function.Name(), Overload: overload.ID(), Args: args, Result: spell(overload.ResultType()),
		Member: overload.IsMemberFunction(), Params: params, NonStrict: overload.IsNonStrict(),
	}
}

// spell writes a type as cel-go's String does: google.protobuf.Duration, list(int), <A> for a parameter.
func spell(t *types.Type) string { return t.String() }

func merge[T any](known map[string]*T, key string, entry *T) *T {
	if known[key] == nil {
		known[key] = entry
	}
	return known[key]
}

func sorted[T any](known map[string]*T, key func(T) string) []T {
	result := make([]T, 0, len(known))
	for _, entry := range known {
		result = append(result, *entry)
	}
	slices.SortFunc(result, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return result
}
