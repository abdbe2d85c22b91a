package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/warning"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-base/featuregate"
)

// Question: the policies, bindings, params and namespaces of a cluster, and a request to it.
type Question struct {
	ID         string            `json:"id"`
	Policies   []json.RawMessage `json:"policies"`
	Bindings   []json.RawMessage `json:"bindings"`
	Params     []map[string]any  `json:"params"`
	Namespaces []json.RawMessage `json:"namespaces"`
	Kinds      []Kind            `json:"kinds"`
	Request    Request           `json:"request"`
}

// Kind is one that the cluster knows.
type Kind struct {
	Group      string `json:"group"`
	Version    string `json:"version"`
	Kind       string `json:"kind"`
	Plural     string `json:"plural"`
	Namespaced bool   `json:"namespaced"`
}

// Request as trainc.admit.policy.Request has it.
type Request struct {
	Operation   string         `json:"operation"`
	Object      map[string]any `json:"object"`
	OldObject   map[string]any `json:"old_object"`
	Group       string         `json:"group"`
	Version     string         `json:"version"`
	Kind        string         `json:"kind"`
	Resource    string         `json:"resource"`
	Namespace   string         `json:"namespace"`
	Name        string         `json:"name"`
	SubResource string         `json:"sub_resource"`
}

// Decision is what the server says: its error, if any, its warnings, and what it writes to the audit log.
type Decision struct {
	ID          string   `json:"id"`
	Error       string   `json:"error"`
	Reason      string   `json:"reason"`
	Code        int32    `json:"code"`
	Warnings    []string `json:"warnings"`
	Annotations []string `json:"annotations"`
}

func init() { generic.SetPolicyRefreshIntervalForTests(time.Millisecond) }

func decide(line []byte) (any, error) {
	var q Question
	if err := json.Unmarshal(line, &q); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	plugin, err := start(ctx, &q)
	if err != nil {
		return nil, err
	}
	answer := &Decision{ID: q.ID, Warnings: []string{}, Annotations: []string{}}
	attributes := &recording{Attributes: q.Request.attributes(), answer: answer}
	err = plugin.Validate(warning.WithWarningRecorder(ctx, answer), attributes, newInterfaces(&q))
	slices.Sort(answer.Annotations)
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		answer.Error, answer.Reason, answer.Code = err.Error(), string(status.ErrStatus.Reason), status.ErrStatus.Code
	} else if err != nil {
		return nil, err
	}
	return answer, nil
}

// start runs the plugin with informers of a fake cluster until it has seen all there is.
func start(ctx context.Context, q *Question) (*validating.Plugin, error) {
	objects, err := q.native()
	if err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	lists := map[schema.GroupVersionResource]string{}
	for _, kind := range q.Kinds {
		scope := meta.RESTScope(meta.RESTScopeRoot)
		if kind.Namespaced {
			scope = meta.RESTScopeNamespace
		}
		mapper.AddSpecific(kind.gvk(), kind.gvr(), kind.gvr(), scope)
		lists[kind.gvr()] = kind.Kind + "List"
	}
	var dynamic []runtime.Object
	for _, param := range q.Params {
		if object := (&unstructured.Unstructured{Object: param}); object.GetKind() != "ConfigMap" {
			dynamic = append(dynamic, object)
		}
	}
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	plugin := validating.NewPlugin(nil)
	initializer.New(client, dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, dynamic...),
		factory, noOpinion{}, featuregate.NewFeatureGate(), ctx.Done(), mapper).Initialize(plugin)
	plugin.SetRESTMapper(mapper)
	if err := plugin.ValidateInitialization(); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return plugin, nil
}

func (q *Question) native() ([]runtime.Object, error) {
	var objects []runtime.Object
	for _, raw := range q.Policies {
		policy, err := decodePolicy(raw)
		if err != nil {
			return nil, err
		}
		objects = append(objects, policy)
	}
	for _, raw := range q.Bindings {
		binding, err := decodeBinding(raw)
		if err != nil {
			return nil, err
		}
		objects = append(objects, binding)
	}
	for _, raw := range q.Namespaces {
		var namespace corev1.Namespace
		if err := json.Unmarshal(raw, &namespace); err != nil {
			return nil, err
		}
		metav1.SetMetaDataLabel(&namespace.ObjectMeta, corev1.LabelMetadataName, namespace.Name)
		objects = append(objects, &namespace)
	}
	for _, param := range q.Params {
		if param["kind"] == "ConfigMap" {
			var config corev1.ConfigMap
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(param, &config); err != nil {
				return nil, err
			}
			config.TypeMeta = metav1.TypeMeta{} // as in an informer's cache
			objects = append(objects, &config)
		}
	}
	return objects, nil
}

func (k Kind) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

func (k Kind) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Plural}
}

func (r *Request) attributes() admission.Attributes {
	namespace := r.Namespace
	if r.Group == "" && r.Resource == "namespaces" {
		namespace = r.Name // as the create handler has it
	}
	var options runtime.Object
	switch r.Operation {
	case "CREATE":
		options = &metav1.CreateOptions{TypeMeta: optionsType("CreateOptions")}
	case "UPDATE":
		options = &metav1.UpdateOptions{TypeMeta: optionsType("UpdateOptions")}
	case "DELETE":
		options = &metav1.DeleteOptions{TypeMeta: optionsType("DeleteOptions")}
	}
	kind := schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
	resource := schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
	return admission.NewAttributesRecord(object(r.Object), object(r.OldObject), kind, namespace, r.Name, resource,
		r.SubResource, admission.Operation(r.Operation), options, false, &user.DefaultInfo{Name: "somebody"})
}

func optionsType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: "meta.k8s.io/v1"}
}

// object is nil, not a nil pointer, where there is none.
func object(data map[string]any) runtime.Object {
	if data == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: whole(data).(map[string]any)}
}

// whole turns numbers without a fraction into integers, as the server decodes JSON.
func whole(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = whole(v[key])
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return value
}

// recording keeps all annotations, also those of one key.
type recording struct {
	admission.Attributes
	answer *Decision
}

func (r *recording) AddAnnotation(key, value string) error {
	r.answer.Annotations = append(r.answer.Annotations, fmt.Sprintf("%s: %s", key, value))
	return nil
}

// AddWarning keeps a warning.
func (d *Decision) AddWarning(agent, text string) { d.Warnings = append(d.Warnings, text) }

type noOpinion struct{}

func (noOpinion) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

// newInterfaces knows which versions of a resource are the same to a request, and converts by changing apiVersion alone.
func newInterfaces(q *Question) admission.ObjectInterfaces {
	registry := runtime.NewEquivalentResourceRegistry()
	for _, kind := range q.Kinds {
		registry.RegisterKindFor(kind.gvr(), "", kind.gvk())
		registry.RegisterKindFor(kind.gvr(), "status", kind.gvk())
	}
	return interfaces{registry}
}

type interfaces struct {
	registry runtime.EquivalentResourceMapper
}

func (interfaces) GetObjectTyper() runtime.ObjectTyper         { return nil }
func (interfaces) GetObjectDefaulter() runtime.ObjectDefaulter { return nil }
func (interfaces) GetObjectCreater() runtime.ObjectCreater     { return conversion{} }
func (interfaces) GetObjectConvertor() runtime.ObjectConvertor { return conversion{} }
func (i interfaces) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper {
	return i.registry
}

type conversion struct{ runtime.ObjectConvertor }

func (conversion) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	return &unstructured.Unstructured{}, nil
}

func (conversion) Convert(in, out, _ any) error {
	in.(*unstructured.Unstructured).DeepCopyInto(out.(*unstructured.Unstructured))
	return nil
}
