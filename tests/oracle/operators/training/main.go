// Command training prints what training-operator v1.9 creates for its jobs: one line of JSON on standard input,
// {"job": ..., "gang": ""}, gives one line on standard output, {"objects": [...], "warnings": [...], "error": ""}.
//
// It runs the operator's own validation, defaults and reconcilers. All clients share one store of objects in memory.
// Pods are marked as running and the job is reconciled until nothing changes, so that all of a job's objects are there.
// "gang" is the operator's flag --gang-scheduler-name.
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

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/controller.v1/control"
	"github.com/kubeflow/training-operator/pkg/controller.v1/jax"
	"github.com/kubeflow/training-operator/pkg/controller.v1/mpi"
	"github.com/kubeflow/training-operator/pkg/controller.v1/pytorch"
	"github.com/kubeflow/training-operator/pkg/controller.v1/tensorflow"
	"github.com/kubeflow/training-operator/pkg/controller.v1/xgboost"
	jaxwebhook "github.com/kubeflow/training-operator/pkg/webhooks/jax"
	pytorchwebhook "github.com/kubeflow/training-operator/pkg/webhooks/pytorch"
	tensorflowwebhook "github.com/kubeflow/training-operator/pkg/webhooks/tensorflow"
	xgboostwebhook "github.com/kubeflow/training-operator/pkg/webhooks/xgboost"
	"github.com/sirupsen/logrus"
	autoscaling "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kubefake "k8s.io/client-go/kubernetes/fake"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	schedulerplugins "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	volcanofake "volcano.sh/apis/pkg/client/clientset/versioned/fake"
)

const rounds = 6

type question struct {
	Job  json.RawMessage `json:"job"`
	Gang string          `json:"gang"`
}

type answer struct {
	Objects  []any    `json:"objects"`
	Warnings []string `json:"warnings,omitempty"`
	Error    string   `json:"error,omitempty"`
}

var scheme = runtime.NewScheme()

func main() {
	for _, add := range []func(*runtime.Scheme) error{
		kubescheme.AddToScheme, kubeflow.AddToScheme, volcano.AddToScheme, schedulerplugins.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
	config.Config.PyTorchInitContainerTemplateFile = config.PyTorchInitContainerTemplateFileDefault
	config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault
	config.Config.MPIKubectlDeliveryImage = config.MPIKubectlDeliveryImageDefault
	logrus.SetOutput(io.Discard)
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	log.SetLogger(klog.Background().V(9))

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
	object, _, err := serializer.NewCodecFactory(scheme).UniversalDeserializer().Decode(asked.Job, nil, nil)
	if err != nil {
		return answer{Error: err.Error()}
	}
	job := object.(client.Object)
	if job.GetNamespace() == "" {
		job.SetNamespace("default")
	}
	job.SetUID("00000000-0000-0000-0000-000000000001")
	warnings, err := validate(job)
	if err != nil {
		return answer{Error: sorted(err), Warnings: warnings}
	}
	objects, err := run(job, asked.Gang)
	if err != nil {
		return answer{Error: err.Error(), Warnings: warnings}
	}
	return answer{Objects: objects, Warnings: warnings}
}

// sorted returns the text of an error; the operator looks at types of replicas in random order.
func sorted(err error) string {
	several, ok := err.(interface{ Errors() []error })
	if !ok {
		return err.Error()
	}
	var texts []string
	for _, one := range several.Errors() {
		texts = append(texts, one.Error())
	}
	sort.Strings(texts)
	return strings.Join(texts, "\n")
}

// validate returns what the operator's webhook says when a job is created.
func validate(job client.Object) ([]string, error) {
	var validator webhook.CustomValidator
	switch job := job.(type) {
	case *kubeflow.PyTorchJob:
		validator = &pytorchwebhook.Webhook{}
	case *kubeflow.TFJob:
		validator = &tensorflowwebhook.Webhook{}
	case *kubeflow.XGBoostJob:
		validator = &xgboostwebhook.Webhook{}
	case *kubeflow.JAXJob:
		validator = &jaxwebhook.Webhook{}
	case *kubeflow.MPIJob:
		return nil, kubeflow.ValidateV1MpiJobSpec(&job.Spec)
	default:
		return nil, fmt.Errorf("no operator for %T", job)
	}
	return validator.ValidateCreate(context.Background(), job)
}

// cluster is the part of a manager that reconcilers use when they are created.
type cluster struct {
	manager.Manager
	client client.Client
}

func (c cluster) GetClient() client.Client                        { return c.client }
func (c cluster) GetAPIReader() client.Reader                     { return c.client }
func (c cluster) GetScheme() *runtime.Scheme                      { return scheme }
func (c cluster) GetConfig() *rest.Config                         { return &rest.Config{Host: "localhost"} }
func (c cluster) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }

