package main

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	goruntime "runtime"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	jobsetwebhooks "sigs.k8s.io/jobset/pkg/webhooks"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/runtime"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"
	trainerwebhooks "github.com/kubeflow/trainer/v2/pkg/webhooks"
)

// Stages, in order: the first that refuses a document ends it.
var stages = []string{"decode", "runtime-crd", "runtime-webhook", "crd", "webhook", "build", "jobset-crd", "jobset-webhook"}

// skipWebhookLabel, with the value "disabled", is what the runtime webhooks' objectSelector in Trainer's manifests excludes.
const skipWebhookLabel = "trainer.kubeflow.org/webhook-validation"

// A Result is the verdict on one document. Stage is null where it was accepted.
type Result struct {
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Stage     *string  `json:"stage"`
	Errors    []Error  `json:"errors"`
	Warnings  []string `json:"warnings"`
}

// A JobResult is the verdict on a TrainJob. Objects are there where it passed every stage. Refused names the
// runtime that the TrainJob would have used had it not been refused itself.
type JobResult struct {
	Result
	Refused string           `json:"refused,omitempty"`
	Objects []map[string]any `json:"objects"`
}

// A Verdict is one output line. Stage and Errors are those of the first stage at which any document fails.
// Documents are the runtimes, and whatever could not be decoded. Request is there if the case has one.
type Verdict struct {
	ID        string      `json:"id"`
	Stage     *string     `json:"stage"`
	Errors    []Error     `json:"errors"`
	Documents []Result    `json:"documents"`
	Results   []JobResult `json:"results"`
	Request   *Request    `json:"request,omitempty"`
}

func (r *Result) refuse(stage string, errs []Error) bool {
	if len(errs) == 0 {
		return false
	}
	r.Stage, r.Errors = &stage, sorted(errs)
	return true
}

type judge struct {
	cluster  *cluster
	crds     map[string]*resource
	hooks    hooks
	runtimes map[string]runtime.Runtime
	order    *order
}

// moduleRoot returns the folder of the module that holds a function's package, depth folders below the root.
func moduleRoot(function any, depth int) string {
	file, _ := goruntime.FuncForPC(reflect.ValueOf(function).Pointer()).FileLine(reflect.ValueOf(function).Pointer())
	for range depth + 1 {
		file = filepath.Dir(file)
	}
	return file
}

// newJudge loads schemas and registers webhooks and plugins, once for all cases.
func newJudge() (*judge, error) {
	cluster := &cluster{scheme: newScheme()}
	cluster.reset()
	mgr := &registrar{cluster: cluster, hooks: hooks{}}
	runtimes, err := core.New(context.Background(), cluster, indexer{}, nil)
	if err != nil {
		return nil, err
	}
	order, err := newOrder(runtimes)
	if err != nil {
		return nil, err
	}
	if kind, err := trainerwebhooks.Setup(mgr, runtimes); err != nil {
		return nil, fmt.Errorf("webhook of %s: %w", kind, err)
	}
	if err := jobsetwebhooks.Setup(mgr); err != nil {
		return nil, err
	}
	fixClock(mgr.hooks.hook("mutate", trainer.GroupVersion.WithKind(trainer.TrainJobKind)))
	crds, err := loadResources()
	if err != nil {
		return nil, err
	}
	return &judge{cluster, crds, mgr.hooks, runtimes, order}, nil
}

func loadResources() (map[string]*resource, error) {
	ofTrainer := filepath.Join(moduleRoot(core.New, 3), "manifests", "base", "crds")
	ofJobSet := filepath.Join(moduleRoot(jobsetwebhooks.Setup, 2), "config", "components", "crd", "bases")
	crds := map[string]*resource{}
	for _, file := range []string{
		filepath.Join(ofTrainer, "trainer.kubeflow.org_trainjobs.yaml"),
		filepath.Join(ofTrainer, "trainer.kubeflow.org_trainingruntimes.yaml"),
		filepath.Join(ofTrainer, "trainer.kubeflow.org_clustertrainingruntimes.yaml"),
		filepath.Join(ofJobSet, "jobset.x-k8s.io_jobsets.yaml"),
	} {
		crd, err := loadResource(file)
		if err != nil {
			return nil, err
		}
		crds[crd.kind.Kind] = crd
	}
	return crds, nil
}

