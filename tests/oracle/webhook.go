package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// A registrar is the part of a manager that webhooks need to register; it keeps their handlers by path.
type registrar struct {
	manager.Manager // nil: anything else panics
	cluster         *cluster
	hooks           hooks
}

func (r *registrar) GetScheme() *apiruntime.Scheme        { return r.cluster.scheme }
func (r *registrar) GetClient() client.Client             { return r.cluster }
func (r *registrar) GetConfig() *rest.Config              { return &rest.Config{} }
func (r *registrar) GetWebhookServer() webhook.Server     { return r.hooks }
func (r *registrar) GetFieldIndexer() client.FieldIndexer { return indexer{} }

// hooks is a webhook server without a network.
type hooks map[string]http.Handler

func (h hooks) NeedLeaderElection() bool                { return false }
func (h hooks) Register(path string, hook http.Handler) { h[path] = hook }
func (h hooks) Start(context.Context) error             { return nil }
func (h hooks) StartedChecker() healthz.Checker         { return healthz.Ping }
func (h hooks) WebhookMux() *http.ServeMux              { return nil }

// hook returns a registered webhook: verb is mutate or validate.
func (h hooks) hook(verb string, kind schema.GroupVersionKind) *admission.Webhook {
	path := fmt.Sprintf("/%s-%s-%s-%s", verb, strings.ReplaceAll(kind.Group, ".", "-"), kind.Version, strings.ToLower(kind.Kind))
	result, ok := h[path].(*admission.Webhook)
	if !ok {
		panic("no webhook at " + path)
	}
	return result
}

// review sends a request to a webhook over its HTTP handler, as the API server would: an update where old is not nil.
func review(hook *admission.Webhook, u, old *unstructured.Unstructured) (*admissionv1.AdmissionResponse, []byte, error) {
	raw, err := u.MarshalJSON()
	if err != nil {
		return nil, nil, err
	}
	operation, before := admissionv1.Create, apiruntime.RawExtension{}
	if old != nil {
		operation = admissionv1.Update
		if before.Raw, err = old.MarshalJSON(); err != nil {
			return nil, nil, err
		}
	}
	kind := u.GroupVersionKind()
	body, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID:       "oracle",
			Kind:      metav1.GroupVersionKind(kind),
			Resource:  metav1.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: strings.ToLower(kind.Kind) + "s"},
			Name:      u.GetName(),
			Namespace: u.GetNamespace(),
			Operation: operation,
			Object:    apiruntime.RawExtension{Raw: raw},
			OldObject: before,
		},
	})
	if err != nil {
		return nil, nil, err
	}
	request := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	hook.ServeHTTP(recorder, request)
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil {
		return nil, nil, err
	}
	if answer.Response == nil {
		return nil, nil, fmt.Errorf("a webhook answered nothing: %s", recorder.Body)
	}
	return answer.Response, raw, nil
}

// mutate runs a mutating webhook and applies its JSON patch to u.
func mutate(hook *admission.Webhook, u, old *unstructured.Unstructured) ([]Error, error) {
	response, raw, err := review(hook, u, old)
	if err != nil {
		return nil, err
	}
	if !response.Allowed {
		return causes(response.Result), nil
	}
	if len(response.Patch) == 0 {
		return nil, nil
	}
	patch, err := jsonpatch.DecodePatch(response.Patch)
	if err != nil {
		return nil, err
	}
	patched, err := patch.Apply(raw)
	if err != nil {
		return nil, err
	}
	return nil, u.UnmarshalJSON(patched)
}

// validate runs a validating webhook. Where it denies without saying why in parts, its validator is asked again.
func validate[T client.Object](hook *admission.Webhook, u, old *unstructured.Unstructured, empty T) ([]Error, []string, error) {
	response, raw, err := review(hook, u, old)
	if err != nil {
		return nil, nil, err
	}
	if response.Allowed {
		return nil, response.Warnings, nil
	}
	errs := causes(response.Result)
	if response.Result.Code != http.StatusForbidden {
		return errs, response.Warnings, nil
	}
	denial, err := askValidator(validatorOf[T](hook), raw, old, empty)
	if err != nil {
		return nil, nil, err
	}
	if denial == nil || denial.Error() != response.Result.Message {
		return nil, nil, fmt.Errorf("two answers of one validator: %q and %v", response.Result.Message, denial)
	}
	return apart(denial), response.Warnings, nil
}

// askValidator calls a validator itself, which answers with the error that the webhook turns into text.
func askValidator[T client.Object](validator admission.Validator[T], raw []byte, old *unstructured.Unstructured, empty T) (denial, err error) {
	before := empty.DeepCopyObject().(T)
	if err := json.Unmarshal(raw, empty); err != nil {
		return nil, err
	}
	if old == nil {
		_, denial = validator.ValidateCreate(context.Background(), empty)
		return denial, nil
	}
	if raw, err = old.MarshalJSON(); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, before); err != nil {
		return nil, err
	}
	_, denial = validator.ValidateUpdate(context.Background(), before, empty)
	return denial, nil
}
