// Command mpi prints what mpi-operator v0.8 creates for an MPIJob of kubeflow.org/v2beta1: one line of JSON on standard
// input, {"job": ..., "gang": ""}, gives one line on standard output, {"objects": [...], "error": ""}.
//
// It runs the operator's own validation, defaults and controller. The controller reads from listers, which are filled
// from the store in memory before each round; pods are marked as running, and rounds go on until nothing changes.
// "gang" is the operator's flag --gang-scheduling: volcano or nothing.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"sort"
	"strings"
	_ "unsafe" // for go:linkname

	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app/options"
	kubeflow "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	"github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/validation"
	kubeflowfake "github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned/fake"
	kubeflowinformers "github.com/kubeflow/mpi-operator/pkg/client/informers/externalversions"
	"github.com/kubeflow/mpi-operator/pkg/controller"
	batch "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	volcanofake "volcano.sh/apis/pkg/client/clientset/versioned/fake"
)

const rounds = 6

type question struct {
	Job  json.RawMessage `json:"job"`
	Gang string          `json:"gang"`
}

type answer struct {
	Objects []map[string]any `json:"objects"`
	Error   string           `json:"error,omitempty"`
}

// kinds are the objects that the operator creates. The Secret's keys are random and are left out.
var kinds = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Pod"),
	corev1.SchemeGroupVersion.WithKind("Service"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	corev1.SchemeGroupVersion.WithKind("Secret"),
	batch.SchemeGroupVersion.WithKind("Job"),
	volcano.SchemeGroupVersion.WithKind("PodGroup"),
}

//go:linkname syncHandler github.com/kubeflow/mpi-operator/pkg/controller.(*MPIJobController).syncHandler
func syncHandler(c *controller.MPIJobController, key string) error

func main() {
	for _, add := range []func(*runtime.Scheme) error{
		kubeflow.AddToScheme, volcano.AddToScheme,
	} {
		if err := add(scheme.Scheme); err != nil {
			panic(err)
		}
	}
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<26)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for in.Scan() {
		var asked question
		if err := json.Unmarshal(in.Bytes(), &asked); err != nil {
			panic(err)
		}
		if err := out.Encode(reply(asked)); err != nil {
			panic(err)
		}
	}
}

func reply(asked question) (found answer) {
	defer func() {
		if reason := recover(); reason != nil {
			found = answer{Error: fmt.Sprint("panic: ", reason)}
		}
	}()
	job := &kubeflow.MPIJob{}
	if err := json.Unmarshal(asked.Job, job); err != nil {
		return answer{Error: err.Error()}
	}
	if job.Namespace == "" {
		job.Namespace = "default"
	}
	job.UID = "00000000-0000-0000-0000-000000000001"
	defaulted := job.DeepCopy()
	scheme.Scheme.Default(defaulted)
	if failures := validation.ValidateMPIJob(defaulted); len(failures) > 0 {
		return answer{Error: failures.ToAggregate().Error()}
	}
	objects, err := run(job, asked.Gang)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Objects: objects}
}

