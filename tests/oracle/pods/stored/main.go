// Command stored prints objects of built-in kinds as an API server gives them to validating admission policies when they
// are created: one object a line in (JSON), one a line out. Admission plugins are not run. A Service has its defaults
// only, without the addresses that the registry allocates.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
)

var strategies = map[string]rest.RESTCreateStrategy{
	"ClusterRole":           clusterrole.Strategy,
	"ClusterRoleBinding":    clusterrolebinding.Strategy,
	"ConfigMap":             configmap.Strategy,
	"Job":                   job.Strategy,
	"Namespace":             namespace.Strategy,
	"PersistentVolumeClaim": persistentvolumeclaim.Strategy,
	"Pod":                   pod.Strategy,
	"PriorityClass":         priorityclass.Strategy,
	"Role":                  role.Strategy,
	"RoleBinding":           rolebinding.Strategy,
	"Secret":                secret.Strategy,
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<26)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for in.Scan() {
		answer, err := stored(in.Bytes())
		if err == nil {
			err = out.Encode(answer)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "stored:", err)
			os.Exit(1)
		}
	}
}

func stored(line []byte) (any, error) {
	given, gvk, err := legacyscheme.Codecs.UniversalDeserializer().Decode(line, nil, nil)
	if err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(given)
	internal := schema.GroupVersion{Group: gvk.Group, Version: runtime.APIVersionInternal}
	// Without a copy, as in a server: what defaults share, such as the labels of a Job and of its pods, stays shared.
	object, err := runtime.UnsafeObjectConvertor(legacyscheme.Scheme).ConvertToVersion(given, internal)
	if err != nil {
		return nil, err
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	ctx := request.WithNamespace(context.Background(), accessor.GetNamespace())
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{APIGroup: gvk.Group, APIVersion: gvk.Version})
	rest.FillObjectMetaSystemFields(accessor)
	accessor.SetCreationTimestamp(metav1.Time{})
	if strategy, known := strategies[gvk.Kind]; known {
		if err := rest.BeforeCreate(strategy, ctx, object); err != nil {
			return nil, err
		}
	}
	versioned, err := legacyscheme.Scheme.ConvertToVersion(object, gvk.GroupVersion())
	if err != nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(versioned)
}
