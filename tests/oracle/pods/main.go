// Command pods says what the API server says of Jobs: one Job a line on
// standard input (batch/v1, JSON), one JSON array of {"type", "field", "text"}
// a line on standard output. A Job that cannot be decoded gives one of type
// "Not decodable". It runs Kubernetes' own defaults and its own strategy.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/registry/batch/job"
)

const uid = "00000000-0000-0000-0000-000000000000"

type failure struct {
	Type  string `json:"type"`
	Field string `json:"field"`
	Text  string `json:"text"`
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

// judge takes a Job through what a request to create it goes through, from its text to its validation.
func judge(text []byte) (found []failure) {
	found = []failure{}
	defer func() { // the API server, too, survives a panic and answers with an error
		if reason := recover(); reason != nil {
			found = []failure{{Type: "Panic", Text: fmt.Sprint(reason)}}
		}
	}()
	object, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), text)
	if err != nil {
		return append(found, failure{Type: "Not decodable", Text: err.Error()})
	}
	made := object.(*batch.Job)
	made.UID = uid
	job.Strategy.PrepareForCreate(context.Background(), made)
	for _, err := range job.Strategy.Validate(context.Background(), made) {
		found = append(found, failure{string(err.Type), err.Field, err.Error()})
	}
	return found
}
