// Command volcano prints what Volcano v1.10 creates for a Job of batch.volcano.sh/v1alpha1: one line of JSON on standard
// input, {"job": ...}, gives one line on standard output, {"objects": [...], "error": ""}.
//
// It runs Volcano's own webhooks and Job controller with all its plugins. The controller reads from listers, which are
// filled from the store in memory before each round; groups are admitted, pods run, and rounds go on until nothing
// changes. The controller calls plugins in random order, so what they append to a pod is sorted by name.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"unsafe"

	jsonpatch "github.com/evanphx/json-patch"
	admission "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	volcanofake "volcano.sh/apis/pkg/client/clientset/versioned/fake"
	volcanoinformers "volcano.sh/apis/pkg/client/informers/externalversions"
	"volcano.sh/volcano/cmd/webhook-manager/app/options"
	"volcano.sh/volcano/pkg/controllers/apis"
	"volcano.sh/volcano/pkg/controllers/framework"
	_ "volcano.sh/volcano/pkg/controllers/job"
	"volcano.sh/volcano/pkg/controllers/job/state"
	_ "volcano.sh/volcano/pkg/webhooks/admission/jobs/mutate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/jobs/validate"
	"volcano.sh/volcano/pkg/webhooks/router"
)

const (
	rounds    = 8
	scheduler = "volcano"
)

type question struct {
	Job json.RawMessage `json:"job"`
}

type answer struct {
	Objects []map[string]any `json:"objects"`
	Error   string           `json:"error,omitempty"`
}

// kinds are the objects that the controller creates. The Secret's keys are random and are left out.
var kinds = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Pod"),
	corev1.SchemeGroupVersion.WithKind("Service"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	corev1.SchemeGroupVersion.WithKind("Secret"),
	corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
	networking.SchemeGroupVersion.WithKind("NetworkPolicy"),
	scheduling.SchemeGroupVersion.WithKind("PodGroup"),
}

// claim is the random end of the name of a claim that the controller creates.
var claim = regexp.MustCompile(`-pvc-[a-z0-9]{12}"`)

//go:linkname addJob volcano.sh/volcano/pkg/controllers/job.(*jobcontroller).addJob
func addJob(controller unsafe.Pointer, job any)

func main() {
	for _, add := range []func(*runtime.Scheme) error{batch.AddToScheme, scheduling.AddToScheme} {
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
		if err := out.Encode(reply(asked.Job)); err != nil {
			panic(err)
		}
	}
}

func reply(text []byte) (found answer) {
	defer func() {
		if reason := recover(); reason != nil {
			found = answer{Error: fmt.Sprint("panic: ", reason)}
		}
	}()
	job := &batch.Job{}
	if err := json.Unmarshal(text, job); err != nil {
		return answer{Error: err.Error()}
	}
	if job.Namespace == "" {
		job.Namespace = "default"
	}
	job.UID, job.ResourceVersion = "00000000-0000-0000-0000-000000000001", "1"
	job, err := admit(job)
	if err != nil { // what is valid follows, in random order
		message, _, _ := strings.Cut(err.Error(), "\n\n")
		return answer{Error: message}
	}
	objects, err := run(job)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Objects: objects}
}

// admit returns a job with the defaults of the webhook, if the webhook accepts it.
func admit(job *batch.Job) (*batch.Job, error) {
	services := map[string]*router.AdmissionService{}
	err := router.ForEachAdmission(&options.Config{EnabledAdmission: "/jobs/mutate,/jobs/validate"},
		func(service *router.AdmissionService) error {
			services[service.Path] = service
			queue := job.Spec.Queue
			if queue == "" {
				queue = "default"
			}
			service.Config.SchedulerNames = []string{scheduler}
			service.Config.VolcanoClient = volcanofake.NewSimpleClientset(newQueue(queue))
			return nil
		})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	review := func(text []byte) admission.AdmissionReview {
		return admission.AdmissionReview{Request: &admission.AdmissionRequest{
			Operation: admission.Create,
			Resource:  metav1.GroupVersionResource{Group: batch.SchemeGroupVersion.Group, Version: "v1alpha1", Resource: "jobs"},
			Object:    runtime.RawExtension{Raw: text},
		}}
	}
	response := services["/jobs/mutate"].Func(review(text))
	if !response.Allowed {
		return nil, errors.New(response.Result.Message)
	}
	if len(response.Patch) > 0 && string(response.Patch) != "null" {
		patch, err := jsonpatch.DecodePatch(response.Patch)
		if err != nil {
			return nil, err
		}
		if text, err = patch.Apply(text); err != nil {
			return nil, err
		}
	}
	if response = services["/jobs/validate"].Func(review(text)); !response.Allowed {
		return nil, errors.New(response.Result.Message)
	}
	admitted := &batch.Job{}
	return admitted, json.Unmarshal(text, admitted)
}

