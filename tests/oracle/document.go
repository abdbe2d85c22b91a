package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
)

// A document is one object of a case, or the reason why there is none.
type document struct {
	object *unstructured.Unstructured
	err    error
}

func (d document) kind() string {
	if d.object == nil || d.object.GroupVersionKind().Group != trainer.GroupVersion.Group {
		return ""
	}
	return d.object.GetKind()
}

// documents splits and decodes a case's texts as kubectl and the API server do.
func documents(c Case) []document {
	var result []document
	for _, text := range append([]string{c.Text}, c.Documents...) {
		chunks, err := split(text)
		for _, chunk := range chunks {
			if d := decode(chunk); d.object != nil || d.err != nil {
				result = append(result, d)
			}
		}
		if err != nil {
			result = append(result, document{err: err})
		}
	}
	return result
}

func split(text string) ([][]byte, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	var chunks [][]byte
	for {
		chunk, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return chunks, nil
		}
		if err != nil {
			return chunks, err
		}
		chunks = append(chunks, bytes.Clone(chunk))
	}
}

// decode returns neither object nor error for an empty document.
func decode(chunk []byte) document {
	raw, err := yaml.YAMLToJSONStrict(chunk)
	if err != nil {
		return document{err: err}
	}
	if string(raw) == "null" {
		return document{}
	}
	decoded, _, err := unstructured.UnstructuredJSONScheme.Decode(raw, nil, nil)
	if err != nil {
		return document{err: err}
	}
	object, ok := decoded.(*unstructured.Unstructured)
	if !ok {
		return document{err: fmt.Errorf("a list of objects is not one object: %T", decoded)}
	}
	gvk := object.GroupVersionKind()
	if gvk.Version == "" {
		return document{err: runtime.NewMissingVersionErr(string(raw))}
	}
	if gvk.Group == trainer.GroupVersion.Group && gvk.Version != trainer.GroupVersion.Version {
		return document{err: fmt.Errorf("no matches for kind %q in version %q", gvk.Kind, gvk.GroupVersion())}
	}
	return document{object: object}
}