// run reconciles a job until nothing changes, and returns all objects but the job.
func run(job client.Object, gang string) ([]any, error) {
	tracker := clienttesting.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder())
	kube, groups := &kubefake.Clientset{}, &volcanofake.Clientset{}
	kube.AddReactor("*", "*", clienttesting.ObjectReaction(tracker))
	groups.AddReactor("*", "*", clienttesting.ObjectReaction(tracker))
	objects := fake.NewClientBuilder().WithScheme(scheme).WithObjectTracker(tracker).WithStatusSubresource(job).Build()
	if err := objects.Create(context.Background(), job); err != nil {
		return nil, err
	}
	setup := common.GenNonGangSchedulerSetupFunc()
	if gang == string(common.GangSchedulerVolcano) {
		setup = common.GenVolcanoSetupFunc(groups)
	} else if gang != "" {
		setup = common.GenSchedulerPluginsSetupFunc(objects, gang)
	}
	reconciler := reconciler(job, cluster{client: objects}, setup, kube)
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(job)}
	before := []any(nil)
	for range rounds {
		if _, err := reconciler.Reconcile(context.Background(), request); err != nil {
			return nil, err
		}
		if err := advance(objects); err != nil {
			return nil, err
		}
		after, err := list(objects)
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

// reconciler returns the operator's reconciler for a kind of job, with clients of the store in memory.
func reconciler(job client.Object, mgr manager.Manager, setup common.GangSchedulingSetupFunc,
	kube *kubefake.Clientset) reconcile.Reconciler {
	plug := func(controller *common.JobController) {
		recorder := &record.FakeRecorder{}
		controller.KubeClientSet = kube
		controller.PodControl = control.RealPodControl{KubeClient: kube, Recorder: recorder}
		controller.ServiceControl = control.RealServiceControl{KubeClient: kube, Recorder: recorder}
	}
	switch job.(type) {
	case *kubeflow.PyTorchJob:
		made := pytorch.NewReconciler(mgr, setup)
		plug(&made.JobController)
		return made
	case *kubeflow.TFJob:
		made := tensorflow.NewReconciler(mgr, setup)
		plug(&made.JobController)
		return made
	case *kubeflow.XGBoostJob:
		made := xgboost.NewReconciler(mgr, setup)
		plug(&made.JobController)
		return made
	case *kubeflow.JAXJob:
		made := jax.NewReconciler(mgr, setup)
		plug(&made.JobController)
		return made
	default:
		made := mpi.NewReconciler(mgr, setup)
		plug(&made.JobController)
		return made
	}
}

// advance does what scheduler and kubelet do: groups are admitted, pods run.
func advance(objects client.Client) error {
	var groups volcano.PodGroupList
	if err := objects.List(context.Background(), &groups); err != nil {
		return err
	}
	for i := range groups.Items {
		groups.Items[i].Status.Phase = volcano.PodGroupRunning
		if err := objects.Update(context.Background(), &groups.Items[i]); err != nil {
			return err
		}
	}
	var pods corev1.PodList
	if err := objects.List(context.Background(), &pods); err != nil {
		return err
	}
	for i := range pods.Items {
		pods.Items[i].Status.Phase = corev1.PodRunning
		if err := objects.Update(context.Background(), &pods.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// list returns all objects that the operator created, sorted by kind and name, without what a cluster adds.
func list(objects client.Client) ([]any, error) {
	found := []map[string]any{}
	for _, kind := range []client.ObjectList{
		&corev1.PodList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{}, &corev1.ServiceAccountList{},
		&rbac.RoleList{}, &rbac.RoleBindingList{}, &networking.NetworkPolicyList{},
		&autoscaling.HorizontalPodAutoscalerList{}, &volcano.PodGroupList{}, &schedulerplugins.PodGroupList{},
	} {
		if err := objects.List(context.Background(), kind); err != nil {
			return nil, err
		}
		gvk, err := objects.GroupVersionKindFor(kind)
		if err != nil {
			return nil, err
		}
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
		text, err := json.Marshal(kind)
		if err != nil {
			return nil, err
		}
		var read struct{ Items []map[string]any }
		if err := json.Unmarshal(text, &read); err != nil {
			return nil, err
		}
		for _, object := range read.Items {
			object["apiVersion"], object["kind"] = gvk.ToAPIVersionAndKind()
			delete(object, "status")
			metadata := object["metadata"].(map[string]any)
			delete(metadata, "creationTimestamp")
			delete(metadata, "resourceVersion")
			if spec, ok := object["spec"].(map[string]any); ok {
				if ports, ok := spec["ports"].([]any); ok { // of a Service, in random order
					sort.SliceStable(ports, func(i, j int) bool { return fmt.Sprint(ports[i]) < fmt.Sprint(ports[j]) })
				}
			}
			found = append(found, object)
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return key(found[i]) < key(found[j]) })
	all := make([]any, len(found))
	for i := range found {
		all[i] = found[i]
	}
	return all, nil
}

func key(object map[string]any) string {
	return fmt.Sprint(object["kind"], " ", object["metadata"].(map[string]any)["name"])
}
