// Command gotypes prints, as JSON, how Go reads and writes the structs behind
// JobSets, TrainJobs and training runtimes: the fields of every struct that can
// be reached from the roots below, with what their tags say.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsetac "sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

var roots = []any{
	jobset.JobSet{},
	jobsetac.JobSetApplyConfiguration{},
	trainer.TrainJob{},
	trainer.TrainingRuntime{},
	trainer.ClusterTrainingRuntime{},
	corev1.Pod{}.Spec,
	volcano.PodGroupSpec{},
}

// custom are the types with JSON methods of their own.
var custom = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():  "Quantity",
	reflect.TypeFor[intstr.IntOrString](): "IntOrString",
	reflect.TypeFor[metav1.Time]():        "Time",
	reflect.TypeFor[metav1.FieldsV1]():    "FieldsV1",
	reflect.TypeFor[[]byte]():             "bytes",
}

var (
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	zeroer      = reflect.TypeFor[interface{ IsZero() bool }]()
)

// field is one line of the table: JSON name, kind, flags (e: omitempty,
// z: omitzero), patch strategy, patch merge key, embedded structs on the way
// (their Go names); empty columns at the end are left out.
type field []string

type table struct {
	names  map[reflect.Type]string
	fields map[string][]field
}

func main() {
	all := table{map[reflect.Type]string{}, map[string][]field{}}
	for _, root := range roots {
		all.kind(reflect.TypeOf(root))
	}
	all.print()
}

// kind spells a type: a scalar or struct name after "*" (pointer), "[]" (list) and "{}" (map with string keys).
// Structs are called as Go's error messages call them: v1.PodSpec, v1alpha2.JobSetSpec.
func (t *table) kind(of reflect.Type) string {
	if name, ok := custom[of]; ok {
		return name
	}
	if of.Kind() != reflect.Pointer && reflect.PointerTo(of).Implements(unmarshaler) {
		panic(fmt.Sprintf("%v decodes itself and is not in the table of such types", of))
	}
	switch of.Kind() {
	case reflect.Pointer:
		return "*" + t.kind(of.Elem())
	case reflect.Slice:
		return "[]" + t.kind(of.Elem())
	case reflect.Map:
		if of.Key().Kind() != reflect.String {
			panic(fmt.Sprintf("%v: keys are no strings", of))
		}
		return "{}" + t.kind(of.Elem())
	case reflect.Struct:
		return t.structName(of)
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64:
		if of.Name() != of.Kind().String() {
			// The named type only shows in error messages.
			return of.Kind().String() + ":" + of.String()
		}
		return of.Kind().String()
	}
	panic(fmt.Sprintf("%v: no rule for its kind", of))
}

func (t *table) structName(of reflect.Type) string {
	if name, ok := t.names[of]; ok {
		return name
	}
	name := of.String()
	if _, taken := t.fields[name]; taken {
		panic(fmt.Sprintf("two structs are called %s", name))
	}
	t.names[of] = name
	t.fields[name] = nil
	t.fields[name] = t.structFields(of, "")
	return name
}

// structFields lists the fields in Go's order, embedded structs without a JSON name in place.
func (t *table) structFields(of reflect.Type, via string) []field {
	var fields []field
	for i := range of.NumField() {
		member := of.Field(i)
		name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
		if name == "-" && options == "" {
			continue
		}
		if name == "" && member.Anonymous {
			if member.Type.Kind() != reflect.Struct {
				panic(fmt.Sprintf("%v.%s: only plain structs may be inlined", of, member.Name))
			}
			fields = append(fields, t.structFields(member.Type, strings.TrimPrefix(via+"."+member.Name, "."))...)
			continue
		}
		if name == "" {
			name = member.Name
		}
		fields = append(fields, t.column(member, name, strings.Split(options, ","), via))
	}
	seen := map[string]bool{}
	for _, f := range fields {
		if seen[f[0]] {
			panic(fmt.Sprintf("%v: two fields are called %s", of, f[0]))
		}
		seen[f[0]] = true
	}
	return fields
}

func (t *table) column(member reflect.StructField, name string, options []string, via string) field {
	flags := ""
	for _, option := range options {
		switch option {
		case "omitempty":
			flags += "e"
		case "omitzero":
			flags += "z"
			if member.Type.Kind() == reflect.Struct && reflect.PointerTo(member.Type).Implements(zeroer) && custom[member.Type] == "" {
				panic(fmt.Sprintf("%s: no rule for its IsZero", member.Name))
			}
		case "", "inline":
		default:
			panic(fmt.Sprintf("%s: no rule for the option %s", member.Name, option))
		}
	}
	line := field{name, t.kind(member.Type), flags, member.Tag.Get("patchStrategy"), member.Tag.Get("patchMergeKey"), via}
	for len(line) > 2 && line[len(line)-1] == "" {
		line = line[:len(line)-1]
	}
	return line
}

// print writes one line a struct, sorted by name.
func (t *table) print() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	names := make([]string, 0, len(t.fields))
	for name := range t.fields {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintln(out, "{")
	for i, name := range names {
		line, err := json.Marshal(t.fields[name])
		if err != nil {
			panic(err)
		}
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		if t.fields[name] == nil {
			line = []byte("[]")
		}
		fmt.Fprintf(out, "%q:%s%s\n", name, line, comma)
	}
	fmt.Fprintln(out, "}")
}