func newQueue(name string) *scheduling.Queue {
	return &scheduling.Queue{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     scheduling.QueueStatus{State: scheduling.QueueStateOpen},
	}
}

// run lets the controller work until nothing changes, and returns all objects but the job.
func run(job *batch.Job) ([]map[string]any, error) {
	tracker := clienttesting.NewObjectTracker(scheme.Scheme, serializer.NewCodecFactory(scheme.Scheme).UniversalDecoder())
	kube, jobs := &kubefake.Clientset{}, &volcanofake.Clientset{}
	for _, client := range []*clienttesting.Fake{&kube.Fake, &jobs.Fake} {
		client.AddReactor("*", "*", clienttesting.ObjectReaction(tracker))
	}
	inputs := []runtime.Object{job, newQueue(job.Spec.Queue)}
	for _, volume := range job.Spec.Volumes {
		if volume.VolumeClaim == nil { // a claim that the job expects
			metadata := metav1.ObjectMeta{Name: volume.VolumeClaimName, Namespace: job.Namespace}
			inputs = append(inputs, &corev1.PersistentVolumeClaim{ObjectMeta: metadata})
		}
	}
	for _, object := range inputs {
		if err := tracker.Add(object); err != nil {
			return nil, err
		}
	}
	core, own := informers.NewSharedInformerFactory(kube, 0), volcanoinformers.NewSharedInformerFactory(jobs, 0)
	controller, err := start(&framework.ControllerOption{
		KubeClient: kube, VolcanoClient: jobs, SharedInformerFactory: core, VCSharedInformerFactory: own, WorkerNum: 1,
		MaxRequeueNum: 1,
	})
	if err != nil {
		return nil, err
	}
	addJob(controller, job.DeepCopy())
	stores := map[schema.GroupVersionKind]cache.Indexer{
		batch.SchemeGroupVersion.WithKind("Job"):                    own.Batch().V1alpha1().Jobs().Informer().GetIndexer(),
		scheduling.SchemeGroupVersion.WithKind("Queue"):             own.Scheduling().V1beta1().Queues().Informer().GetIndexer(),
		scheduling.SchemeGroupVersion.WithKind("PodGroup"):          own.Scheduling().V1beta1().PodGroups().Informer().GetIndexer(),
		corev1.SchemeGroupVersion.WithKind("Pod"):                   core.Core().V1().Pods().Informer().GetIndexer(),
		corev1.SchemeGroupVersion.WithKind("Service"):               core.Core().V1().Services().Informer().GetIndexer(),
		corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"): core.Core().V1().PersistentVolumeClaims().Informer().GetIndexer(),
	}
	before := []map[string]any(nil)
	for range rounds {
		if err := fill(tracker, stores); err != nil {
			return nil, err
		}
		info, err := information(tracker, job)
		if err != nil {
			return nil, err
		}
		if err := state.SyncJob(info, nil); err != nil {
			return nil, err
		}
		if err := advance(tracker, job.Namespace); err != nil {
			return nil, err
		}
		after, err := list(tracker, job)
		if err != nil {
			return nil, err
		}
		if len(before) > 0 && reflect.DeepEqual(before, after) && pods(after) > 0 {
			return after, nil
		}
		before = after
	}
	return before, nil
}

// start creates a Job controller; the package offers it only through its registry, and state.SyncJob then calls it.
func start(option *framework.ControllerOption) (found unsafe.Pointer, err error) {
	framework.ForeachController(func(controller framework.Controller) {
		if controller.Name() == "job-controller" {
			err = controller.Initialize(option)
			found = reflect.ValueOf(controller).UnsafePointer()
		}
	})
	return found, err
}

