package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/runtime"
)

func (j *judge) judgeJob(u *unstructured.Unstructured) (JobResult, error) {
	result := JobResult{Result: newResult(u), Objects: []map[string]any{}}
	job, err := j.admitJob(u, &result.Result)
	if job == nil || err != nil {
		return result, err
	}
	objects, errs := j.build(job)
	if result.refuse("build", errs) {
		return result, nil
	}
	var kept []map[string]any
	for _, object := range objects {
		if object.GetKind() == "Secret" {
			continue
		}
		if object.GetKind() == "JobSet" {
			if admitted, err := j.admitJobSet(object, &result.Result); !admitted || err != nil {
				return result, err
			}
		}
		object.SetOwnerReferences(nil)
		unstructured.RemoveNestedField(object.Object, "status")
		kept = append(kept, object.Object)
	}
	slices.SortStableFunc(kept, func(a, b map[string]any) int {
		return cmp.Compare(fmt.Sprint(a["kind"], a["apiVersion"]), fmt.Sprint(b["kind"], b["apiVersion"]))
	})
	result.Objects = append(result.Objects, kept...)
	return result, nil
}

// admitJob takes a TrainJob through its CRD and webhooks and returns what the controller would read, or nil.
func (j *judge) admitJob(u *unstructured.Unstructured, result *Result) (*trainer.TrainJob, error) {
	crd := j.crds[trainer.TrainJobKind]
	warnings, err := crd.decode(u)
	if err != nil {
		result.refuse("decode", []Error{typed(notDecodable, err.Error())})
		return nil, nil
	}
	result.Warnings = append(result.Warnings, warnings...)
	if result.refuse("crd", crd.validate(u)) {
		return nil, nil
	}
	errs, err := mutate(j.hooks.hook("mutate", crd.kind), u, nil)
	if err != nil || result.refuse("webhook", errs) {
		return nil, err
	}
	if _, err := crd.decode(u); err != nil {
		return nil, fmt.Errorf("after the defaulter: %w", err)
	}
	if errs := crd.validate(u); len(errs) > 0 {
		return nil, fmt.Errorf("the defaulter broke the schema: %v", errs)
	}
	errs, warnings, err = validate(j.hooks.hook("validate", crd.kind), u, nil, &trainer.TrainJob{})
	result.Warnings = append(result.Warnings, warnings...)
	if err != nil || result.refuse("webhook", errs) {
		return nil, err
	}
	raw, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	job := &trainer.TrainJob{}
	if err := json.Unmarshal(raw, job); err != nil {
		return nil, err
	}
	job.UID = "0" // what the API server would have set; nothing but ownerReferences shows it
	return job, nil
}

// build runs the controller's part. A panic of the controller is an error of this stage.
func (j *judge) build(job *trainer.TrainJob) (objects []*unstructured.Unstructured, errs []Error) {
	defer func() {
		if reason := recover(); reason != nil {
			objects, errs = nil, []Error{typed(panicked, fmt.Sprint(reason))}
		}
	}()
	chosen, ok := j.runtimes[runtime.RuntimeRefToRuntimeRegistryKey(job.Spec.RuntimeRef)]
	if !ok {
		panic("the webhook let an unknown kind of runtime pass")
	}
	configurations, err := chosen.NewObjects(context.Background(), job.DeepCopy())
	if err != nil {
		return nil, []Error{plain(err)}
	}
	for _, configuration := range configurations {
		object, err := toObject(configuration)
		if err != nil {
			return nil, []Error{plain(err)}
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// toObject reads an apply configuration as the API server would, from its JSON.
func toObject(configuration apiruntime.ApplyConfiguration) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(configuration)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	return object, object.UnmarshalJSON(raw)
}

// admitJobSet takes a JobSet through its CRD and webhooks, and leaves in u what the API server would store.
func (j *judge) admitJobSet(u *unstructured.Unstructured, result *Result) (bool, error) {
	crd := j.crds["JobSet"]
	if _, err := crd.decode(u); err != nil {
		result.refuse("jobset-crd", []Error{typed(notDecodable, err.Error())})
		return false, nil
	}
	if result.refuse("jobset-crd", crd.validate(u)) {
		return false, nil
	}
	errs, err := mutate(j.hooks.hook("mutate", crd.kind), u, nil)
	if err != nil || result.refuse("jobset-webhook", errs) {
		return false, err
	}
	if _, err := crd.decode(u); err != nil {
		return false, fmt.Errorf("after the JobSet webhook: %w", err)
	}
	if result.refuse("jobset-crd", crd.validate(u)) {
		return false, nil
	}
	errs, warnings, err := validate(j.hooks.hook("validate", crd.kind), u, nil, &jobset.JobSet{})
	result.Warnings = append(result.Warnings, warnings...)
	if err != nil || result.refuse("jobset-webhook", errs) {
		return false, err
	}
	return true, nil
}
