// Command created prints the Jobs that JobSet's controller makes: one JobSet a line in (JSON, with the defaults of its
// webhook), one JSON array a line out, with the first Job of every replicated job.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	_ "unsafe" // for go:linkname

	batchv1 "k8s.io/api/batch/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	_ "sigs.k8s.io/jobset/pkg/controllers"
)

//go:linkname constructJob sigs.k8s.io/jobset/pkg/controllers.constructJob
func constructJob(js *jobset.JobSet, rjob *jobset.ReplicatedJob, jobIdx int) *batchv1.Job

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<26)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for in.Scan() {
		var js jobset.JobSet
		if err := json.Unmarshal(in.Bytes(), &js); err != nil {
			fmt.Fprintln(os.Stderr, "created:", err)
			os.Exit(1)
		}
		jobs := []*batchv1.Job{}
		for i := range js.Spec.ReplicatedJobs {
			if rjob := &js.Spec.ReplicatedJobs[i]; rjob.Replicas > 0 {
				jobs = append(jobs, constructJob(&js, rjob, 0))
			}
		}
		if err := out.Encode(jobs); err != nil {
			panic(err)
		}
	}
}
