// Command trainer prints what an older release of Trainer creates for a TrainJob: one line of JSON on standard input,
// {"documents": [...]}, gives one line on standard output, {"objects": [...], "error": ""}.
//
// The documents are a TrainJob, its runtime and what else lies in the cluster. They get the defaults of that release's
// CRDs, and that release's own webhook and plugins do the rest. This one source is built for v2.1 with go.mod, for
// v2.0 with go build -modfile=v2.0.mod, and for v2.2 with v2.2.mod.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/runtime"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	schedulerplugins "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	"sigs.k8s.io/yaml"
)

type question struct {
	Documents []map[string]any `json:"documents"`
}

type answer struct {
	Objects  []map[string]any `json:"objects"`
	Warnings []string         `json:"warnings,omitempty"`
	Error    string           `json:"error,omitempty"`
}

var (
	scheme  = apiruntime.NewScheme()
	schemas = map[string]*schema.Structural{}
)

type indexer struct{}

func (indexer) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return nil
}

func main() {
	log.SetLogger(logr.Discard())
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	for _, add := range []func(*apiruntime.Scheme) error{
		clientgoscheme.AddToScheme, trainer.AddToScheme, jobset.AddToScheme, schedulerplugins.AddToScheme,
	} {
		must(add(scheme))
	}
	for _, plural := range []string{"trainjobs", "trainingruntimes", "clustertrainingruntimes"} {
		kind, structural, err := load(plural)
		must(err)
		schemas[kind] = structural
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<26)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for in.Scan() {
		var asked question
		must(json.Unmarshal(in.Bytes(), &asked))
		must(out.Encode(reply(asked)))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// manifests returns the folder of a release's manifests, which its module has.
func manifests() string {
	pointer := reflect.ValueOf(core.New).Pointer()
	file, _ := goruntime.FuncForPC(pointer).FileLine(pointer)
	return filepath.Join(filepath.Dir(file), "..", "..", "..", "manifests", "base")
}

// complete returns documents with the runtimes that the release installs, but for those of the same name.
func complete(documents []map[string]any) []map[string]any {
	names := map[string]bool{}
	for _, document := range documents {
		if document["kind"] == "ClusterTrainingRuntime" {
			names[fmt.Sprint(document["metadata"].(map[string]any)["name"])] = true
		}
	}
	must(filepath.WalkDir(filepath.Join(manifests(), "runtimes"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, part := range strings.Split(string(text), "\n---\n") {
			var document map[string]any
			if err := yaml.Unmarshal([]byte(part), &document); err != nil {
				return err
			}
			if document["kind"] == "ClusterTrainingRuntime" && !names[fmt.Sprint(document["metadata"].(map[string]any)["name"])] {
				documents = append(documents, document)
			}
		}
		return nil
	}))
	return documents
}

// load returns the kind and the schema of a CRD in Trainer's module.
func load(plural string) (string, *schema.Structural, error) {
	text, err := os.ReadFile(filepath.Join(manifests(), "crds", "trainer.kubeflow.org_"+plural+".yaml"))
	if err != nil {
		return "", nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return "", nil, err
	}
	var properties apiextensions.JSONSchemaProps
	source := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(source, &properties, nil); err != nil {
		return "", nil, err
	}
	structural, err := schema.NewStructural(&properties)
	return crd.Spec.Names.Kind, structural, err
}

// newRuntimes calls core.New, which has one more parameter since v2.2: the controller's configuration.
func newRuntimes(cluster client.Client) (map[string]runtime.Runtime, error) {
	function := reflect.ValueOf(core.New)
	arguments := []reflect.Value{
		reflect.ValueOf(context.Background()), reflect.ValueOf(cluster), reflect.ValueOf(indexer{}),
	}
	for number := len(arguments); number < function.Type().NumIn(); number++ {
		arguments = append(arguments, reflect.Zero(function.Type().In(number)))
	}
	results := function.Call(arguments)
	err, _ := results[1].Interface().(error)
	return results[0].Interface().(map[string]runtime.Runtime), err
}

func reply(asked question) (found answer) {
	defer func() {
		if reason := recover(); reason != nil {
			found = answer{Error: fmt.Sprint("panic: ", reason)}
		}
	}()
	var job *trainer.TrainJob
	objects := []client.Object{}
	for _, document := range complete(asked.Documents) {
		object, err := decode(document)
		if err != nil {
			return answer{Error: err.Error()}
		}
		if one, ok := object.(*trainer.TrainJob); ok {
			job = one
		} else if object != nil {
			objects = append(objects, object)
		}
	}
	job.UID = "0"
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	runtimes, err := newRuntimes(cluster)
	if err != nil {
		return answer{Error: err.Error()}
	}
	chosen, ok := runtimes[runtime.RuntimeRefToRuntimeRegistryKey(job.Spec.RuntimeRef)]
	if !ok {
		return answer{Error: "no such kind of runtime"}
	}
	warnings, failures := chosen.ValidateObjects(context.Background(), nil, job)
	if len(failures) > 0 {
		for _, failure := range failures { // without the value, which can hold addresses in memory
			found.Error += fmt.Sprintf("%s: %s: %s\n", failure.Field, failure.Type, failure.Detail)
		}
		return found
	}
	made, err := chosen.NewObjects(context.Background(), job.DeepCopy())
	if err != nil {
		return answer{Warnings: warnings, Error: err.Error()}
	}
	found.Warnings = warnings
	for _, one := range made {
		text, err := json.Marshal(one)
		must(err)
		var object map[string]any
		must(json.Unmarshal(text, &object))
		delete(object, "status")
		delete(object["metadata"].(map[string]any), "ownerReferences")
		delete(object["metadata"].(map[string]any), "creationTimestamp")
		if object["kind"] != "Secret" {
			found.Objects = append(found.Objects, object)
		}
	}
	slices.SortFunc(found.Objects, func(a, b map[string]any) int {
		return cmp.Compare(fmt.Sprint(a["kind"]), fmt.Sprint(b["kind"]))
	})
	return found
}

// decode prunes an object and sets defaults, as the API server of that release would; nil for other kinds.
func decode(document map[string]any) (client.Object, error) {
	object := &unstructured.Unstructured{Object: document}
	gvk := object.GroupVersionKind()
	if !scheme.Recognizes(gvk) {
		return nil, nil
	}
	if object.GetNamespace() == "" && gvk.Kind != "ClusterTrainingRuntime" {
		object.SetNamespace("default")
	}
	if structural := schemas[gvk.Kind]; structural != nil && gvk.Group == trainer.GroupVersion.Group {
		pruning.Prune(object.Object, structural, true)
		defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, structural)
		defaulting.Default(object.Object, structural)
		object.SetAPIVersion(gvk.GroupVersion().String())
		object.SetKind(gvk.Kind)
	}
	made, err := scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	text, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return made.(client.Object), json.Unmarshal(text, made)
}