// information returns a job with its pods by task, as the controller's cache holds them.
func information(tracker clienttesting.ObjectTracker, job *batch.Job) (*apis.JobInfo, error) {
	objects, err := items(tracker, batch.SchemeGroupVersion.WithKind("Job"), job.Namespace)
	if err != nil {
		return nil, err
	}
	info := &apis.JobInfo{
		Namespace: job.Namespace, Name: job.Name, Job: objects[0].(*batch.Job), Pods: map[string]map[string]*corev1.Pod{},
	}
	objects, err = items(tracker, corev1.SchemeGroupVersion.WithKind("Pod"), job.Namespace)
	for _, pod := range objects {
		if err := info.AddPod(pod.(*corev1.Pod)); err != nil {
			return nil, err
		}
	}
	return info, err
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
		found[i] = list.Index(i).Addr().Interface().(runtime.Object)
	}
	return found, nil
}

func resource(kind schema.GroupVersionKind) schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return plural
}

// advance does what scheduler and kubelet do: groups are admitted, pods run.
func advance(tracker clienttesting.ObjectTracker, namespace string) error {
	kind := scheduling.SchemeGroupVersion.WithKind("PodGroup")
	groups, err := items(tracker, kind, namespace)
	if err != nil {
		return err
	}
	for _, group := range groups {
		group.(*scheduling.PodGroup).Status.Phase = scheduling.PodGroupRunning
		if err := tracker.Update(resource(kind), group, namespace); err != nil {
			return err
		}
	}
	kind = corev1.SchemeGroupVersion.WithKind("Pod")
	pods, err := items(tracker, kind, namespace)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		pod.(*corev1.Pod).Status.Phase = corev1.PodRunning
		if err := tracker.Update(resource(kind), pod, namespace); err != nil {
			return err
		}
	}
	return nil
}

// list returns all objects that the controller created, sorted by kind and name, without what a cluster adds.
func list(tracker clienttesting.ObjectTracker, job *batch.Job) ([]map[string]any, error) {
	found := []map[string]any{}
	for _, kind := range kinds {
		objects, err := items(tracker, kind, job.Namespace)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if pod, ok := object.(*corev1.Pod); ok {
				settle(pod, job)
			}
			text, err := json.Marshal(object)
			if err != nil {
				return nil, err
			}
			var read map[string]any
			if err := json.Unmarshal(claim.ReplaceAll(text, []byte(`-pvc-0"`)), &read); err != nil {
				return nil, err
			}
			read["apiVersion"], read["kind"] = kind.ToAPIVersionAndKind()
			delete(read, "status")
			metadata := read["metadata"].(map[string]any)
			if metadata["ownerReferences"] == nil {
				continue // an input
			}
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

// settle sorts what plugins have appended to a pod, and replaces random names of volumes.
func settle(pod *corev1.Pod, job *batch.Job) {
	var template corev1.PodSpec
	for _, task := range job.Spec.Tasks {
		if task.Name == pod.Annotations[batch.TaskSpecKey] {
			template = task.Template.Spec
		}
	}
	claims := len(job.Spec.Volumes)
	volumes := pod.Spec.Volumes[len(template.Volumes):]
	for i := range min(claims, len(volumes)) {
		name := fmt.Sprintf("%s-volume-%d", job.Name, i)
		for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for _, container := range containers {
				for k := range container.VolumeMounts {
					if container.VolumeMounts[k].Name == volumes[i].Name {
						container.VolumeMounts[k].Name = name
					}
				}
			}
		}
		volumes[i].Name = name
	}
	byName(volumes[min(claims, len(volumes)):], func(v corev1.Volume) string { return v.Name })
	for i := range pod.Spec.Containers {
		arrange(&pod.Spec.Containers[i], template.Containers[i], claims)
	}
	for i := range pod.Spec.InitContainers {
		arrange(&pod.Spec.InitContainers[i], template.InitContainers[i], 0)
	}
}

func arrange(container *corev1.Container, template corev1.Container, claims int) {
	byName(container.Env[len(template.Env):], func(v corev1.EnvVar) string { return v.Name })
	byName(container.Ports[len(template.Ports):], func(p corev1.ContainerPort) string { return p.Name })
	byName(container.VolumeMounts[min(len(template.VolumeMounts)+claims, len(container.VolumeMounts)):],
		func(m corev1.VolumeMount) string { return m.Name })
}

func byName[T any](items []T, name func(T) string) {
	sort.SliceStable(items, func(i, j int) bool { return name(items[i]) < name(items[j]) })
}

func pods(objects []map[string]any) (count int) {
	for _, object := range objects {
		if object["kind"] == "Pod" {
			count++
		}
	}
	return count
}

func key(object map[string]any) string {
	return fmt.Sprint(object["kind"], " ", object["metadata"].(map[string]any)["name"])
}
