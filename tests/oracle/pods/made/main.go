// Command made says what becomes of a Job: one Job a line in (batch/v1, JSON), {"job", "sent", "pod"} a line out. The Job
// has the server's defaults and the selector that it generates. "sent" is the first pod that the Job controller makes,
// "pod" has also the defaults of pods and what the registry prepares, but no status.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	_ "unsafe" // for go:linkname

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/apis/batch"
	jobdefaults "k8s.io/kubernetes/pkg/apis/batch/v1"
	"k8s.io/kubernetes/pkg/apis/core"
	coredefaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/controller"
	_ "k8s.io/kubernetes/pkg/controller/job"
	strategy "k8s.io/kubernetes/pkg/registry/batch/job"
	podstrategy "k8s.io/kubernetes/pkg/registry/core/pod"
)

//go:linkname addEnv k8s.io/kubernetes/pkg/controller/job.addCompletionIndexEnvVariables
func addEnv(template *corev1.PodTemplateSpec)

//go:linkname addAnnotation k8s.io/kubernetes/pkg/controller/job.addCompletionIndexAnnotation
func addAnnotation(template *corev1.PodTemplateSpec, index int)

//go:linkname addLabel k8s.io/kubernetes/pkg/controller/job.addCompletionIndexLabel
func addLabel(template *corev1.PodTemplateSpec, index int)

//go:linkname addFailureCount k8s.io/kubernetes/pkg/controller/job.addIndexFailureCountAnnotation
func addFailureCount(logger klog.Logger, template *corev1.PodTemplateSpec, job *batchv1.Job, replaced *corev1.Pod)

//go:linkname generateName k8s.io/kubernetes/pkg/controller/job.podGenerateNameWithIndex
func generateName(jobName string, index int) string

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<26)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for in.Scan() {
		answer, err := made(in.Bytes())
		if err == nil {
			err = out.Encode(answer)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "made:", err)
			os.Exit(1)
		}
	}
}

func made(line []byte) (any, error) {
	var job batchv1.Job
	if err := json.Unmarshal(line, &job); err != nil {
		return nil, err
	}
	if err := admit(&job); err != nil {
		return nil, err
	}
	template := job.Spec.Template.DeepCopy()
	template.Finalizers = append(template.Finalizers, batchv1.JobTrackingFinalizer)
	indexed := *job.Spec.CompletionMode == batchv1.IndexedCompletion
	if indexed {
		addEnv(template)
		addAnnotation(template, 0)
		addLabel(template, 0)
		if job.Spec.BackoffLimitPerIndex != nil {
			addFailureCount(klog.Background(), template, &job, nil)
		}
		template.Spec.Hostname = fmt.Sprintf("%s-0", job.Name)
	}
	owner := metav1.NewControllerRef(&job, batchv1.SchemeGroupVersion.WithKind("Job"))
	pod, err := controller.GetPodFromTemplate(template, &job, owner)
	if err != nil {
		return nil, err
	}
	if indexed {
		pod.GenerateName = generateName(job.Name, 0)
	}
	pod.Namespace = job.Namespace
	sent := pod.DeepCopy()
	if err := prepare(pod); err != nil {
		return nil, err
	}
	return map[string]any{"job": job, "sent": sent, "pod": pod}, nil
}

// prepare fills in what the server does of a new pod: defaults, and fields that follow from others.
func prepare(pod *corev1.Pod) error {
	coredefaults.SetObjectDefaults_Pod(pod)
	var internal core.Pod
	if err := coredefaults.Convert_v1_Pod_To_core_Pod(pod, &internal, nil); err != nil {
		return err
	}
	podstrategy.Strategy.PrepareForCreate(context.Background(), &internal)
	internal.Status, internal.Generation = core.PodStatus{}, 0
	return coredefaults.Convert_core_Pod_To_v1_Pod(&internal, pod, nil)
}

// admit fills in what the server does of a new Job: defaults, and the selector that it generates.
func admit(job *batchv1.Job) error {
	jobdefaults.SetObjectDefaults_Job(job)
	job.UID = "00000000-0000-0000-0000-000000000000"
	var internal batch.Job
	if err := jobdefaults.Convert_v1_Job_To_batch_Job(job, &internal, nil); err != nil {
		return err
	}
	strategy.Strategy.PrepareForCreate(context.Background(), &internal)
	return jobdefaults.Convert_batch_Job_To_v1_Job(&internal, job, nil)
}
