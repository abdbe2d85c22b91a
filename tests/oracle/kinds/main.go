// Command kinds says what the API server says of objects of its own kinds: one
// object a line on standard input (JSON), one {"undecodable", "unknown",
// "errors", "stored"} a line on standard output: why it cannot be decoded, what
// strict decoding says beside that, what its validation says, and what is
// stored if nothing is wrong. A line {"object", "old"} is an update of what was
// stored. It runs Kubernetes' own decoders, defaults and strategies. The
// namespace and the uid, which the request and the server give, are filled in.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"k8s.io/kubernetes/pkg/capabilities"
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

const uid = "00000000-0000-0000-0000-000000000000"

type strategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

var strategies = map[string]strategy{
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

type question struct {
	Object json.RawMessage `json:"object"`
	Old    json.RawMessage `json:"old"`
}

type answer struct {
	Undecodable string          `json:"undecodable,omitempty"`
	Unknown     []string        `json:"unknown,omitempty"`
	Errors      []string        `json:"errors,omitempty"`
	Stored      json.RawMessage `json:"stored,omitempty"`
}

func judge(line []byte) answer {
	var found answer
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil || asked.Object == nil {
		asked.Object = line
	}
	media, _ := runtime.SerializerInfoForMediaType(legacyscheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if _, _, err := media.StrictSerializer.Decode(asked.Object, nil, nil); err != nil {
		strict, lenient := runtime.AsStrictDecodingError(err)
		if !lenient {
			return answer{Undecodable: err.Error()}
		}
		for _, e := range strict.Errors() {
			found.Unknown = append(found.Unknown, e.Error())
		}
	}
	object, kind, err := legacyscheme.Codecs.UniversalDecoder().Decode(asked.Object, nil, nil)
	if err != nil {
		return answer{Undecodable: err.Error()}
	}
	var old runtime.Object
	if asked.Old != nil {
		if old, _, err = legacyscheme.Codecs.UniversalDecoder().Decode(asked.Old, nil, nil); err != nil {
			panic(err)
		}
	}
	for _, e := range validate(kind.Kind, object, old) {
		found.Errors = append(found.Errors, e.Error())
	}
	if found.Errors == nil {
		if found.Stored, err = runtime.Encode(legacyscheme.Codecs.LegacyCodec(kind.GroupVersion()), object); err != nil {
			panic(err)
		}
	}
	return found
}

// validate returns the errors of a kind's validation; a panic, which the server answers with status 500, is one.
func validate(kind string, object, old runtime.Object) (found field.ErrorList) {
	defer func() {
		if reason := recover(); reason != nil {
			found = append(found, field.InternalError(nil, fmt.Errorf("%v", reason)))
		}
	}()
	metadata := filled(object)
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
	if old == nil {
		strategy.PrepareForCreate(ctx, object)
		found = strategy.Validate(ctx, object)
		strategy.Canonicalize(object)
		return found
	}
	was := filled(old)
	was.SetNamespace(metadata.GetNamespace())
	for _, each := range []metav1.Object{metadata, was} {
		each.SetResourceVersion("1")
		each.SetCreationTimestamp(metav1.Unix(1, 0))
	}
	return causes(rest.BeforeUpdate(strategy, ctx, object, old))
}

func filled(object runtime.Object) metav1.Object {
	metadata, err := meta.Accessor(object)
	if err != nil {
		panic(err)
	}
	metadata.SetUID(uid)
	return metadata
}

// causes returns the fields that the server's answer names.
func causes(refused error) (found field.ErrorList) {
	if refused == nil {
		return nil
	}
	if status := (apierrors.APIStatus)(nil); errors.As(refused, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			found = append(found, &field.Error{Type: field.ErrorTypeForbidden, Field: cause.Field, Detail: cause.Message})
		}
	}
	if found == nil {
		found = append(found, field.InternalError(nil, refused))
	}
	return found
}

func main() {
	capabilities.Setup(true, 0) // as kubeadm and the managed offers start their API servers
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
