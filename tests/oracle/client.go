package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	schedulerpluginsv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
)

func newScheme() *apiruntime.Scheme {
	scheme := apiruntime.NewScheme()
	for _, add := range []func(*apiruntime.Scheme) error{
		clientgoscheme.AddToScheme, trainer.AddToScheme, jobsetv1alpha2.AddToScheme,
		schedulerpluginsv1alpha1.AddToScheme, volcanov1beta1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// clusterScoped are the kinds without a namespace that a case may hold.
var clusterScoped = map[string]bool{
	trainer.ClusterTrainingRuntimeKind: true, "PriorityClass": true, "Namespace": true, "RuntimeClass": true,
	"PersistentVolume": true, "StorageClass": true, "Node": true, "ClusterRole": true, "ClusterRoleBinding": true,
}

type key struct {
	kind schema.GroupKind
	client.ObjectKey
}

// A cluster is the part of a client that upstream's plugins and webhooks use, over the documents of a case. It
// answers as the controllers' cached client does, which names kinds where the API server names resources.
type cluster struct {
	client.Client // nil: anything else panics
	scheme        *apiruntime.Scheme
	objects       map[key]client.Object
}

func (c *cluster) reset() { c.objects = map[key]client.Object{} }

// add decodes an object of a known kind into its Go type; other kinds cannot be asked for.
func (c *cluster) add(u *unstructured.Unstructured) error {
	gvk := u.GroupVersionKind()
	if !c.scheme.Recognizes(gvk) {
		return nil
	}
	object, err := c.scheme.New(gvk)
	if err != nil {
		return err
	}
	if err := apiruntime.DefaultUnstructuredConverter.FromUnstructured(u.Object, object); err != nil {
		return err
	}
	// Once more through JSON, but for custom resources: the API server stores quantities of its own kinds in their
	// canonical form, and those of custom resources as they were written.
	if gvk.Group != trainer.GroupVersion.Group && gvk.Group != jobsetv1alpha2.GroupVersion.Group {
		raw, err := json.Marshal(object)
		if err != nil {
			return err
		}
		if object, err = c.scheme.New(gvk); err != nil {
			return err
		}
		if err := json.Unmarshal(raw, object); err != nil {
			return err
		}
	}
	typed, ok := object.(client.Object)
	if !ok {
		return fmt.Errorf("%s is not an object", gvk)
	}
	name := client.ObjectKeyFromObject(typed)
	if clusterScoped[gvk.Kind] {
		name.Namespace = ""
	} else if name.Namespace == "" {
		name.Namespace = "default"
	}
	c.objects[key{gvk.GroupKind(), name}] = typed
	return nil
}

func (c *cluster) Get(_ context.Context, name client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(out, c.scheme)
	if err != nil {
		return err
	}
	if clusterScoped[gvk.Kind] {
		name.Namespace = ""
	}
	found, ok := c.objects[key{gvk.GroupKind(), name}]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, name.Name)
	}
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(found.DeepCopyObject()).Elem())
	out.GetObjectKind().SetGroupVersionKind(gvk)
	return nil
}

// List finds nothing: no code under test needs more than an empty cluster's answer.
func (c *cluster) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("the oracle's cluster does not list")
}

// Apply is called for the runtime snapshot only, which the oracle leaves out.
func (c *cluster) Apply(context.Context, apiruntime.ApplyConfiguration, ...client.ApplyOption) error {
	return nil
}

func (c *cluster) Scheme() *apiruntime.Scheme { return c.scheme }

func (c *cluster) RESTMapper() meta.RESTMapper { return meta.NewDefaultRESTMapper(nil) }

// An indexer accepts every index; the oracle's cluster needs none.
type indexer struct{}

func (indexer) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return nil
}
