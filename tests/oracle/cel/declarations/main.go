// Command declarations prints what the checker of expressions must know of Kubernetes' CEL environments: overloads in
// their order of declaration, macros, names of types, and the protobuf messages that every environment knows.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/pb"
	plugin "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Declarations is the package data's shape. Maps are written in the order of their keys.
type Declarations struct {
	// Functions: by name, rows of overload id, signature ("." before it for a member) in order of declaration.
	Functions map[string][][2]string `json:"functions"`
	// StoredOnly: ids of overloads that new expressions may not use.
	StoredOnly []string `json:"stored_only"`
	// Macros: name and number of arguments; a third element for those that new expressions may not use.
	Macros [][]any `json:"macros"`
	// Structs: names of types that are structs; other names in signatures are opaque.
	Structs []string `json:"structs"`
	// Names: identifiers of types with their type; Values: those that a program may evaluate.
	Names  map[string]string `json:"names"`
	Values []string          `json:"values"`
	// Enums: constants by name. Messages: fields by name of a message.
	Enums    map[string]int64             `json:"enums"`
	Messages map[string]map[string]string `json:"messages"`
	// Policies: fields of a request and of its namespace, by name of their struct types.
	Policies map[string]map[string]string `json:"policies"`
}

func main() {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), true)
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(declarations(base.NewExpressionsEnv(), base.StoredExpressionsEnv())); err != nil {
		panic(err)
	}
}

func declarations(fresh, stored *cel.Env) Declarations {
	result := Declarations{
		Functions: map[string][][2]string{}, StoredOnly: []string{}, Macros: [][]any{}, Names: map[string]string{},
		Values: []string{}, Enums: map[string]int64{}, Messages: map[string]map[string]string{},
		Policies: map[string]map[string]string{},
	}
	structs := map[string]bool{}
	for name, function := range stored.Functions() {
		result.Functions[name], result.StoredOnly = rows(function, fresh.Functions()[name], result.StoredOnly, structs)
	}
	slices.Sort(result.StoredOnly)
	result.Structs = keys(structs)
	result.Macros = macros(fresh, stored)
	result.identifiers(stored)
	result.policies(plugin.BuildRequestType())
	result.policies(plugin.BuildNamespaceType())
	return result
}

// policies adds the fields of an object, and of those in it.
func (d *Declarations) policies(t *apiservercel.DeclType) {
	if t.IsList() {
		d.policies(t.ElemType)
	}
	if !t.IsObject() {
		return
	}
	d.Policies[t.TypeName()] = map[string]string{}
	for name, field := range t.Fields {
		d.Policies[t.TypeName()][name] = field.Type.CelType().String()
		d.policies(field.Type)
	}
}

// rows writes a function's overloads. Those of new expressions must be among them, in the same order.
func rows(function, fresh *decls.FunctionDecl, storedOnly []string, structs map[string]bool) ([][2]string, []string) {
	written := [][2]string{}
	common, known := []string{}, ids(fresh)
	for _, overload := range function.OverloadDecls() {
		written = append(written, [2]string{overload.ID(), signature(overload, structs)})
		if slices.Contains(known, overload.ID()) {
			common = append(common, overload.ID())
		} else {
			storedOnly = append(storedOnly, overload.ID())
		}
	}
	if !slices.Equal(common, known) {
		panic(fmt.Sprintf("%s: overloads of the two environments differ in order: %v, %v", function.Name(), common, known))
	}
	return written, storedOnly
}

func ids(function *decls.FunctionDecl) []string {
	result := []string{}
	if function != nil {
		for _, overload := range function.OverloadDecls() {
			result = append(result, overload.ID())
		}
	}
	return result
}

func signature(overload *decls.OverloadDecl, structs map[string]bool) string {
	args := []string{}
	for _, arg := range overload.ArgTypes() {
		collect(arg, structs)
		args = append(args, arg.String())
	}
	collect(overload.ResultType(), structs)
	member := ""
	if overload.IsMemberFunction() {
		member = "."
	}
	return member + "(" + strings.Join(args, ", ") + ") " + overload.ResultType().String()
}

func collect(t *types.Type, structs map[string]bool) {
	if t.Kind() == types.StructKind {
		structs[t.TypeName()] = true
	}
	for _, parameter := range t.Parameters() {
		collect(parameter, structs)
	}
}

func macros(fresh, stored *cel.Env) [][]any {
	known := map[string]bool{}
	for _, macro := range fresh.Macros() {
		known[macro.MacroKey()] = true
	}
	result := [][]any{}
	for _, macro := range stored.Macros() {
		row := []any{macro.Function(), macro.ArgCount()}
		if !known[macro.MacroKey()] {
			row = append(row, "stored")
		}
		result = append(result, row)
	}
	slices.SortFunc(result, func(a, b []any) int { return strings.Compare(fmt.Sprint(a...), fmt.Sprint(b...)) })
	return result
}

// identifiers adds the names of types and enum constants that any expression may use.
func (d *Declarations) identifiers(env *cel.Env) {
	provider := env.CELTypeProvider()
	for _, file := range pb.DefaultDb.FileDescriptions() {
		for _, name := range file.GetTypeNames() {
			found, _ := provider.FindStructType(name)
			d.Names[name] = found.String()
			d.Messages[name] = fields(provider, name)
		}
		for _, name := range file.GetEnumNames() {
			d.Enums[name] = int64(provider.EnumValue(name).(types.Int))
		}
	}
	candidates := append(keys(d.Names), d.Structs...)
	for _, t := range []*types.Type{
		types.AnyType, types.BoolType, types.BytesType, types.DoubleType, types.DynType, types.ErrorType, types.IntType,
		types.ListType, types.MapType, types.NullType, types.StringType, types.TypeType, types.UintType,
		types.OptionalType,
	} {
		candidates = append(candidates, t.TypeName())
	}
	candidates = append(candidates, opaqueNames(env)...)
	for _, name := range candidates {
		value, found := provider.FindIdent(name)
		t, isType := value.(*types.Type)
		if !found || !isType || slices.Contains(d.Values, name) {
			continue
		}
		d.Values = append(d.Values, name)
		if _, known := d.Names[name]; !known {
			d.Names[name] = types.NewTypeTypeWithParam(t).String()
		}
	}
	slices.Sort(d.Values)
	for _, variable := range env.Variables() {
		d.Names[variable.Name()] = variable.Type().String()
	}
}

func fields(provider types.Provider, name string) map[string]string {
	result := map[string]string{}
	names, _ := provider.FindStructFieldNames(name)
	for _, field := range names {
		found, _ := provider.FindStructFieldType(name, field)
		result[field] = found.Type.String()
	}
	return result
}

func opaqueNames(env *cel.Env) []string {
	names := map[string]bool{}
	var visit func(t *types.Type)
	visit = func(t *types.Type) {
		if t.Kind() == types.OpaqueKind {
			names[t.TypeName()] = true
		}
		for _, parameter := range t.Parameters() {
			visit(parameter)
		}
	}
	for _, function := range env.Functions() {
		for _, overload := range function.OverloadDecls() {
			visit(overload.ResultType())
			for _, arg := range overload.ArgTypes() {
				visit(arg)
			}
		}
	}
	return keys(names)
}

func keys[T any](known map[string]T) []string {
	result := make([]string, 0, len(known))
	for key := range known {
		result = append(result, key)
	}
	slices.Sort(result)
	return result
}