// run lets the controller work until nothing changes, and returns all objects but the job.
func run(job *kubeflow.MPIJob, gang string) ([]map[string]any, error) {
	tracker := clienttesting.NewObjectTracker(scheme.Scheme, serializer.NewCodecFactory(scheme.Scheme).UniversalDecoder())
	kube, jobs := &kubefake.Clientset{}, &kubeflowfake.Clientset{}
	groups := &volcanofake.Clientset{}
	for _, client := range []*clienttesting.Fake{&kube.Fake, &jobs.Fake, &groups.Fake} {
		client.AddReactor("*", "*", clienttesting.ObjectReaction(tracker))
	}
	if err := tracker.Add(job); err != nil {
		return nil, err
	}
	core, own := informers.NewSharedInformerFactory(kube, 0), kubeflowinformers.NewSharedInformerFactory(jobs, 0)
	mpiJobs := own.Kubeflow().V2beta1().MPIJobs()
	made, err := controller.NewMPIJobController(context.Background(), kube, jobs, groups, nil,
		core.Core().V1().ConfigMaps(), core.Core().V1().Secrets(), core.Core().V1().Services(),
		core.Batch().V1().Jobs(), core.Core().V1().Pods(), core.Scheduling().V1().PriorityClasses(), mpiJobs,
		&options.ServerOption{GangSchedulingName: gang})
	if err != nil {
		return nil, err
	}
	stores := map[schema.GroupVersionKind]cache.Indexer{
		kubeflow.SchemeGroupVersion.WithKind("MPIJob"):  mpiJobs.Informer().GetIndexer(),
		corev1.SchemeGroupVersion.WithKind("ConfigMap"): core.Core().V1().ConfigMaps().Informer().GetIndexer(),
		corev1.SchemeGroupVersion.WithKind("Secret"):    core.Core().V1().Secrets().Informer().GetIndexer(),
		corev1.SchemeGroupVersion.WithKind("Service"):   core.Core().V1().Services().Informer().GetIndexer(),
		batch.SchemeGroupVersion.WithKind("Job"):        core.Batch().V1().Jobs().Informer().GetIndexer(),
		corev1.SchemeGroupVersion.WithKind("Pod"):       core.Core().V1().Pods().Informer().GetIndexer(),
	}
	if made.PodGroupCtrl != nil {
		stores[volcano.SchemeGroupVersion.WithKind("PodGroup")] = made.PodGroupCtrl.PodGroupSharedIndexInformer().GetIndexer()
	}
	before := []map[string]any(nil)
	for range rounds {
		if err := fill(tracker, stores); err != nil {
			return nil, err
		}
		if err := syncHandler(made, job.Namespace+"/"+job.Name); err != nil {
			return nil, err
		}
		if err := advance(tracker, job.Namespace); err != nil {
			return nil, err
		}
		after, err := list(tracker, job.Namespace)
		if err != nil {
			return nil, err
		}
		if before != nil && reflect.DeepEqual(before, after) {
			return after, nil
		}
		before = after
	}
	return nil, errors.New("the job does not settle")
}

// fill gives the controller's listers what lies in the store.
func fill(tracker clienttesting.ObjectTracker, stores map[schema.GroupVersionKind]cache.Indexer) error {
	for kind, store := range stores {
		objects, err := items(tracker, kind, metav1.NamespaceAll)
		if err != nil {
			return err
		}
		found := make([]any, len(objects))
		for i := range objects {
			found[i] = objects[i]
		}
		if err := store.Replace(found, ""); err != nil {
			return err
		}
	}
	return nil
}

func items(tracker clienttesting.ObjectTracker, kind schema.GroupVersionKind, namespace string) ([]runtime.Object, error) {
	objects, err := tracker.List(resource(kind), kind, namespace)
	if err != nil {
		return nil, err
	}
	list := reflect.ValueOf(objects).Elem().FieldByName("Items")
	found := make([]runtime.Object, list.Len())
	for i := range found {
		item := list.Index(i)
		if item.Kind() != reflect.Pointer {
			item = item.Addr()
		}
		found[i] = item.Interface().(runtime.Object)
	}
	return found, nil
}

func resource(kind schema.GroupVersionKind) schema.GroupVersionResource {
	return kind.GroupVersion().WithResource(strings.ToLower(kind.Kind) + "s")
}

// advance does what the kubelet does: all pods run and are ready.
func advance(tracker clienttesting.ObjectTracker, namespace string) error {
	kind := corev1.SchemeGroupVersion.WithKind("Pod")
	pods, err := items(tracker, kind, namespace)
	if err != nil {
		return err
	}
	for _, object := range pods {
		pod := object.(*corev1.Pod)
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		if err := tracker.Update(resource(kind), pod, namespace); err != nil {
			return err
		}
	}
	return nil
}

// list returns all objects that the operator created, sorted by kind and name, without what a cluster adds.
func list(tracker clienttesting.ObjectTracker, namespace string) ([]map[string]any, error) {
	found := []map[string]any{}
	for _, kind := range kinds {
		objects, err := items(tracker, kind, namespace)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			text, err := json.Marshal(object)
			if err != nil {
				return nil, err
			}
			var read map[string]any
			if err := json.Unmarshal(text, &read); err != nil {
				return nil, err
			}
			read["apiVersion"], read["kind"] = kind.ToAPIVersionAndKind()
			delete(read, "status")
			metadata := read["metadata"].(map[string]any)
			delete(metadata, "creationTimestamp")
			delete(metadata, "resourceVersion")
			if data, ok := read["data"].(map[string]any); ok && kind.Kind == "Secret" {
				for name := range data {
					data[name] = ""
				}
			}
			found = append(found, read)
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return key(found[i]) < key(found[j]) })
	return found, nil
}

func key(object map[string]any) string {
	return fmt.Sprint(object["kind"], " ", object["metadata"].(map[string]any)["name"])
}
