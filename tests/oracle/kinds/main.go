// Command kinds says what the API server says of objects of its own kinds: one
// object a line on standard input (JSON), one {"undecodable", "unknown",
// "errors"} a line on standard output: why it cannot be decoded, what strict
// decoding says beside that, and what its validation says. It runs Kubernetes'
// own decoders, defaults and strategies. The namespace and the uid, which the
// request and the server give, are filled in.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	admission "k8s.io/kubernetes/pkg/apis/admissionregistration/validation"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
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
	"CronJob":               cronjob.Strategy,
	"Job":                   job.Strategy,
	"LimitRange":            limitrange.Strategy,
	"Namespace":             namespace.Strategy,
	"NetworkPolicy":         networkpolicy.Strategy,
	"PersistentVolumeClaim": persistentvolumeclaim.Strategy,
	"Pod":                   pod.Strategy,
	"PodDisruptionBudget":   poddisruptionbudget.Strategy,
	"PodTemplate":           podtemplate.Strategy,
	"PriorityClass":         priorityclass.Strategy,
	"ResourceQuota":         resourcequota.Strategy,
	"Role":                  role.Strategy,
	"RoleBinding":           rolebinding.Strategy,
	"Secret":                secret.Strategy,
	"Service":               service.Strategy,
	"ServiceAccount":        serviceaccount.Strategy,
}

type answer struct {
	Undecodable string   `json:"undecodable,omitempty"`
	Unknown     []string `json:"unknown,omitempty"`
	Errors      []string `json:"errors,omitempty"`
}

func judge(text []byte) answer {
	var found answer
	media, _ := runtime.SerializerInfoForMediaType(legacyscheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if _, _, err := media.StrictSerializer.Decode(text, nil, nil); err != nil {
		strict, lenient := runtime.AsStrictDecodingError(err)
		if !lenient {
			return answer{Undecodable: err.Error()}
		}
		for _, e := range strict.Errors() {
			found.Unknown = append(found.Unknown, e.Error())
		}
	}
	object, kind, err := legacyscheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return answer{Undecodable: err.Error()}
	}
	for _, e := range validate(kind.Kind, object) {
		found.Errors = append(found.Errors, e.Error())
	}
	return found
}

// validate returns the errors of a kind's validation; a panic, which the server answers with status 500, is one.
func validate(kind string, object runtime.Object) (found field.ErrorList) {
	defer func() {
		if reason := recover(); reason != nil {
			found = append(found, field.InternalError(nil, fmt.Errorf("%v", reason)))
		}
	}()
	metadata, err := meta.Accessor(object)
	if err != nil {
		panic(err)
	}
	metadata.SetUID("00000000-0000-0000-0000-000000000000")
	switch made := object.(type) {
	case *admissionregistration.ValidatingAdmissionPolicy:
		return admission.ValidateValidatingAdmissionPolicy(made)
	case *admissionregistration.ValidatingAdmissionPolicyBinding:
		return admission.ValidateValidatingAdmissionPolicyBinding(made)
	}
	strategy := strategies[kind]
	ctx := context.Background()
	if strategy.NamespaceScoped() {
		ctx = request.WithNamespace(ctx, "default")
		metadata.SetNamespace("default")
	}
	strategy.PrepareForCreate(ctx, object)
	return strategy.Validate(ctx, object)
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		line, err := json.Marshal(judge(in.Bytes()))
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(out, "%s\n", line)
	}
}
