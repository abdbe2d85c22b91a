package main

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
)

// A Request is the verdict on one request. Object is what the API server would store, where it stores it.
type Request struct {
	Result
	Object map[string]any `json:"object,omitempty"`
}

// stagesOf are the names of the stages at which CRD and webhooks of a kind refuse.
var stagesOf = map[string][2]string{
	trainer.TrainJobKind:               {"crd", "webhook"},
	trainer.TrainingRuntimeKind:        {"runtime-crd", "runtime-webhook"},
	trainer.ClusterTrainingRuntimeKind: {"runtime-crd", "runtime-webhook"},
	"JobSet":                           {"jobset-crd", "jobset-webhook"},
}

// judgeRequest sends one object of the four kinds. With old it is an update of what that was when it was created.
func (j *judge) judgeRequest(text, old string) (*Request, error) {
	u, err := j.requested(text)
	var broken undecodable
	if errors.As(err, &broken) {
		request := &Request{Result: newResult(nil)}
		request.refuse("decode", []Error{typed(notDecodable, err.Error())})
		return request, nil
	}
	if err != nil {
		return nil, err
	}
	if old == "" {
		return j.create(u)
	}
	stored, err := j.requested(old)
	if err != nil {
		return nil, err
	}
	created, err := j.create(stored)
	if err != nil {
		return nil, err
	}
	if created.Stage != nil {
		return nil, fmt.Errorf("old was never created: %v", created.Errors)
	}
	if u.GroupVersionKind() != stored.GroupVersionKind() || u.GetName() != stored.GetName() {
		return nil, errors.New("old is another object")
	}
	request := &Request{Result: newResult(u)}
	if err := j.update(u, stored, &request.Result); err != nil {
		return nil, err
	}
	return request.with(u), nil
}

// undecodable is what is wrong with a text of which no object can be read.
type undecodable struct{ error }

// requested reads the text of one object.
func (j *judge) requested(text string) (*unstructured.Unstructured, error) {
	d := decode([]byte(text))
	if d.err != nil {
		return nil, undecodable{d.err}
	}
	if d.object == nil {
		return nil, errors.New("a request without an object")
	}
	if crd := j.crds[d.object.GetKind()]; crd == nil || crd.kind != d.object.GroupVersionKind() {
		return nil, fmt.Errorf("no request for a %s", d.object.GroupVersionKind())
	}
	return d.object, nil
}

func (r *Request) with(u *unstructured.Unstructured) *Request {
	if r.Stage == nil {
		r.Object = u.Object
	}
	return r
}

func (j *judge) create(u *unstructured.Unstructured) (*Request, error) {
	request := &Request{}
	var err error
	switch u.GetKind() {
	case trainer.TrainJobKind:
		request.Result = newResult(u)
		_, err = j.admitJob(u, &request.Result)
	case "JobSet":
		request.Result = newResult(u)
		_, err = j.admitJobSet(u, &request.Result)
	default:
		request.Result, err = j.judgeRuntime(u)
	}
	if err != nil {
		return nil, err
	}
	return request.with(u), nil
}

// update goes the API server's way: decoder, mutating webhook, CRD, validating webhook.
func (j *judge) update(u, old *unstructured.Unstructured, result *Result) error {
	crd, stage := j.crds[u.GetKind()], stagesOf[u.GetKind()]
	warnings, err := crd.decode(u)
	if err != nil {
		result.refuse("decode", []Error{typed(notDecodable, err.Error())})
		return nil
	}
	result.Warnings = append(result.Warnings, warnings...)
	if u.GetKind() == trainer.TrainJobKind || u.GetKind() == "JobSet" {
		errs, err := mutate(j.hooks.hook("mutate", crd.kind), u, old)
		if err != nil || result.refuse(stage[1], errs) {
			return err
		}
		if _, err := crd.decode(u); err != nil {
			return fmt.Errorf("after the mutating webhook: %w", err)
		}
	}
	if result.refuse(stage[0], crd.validateUpdate(u, old)) {
		return nil
	}
	errs, warnings, err := j.validateUpdate(crd.kind, u, old)
	result.Warnings = append(result.Warnings, warnings...)
	if err == nil {
		result.refuse(stage[1], errs)
	}
	return err
}

func (j *judge) validateUpdate(kind schema.GroupVersionKind, u, old *unstructured.Unstructured) ([]Error, []string, error) {
	runtime := kind.Kind == trainer.TrainingRuntimeKind || kind.Kind == trainer.ClusterTrainingRuntimeKind
	if runtime && u.GetLabels()[skipWebhookLabel] == "disabled" && old.GetLabels()[skipWebhookLabel] == "disabled" {
		return nil, nil, nil // an objectSelector matches if it selects either
	}
	hook := j.hooks.hook("validate", kind)
	switch kind.Kind {
	case trainer.TrainJobKind:
		return validate(hook, u, old, &trainer.TrainJob{})
	case trainer.TrainingRuntimeKind:
		return validate(hook, u, old, &trainer.TrainingRuntime{})
	case trainer.ClusterTrainingRuntimeKind:
		return validate(hook, u, old, &trainer.ClusterTrainingRuntime{})
	}
	return validate(hook, u, old, &jobset.JobSet{})
}