// judge runs one case: all other documents exist, then come the runtimes, then the TrainJobs, one by one.
func (j *judge) judge(c Case) (*Verdict, error) {
	j.cluster.reset()
	j.order.set(c.Reversed)
	verdict := &Verdict{ID: c.ID, Errors: []Error{}, Documents: []Result{}, Results: []JobResult{}}
	refused := map[string]bool{}
	var jobs []*unstructured.Unstructured
	for _, d := range documents(c) {
		switch kind := d.kind(); {
		case d.err != nil:
			result := newResult(nil)
			result.refuse("decode", []Error{typed(notDecodable, d.err.Error())})
			verdict.Documents = append(verdict.Documents, result)
		case kind == trainer.TrainJobKind:
			jobs = append(jobs, d.object)
		case kind == trainer.TrainingRuntimeKind || kind == trainer.ClusterTrainingRuntimeKind:
			result, err := j.judgeRuntime(d.object)
			if err != nil {
				return nil, err
			}
			refused[runtimeName(result.Kind, result.Namespace, result.Name)] = result.Stage != nil
			verdict.Documents = append(verdict.Documents, result)
		default:
			if err := j.cluster.add(d.object); err != nil {
				result := newResult(d.object)
				result.refuse("decode", []Error{typed(notDecodable, err.Error())})
				verdict.Documents = append(verdict.Documents, result)
			}
		}
	}
	for _, u := range jobs {
		result, err := j.judgeJob(u)
		if err != nil {
			return nil, err
		}
		if name := runtimeOf(u); refused[name] {
			result.Refused = name
		}
		verdict.Results = append(verdict.Results, result)
	}
	verdict.summarise()
	if c.Request != "" {
		request, err := j.judgeRequest(c.Request, c.Old)
		if err != nil {
			return nil, err
		}
		verdict.Request = request
	}
	return verdict, nil
}

// summarise copies the errors of the first stage at which a document fails.
func (v *Verdict) summarise() {
	all := append([]Result{}, v.Documents...)
	for _, job := range v.Results {
		all = append(all, job.Result)
	}
	for _, stage := range stages {
		for _, result := range all {
			if result.Stage != nil && *result.Stage == stage {
				v.Stage, v.Errors = result.Stage, result.Errors
				return
			}
		}
	}
}

func newResult(u *unstructured.Unstructured) Result {
	result := Result{Errors: []Error{}, Warnings: []string{}}
	if u == nil {
		return result
	}
	result.Kind, result.Name = u.GetKind(), u.GetName()
	if !clusterScoped[result.Kind] {
		if metadata, ok := u.Object["metadata"].(map[string]any); ok && (metadata["namespace"] == nil || metadata["namespace"] == "") {
			u.SetNamespace("default")
		}
		result.Namespace = u.GetNamespace()
	}
	return result
}

func runtimeName(kind, namespace, name string) string {
	if clusterScoped[kind] {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}

func runtimeOf(job *unstructured.Unstructured) string {
	kind, _, _ := unstructured.NestedString(job.Object, "spec", "runtimeRef", "kind")
	name, _, _ := unstructured.NestedString(job.Object, "spec", "runtimeRef", "name")
	return runtimeName(kind, job.GetNamespace(), name)
}

func (j *judge) judgeRuntime(u *unstructured.Unstructured) (Result, error) {
	result := newResult(u)
	crd := j.crds[u.GetKind()]
	warnings, err := crd.decode(u)
	if err != nil {
		result.refuse("decode", []Error{typed(notDecodable, err.Error())})
		return result, nil
	}
	result.Warnings = append(result.Warnings, warnings...)
	if result.refuse("runtime-crd", crd.validate(u)) {
		return result, nil
	}
	if u.GetLabels()[skipWebhookLabel] != "disabled" {
		hook := j.hooks.hook("validate", crd.kind)
		var errs []Error
		if u.GetKind() == trainer.TrainingRuntimeKind {
			errs, warnings, err = validate(hook, u, nil, &trainer.TrainingRuntime{})
		} else {
			errs, warnings, err = validate(hook, u, nil, &trainer.ClusterTrainingRuntime{})
		}
		result.Warnings = append(result.Warnings, warnings...)
		if err != nil || result.refuse("runtime-webhook", errs) {
			return result, err
		}
	}
	if err := j.cluster.add(u); err != nil {
		// Only without the webhook: the API server stores it, but no controller can read it.
		result.refuse("runtime-webhook", []Error{typed(notDecodable, err.Error())})
	}
	return result, nil
}
