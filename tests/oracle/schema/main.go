// Command schema does with custom resources what an API server does on create:
// decode metadata, prune, drop nulls, default, validate. It reads one JSON
// object a line, {"crd": FILE, "data": OBJECT}, and writes one line for each.
// CRD rules (CEL) are not evaluated. The vectors below tests/schema/vectors are
// made with it. {"definition": CRD} asks what it refuses in a CRD, and, with
// "data" beside it, for an object of a CRD that it accepts.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

const rulesNotChecked = "some validation rules were not checked"

type strategy interface {
	NamespaceScoped() bool
	PrepareForCreate(ctx context.Context, obj runtime.Object)
	Validate(ctx context.Context, obj runtime.Object) field.ErrorList
}

// A resource is a CRD, ready to admit objects. rules is its strategy, bare the same without the CRD's rules.
type resource struct {
	structural  *structuralschema.Structural
	rules, bare strategy
}

type request struct {
	CRD        string          `json:"crd"`
	Definition json.RawMessage `json:"definition"`
	Data       json.RawMessage `json:"data"`
}

// An answer holds the stored object, the paths of unknown fields and the errors' texts, or why it is not decodable.
type answer struct {
	Data    map[string]any `json:"data,omitempty"`
	Dropped []string       `json:"dropped,omitempty"`
	Errors  []string       `json:"errors,omitempty"`
	Refused string         `json:"refused,omitempty"`
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func load(file string) *resource {
	text, err := os.ReadFile(file)
	must(err)
	var v1 apiextensionsv1.CustomResourceDefinition
	must(yaml.UnmarshalStrict(text, &v1))
	return prepare(v1)
}

func prepare(v1 apiextensionsv1.CustomResourceDefinition) *resource {
	var crd apiextensions.CustomResourceDefinition
	must(apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1, &crd, nil))
	version := crd.Spec.Versions[0]
	// The conversion hoists what all versions say to the top.
	schema, err := apiextensions.GetSchemaForVersion(&crd, version.Name)
	must(err)
	subresources, err := apiextensions.GetSubresourcesForVersion(&crd, version.Name)
	must(err)
	structural, err := structuralschema.NewStructural(schema.OpenAPIV3Schema)
	must(err)
	must(structuralschema.ValidateStructural(nil, structural).ToAggregate())
	validator, _, err := validation.NewSchemaValidator(schema.OpenAPIV3Schema)
	must(err)
	var status *apiextensions.CustomResourceSubresourceStatus
	if subresources != nil {
		status = subresources.Status
	}
	group := apiextensionsv1.SchemeGroupVersion
	group.Group, group.Version = crd.Spec.Group, version.Name
	full := customresource.NewStrategy(crdserverscheme.NewUnstructuredObjectTyper(),
		crd.Spec.Scope == apiextensions.NamespaceScoped, group.WithKind(crd.Spec.Names.Kind), validator, nil,
		structural, status, nil, nil)
	bare := reflect.New(reflect.TypeOf(full)).Elem()
	bare.Set(reflect.ValueOf(full))
	cel := bare.FieldByName("celValidator")
	reflect.NewAt(cel.Type(), unsafe.Pointer(cel.UnsafeAddr())).Elem().SetZero()
	return &resource{structural, full, bare.Interface().(strategy)}
}

// decode mirrors the order of the API server's decoder for custom resources.
func (r *resource) decode(u *unstructured.Unstructured) ([]string, error) {
	kind, apiVersion := u.GetKind(), u.GetAPIVersion()
	metadata, found, dropped, err := objectmeta.GetObjectMetaWithOptions(u.Object,
		objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, err
	}
	dropped = append(dropped, pruning.PruneWithOptions(u.Object, r.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	defaulting.PruneNonNullableNullsWithoutDefaults(u.Object, r.structural)
	wrong, unknown := objectmeta.CoerceWithOptions(nil, u.Object, r.structural, false,
		objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if wrong != nil {
		return nil, wrong
	}
	u.SetKind(kind)
	u.SetAPIVersion(apiVersion)
	if found {
		must(objectmeta.SetObjectMeta(u.Object, metadata))
	}
	defaulting.Default(u.Object, r.structural)
	return append(dropped, unknown...), nil
}

func (r *resource) admit(u *unstructured.Unstructured) answer {
	dropped, err := r.decode(u)
	if err != nil {
		return answer{Refused: err.Error()}
	}
	// Namespace and generation are the request's and the server's.
	ctx, generation, namespace := context.Background(), u.GetGeneration(), u.GetNamespace()
	_, named := u.Object["metadata"]
	switch {
	case !r.rules.NamespaceScoped():
		namespace = ""
		u.SetNamespace("")
	case namespace == "":
		u.SetNamespace("default")
	}
	r.rules.PrepareForCreate(ctx, u)
	u.SetGeneration(generation)
	var texts []string
	for _, e := range r.bare.Validate(ctx, u) {
		texts = append(texts, e.Error())
	}
	for _, e := range r.rules.Validate(ctx, u) {
		if strings.HasPrefix(e.Detail, rulesNotChecked) {
			texts = append(texts, e.Error())
		}
	}
	u.SetNamespace(namespace)
	if !named {
		delete(u.Object, "metadata")
	}
	slices.Sort(texts)
	slices.Sort(dropped)
	return answer{Data: u.Object, Dropped: dropped, Errors: texts}
}

// define does with a CRD what the API server does on create, up to its validation.
func define(v1 apiextensionsv1.CustomResourceDefinition) answer {
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(&v1)
	var crd apiextensions.CustomResourceDefinition
	must(apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1, &crd, nil))
	var texts []string
	for _, e := range crdvalidation.ValidateCustomResourceDefinition(context.Background(), &crd) {
		texts = append(texts, e.Error())
	}
	slices.Sort(texts)
	return answer{Errors: texts}
}

// judge answers a request about a CRD that came with it.
func judge(asked request) answer {
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(asked.Definition, &v1); err != nil {
		return answer{Refused: err.Error()}
	}
	found := define(v1)
	if len(found.Errors) > 0 || asked.Data == nil {
		return found
	}
	return admitted(prepare(v1), asked.Data)
}

func admitted(r *resource, data json.RawMessage) answer {
	object := map[string]any{}
	must(utiljson.Unmarshal(data, &object))
	return r.admit(&unstructured.Unstructured{Object: object})
}

func main() {
	resources := map[string]*resource{}
	input := bufio.NewReader(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for {
		line, end := input.ReadBytes('\n')
		if len(line) > 0 {
			var asked request
			must(json.Unmarshal(line, &asked))
			if asked.Definition != nil {
				must(output.Encode(judge(asked)))
				continue
			}
			r := resources[asked.CRD]
			if r == nil {
				r = load(asked.CRD)
				resources[asked.CRD] = r
			}
			must(output.Encode(admitted(r, asked.Data)))
		}
		if end != nil {
			return
		}
	}
}
