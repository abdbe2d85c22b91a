// Command kube runs Kubernetes' and Trainer's own functions over cases: one
// JSON object a line on standard input, one a line on standard output. It is
// what the vectors below tests/kube/vectors are made with.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/apply"
	"github.com/kubeflow/trainer/v2/pkg/util/trainingruntime"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podresource "k8s.io/component-helpers/resource"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsetac "sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"
	kjson "sigs.k8s.io/json"
)

type testCase struct {
	Op     string            `json:"op"`
	Text   string            `json:"text"`
	Other  string            `json:"other"`
	Factor int64             `json:"factor"`
	Type   string            `json:"type"`
	Raw    json.RawMessage   `json:"raw"`
	Patch  json.RawMessage   `json:"patch"`
	Labels map[string]string `json:"labels"`
}

var types = map[string]reflect.Type{}

func init() {
	for _, sample := range []any{
		jobset.JobSet{}, jobset.JobSetSpec{}, trainer.TrainJob{}, trainer.TrainingRuntime{},
		trainer.ClusterTrainingRuntime{}, trainer.JobSetSpecPatch{}, corev1.PodSpec{}, corev1.Container{},
		corev1.ResourceRequirements{}, metav1.ObjectMeta{},
	} {
		of := reflect.TypeOf(sample)
		types[of.String()] = of
	}
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		var c testCase
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			panic(err)
		}
		result, err := safely(c)
		if err != nil {
			result = map[string]any{"error": err.Error()}
		}
		line, err := json.Marshal(result)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(out, "%s\n", line)
		out.Flush() // whoever asks may wait for this answer before the next question
	}
}

// safely turns a panic of upstream into an error that says so.
func safely(c testCase) (result any, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			result, err = nil, fmt.Errorf("panic: %v", reason)
		}
	}()
	return run(c)
}

func run(c testCase) (any, error) {
	switch c.Op {
	case "quantity":
		q, err := resource.ParseQuantity(c.Text)
		return describe(q), err
	case "quantity-json":
		var q resource.Quantity
		err := q.UnmarshalJSON(c.Raw)
		return describe(q), err
	case "arithmetic":
		return arithmetic(c)
	case "decode":
		value, err := decode(c.Raw, c.Type)
		return wrap(value), err
	case "apply":
		return applyConfiguration(c)
	case "merge":
		merged, err := strategicpatch.StrategicMergePatch(c.Raw, c.Patch, reflect.New(types[c.Type]).Interface())
		return wrap(json.RawMessage(merged)), err
	case "runtime-patch":
		return runtimePatch(c)
	case "resources":
		return resources(c)
	case "requests":
		return requests(c)
	case "names":
		return names(c.Text), nil
	case "labels":
		return labels(c.Labels), nil
	}
	return nil, fmt.Errorf("no such operation: %s", c.Op)
}

func wrap(value any) any { return map[string]any{"ok": value} }

func describe(q resource.Quantity) map[string]any {
	written, err := json.Marshal(q)
	if err != nil {
		panic(err)
	}
	rounded := q.DeepCopy()
	rounded.RoundUp(resource.Milli) // as SetDefaults_ResourceList does
	return map[string]any{
		"json": json.RawMessage(written), "value": q.Value(), "milli": q.MilliValue(),
		"zero": q.IsZero(), "sign": q.Sign(), "format": string(q.Format), "rounded": rounded.String(),
	}
}

func arithmetic(c testCase) (any, error) {
	left, err := resource.ParseQuantity(c.Text)
	if err != nil {
		return nil, err
	}
	right, err := resource.ParseQuantity(c.Other)
	if err != nil {
		return nil, err
	}
	sum, difference, product := left.DeepCopy(), left.DeepCopy(), left.DeepCopy()
	sum.Add(right)
	difference.Sub(right)
	product.Mul(c.Factor)
	again := sum.DeepCopy()
	again.Add(left)
	compared := left.DeepCopy()
	return map[string]any{
		"add": describe(sum), "sub": describe(difference), "mul": describe(product),
		"again": describe(again), "cmp": compared.Cmp(right),
	}, nil
}

// decode reads as Kubernetes' JSON serializer does (keys are case-sensitive).
func decode(raw []byte, name string) (any, error) {
	value := reflect.New(types[name]).Interface()
	return value, kjson.UnmarshalCaseSensitivePreserveInts(raw, value)
}

func applyConfiguration(c testCase) (any, error) {
	spec := jobset.JobSetSpec{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(c.Raw, &spec); err != nil {
		return nil, err
	}
	applied, err := apply.FromTypedObjWithFields[jobsetac.JobSetSpecApplyConfiguration](&jobset.JobSet{Spec: spec}, "spec")
	return wrap(applied), err
}

// runtimePatch does what Trainer does with one patch of a TrainJob.
func runtimePatch(c testCase) (any, error) {
	spec, patch := jobset.JobSetSpec{}, trainer.JobSetSpecPatch{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(c.Raw, &spec); err != nil {
		return nil, err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(c.Patch, &patch); err != nil {
		return nil, err
	}
	source, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	change, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	merged, err := strategicpatch.StrategicMergePatch(source, change, jobset.JobSetSpec{})
	if err != nil {
		return nil, err
	}
	result := jobset.JobSetSpec{}
	err = json.Unmarshal(merged, &result)
	return wrap(result), err
}

func resources(c testCase) (any, error) {
	var base, override corev1.ResourceRequirements
	if err := kjson.UnmarshalCaseSensitivePreserveInts(c.Raw, &base); err != nil {
		return nil, err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(c.Patch, &override); err != nil {
		return nil, err
	}
	merged, err := trainingruntime.MergeResourceRequirements(base, override)
	return wrap(merged), err
}

func requests(c testCase) (any, error) {
	pod := corev1.Pod{}
	if err := json.Unmarshal(c.Raw, &pod.Spec); err != nil {
		return nil, err
	}
	return wrap(podresource.PodRequests(&pod, podresource.PodResourcesOptions{})), nil
}

func names(text string) any {
	list := func(texts []string) []string { return append([]string{}, texts...) }
	return map[string]any{
		"dns1035_label":        list(validation.IsDNS1035Label(text)),
		"dns1123_label":        list(validation.IsDNS1123Label(text)),
		"dns1123_subdomain":    list(validation.IsDNS1123Subdomain(text)),
		"label_key":            list(validation.IsQualifiedName(text)),
		"label_value":          list(validation.IsValidLabelValue(text)),
		"namespace_prefix":     list(apivalidation.ValidateNamespaceName(text, true)),
		"config_map_key":       list(validation.IsConfigMapKey(text)),
		"relaxed_env_name":     list(validation.IsRelaxedEnvVarName(text)),
		"port_name":            list(validation.IsValidPortName(text)),
		"domain_prefixed_path": errorTexts(validation.IsDomainPrefixedPath(field.NewPath("f"), text)),
	}
}

func labels(values map[string]string) any {
	// Upstream's order is that of its maps.
	onLabels := errorTexts(metavalidation.ValidateLabels(values, field.NewPath("f")))
	onAnnotations := errorTexts(apivalidation.ValidateAnnotations(values, field.NewPath("f")))
	sort.Strings(onLabels)
	sort.Strings(onAnnotations)
	return map[string]any{"labels": onLabels, "annotations": onAnnotations}
}

func errorTexts(errors field.ErrorList) []string {
	texts := []string{}
	for _, err := range errors {
		texts = append(texts, err.Error())
	}
	return texts
}
