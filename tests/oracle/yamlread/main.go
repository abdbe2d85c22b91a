// Command yamlread tells what Kubernetes makes of YAML texts.
//
// It reads one JSON string a line, a text, and writes one object a line:
//
//	{"json": value, "error": "", "strict": "", "documents": [value], "stop": ""}
//
// json or error is what sigs.k8s.io/yaml makes of the text as one document; strict is what it says with
// duplicate keys refused. documents are those that kubectl finds in the text, up to the error stop.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	stream "k8s.io/apimachinery/pkg/util/yaml"
	preserve "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

type answer struct {
	JSON      json.RawMessage   `json:"json,omitempty"`
	Error     string            `json:"error,omitempty"`
	Strict    string            `json:"strict,omitempty"`
	Documents []json.RawMessage `json:"documents,omitempty"`
	Stop      string            `json:"stop,omitempty"`
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "yamlread:", err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(bufio.NewReaderSize(in, 1<<20))
	writer := bufio.NewWriter(out)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for {
		var text string
		if err := decoder.Decode(&text); errors.Is(err, io.EOF) {
			return writer.Flush()
		} else if err != nil {
			return err
		}
		if err := encoder.Encode(read(text)); err != nil {
			return err
		}
		if err := writer.Flush(); err != nil { // whoever asks may wait for this answer before the next question
			return err
		}
	}
}

func read(text string) answer {
	var a answer
	var raw runtime.RawExtension
	if err := yaml.Unmarshal([]byte(text), &raw); err != nil {
		a.Error = err.Error()
	} else if a.JSON, err = sent(raw.Raw); err != nil {
		a.Error = err.Error()
	} else if _, err := yaml.YAMLToJSONStrict([]byte(text)); err != nil {
		a.Strict = err.Error()
	}
	a.Documents, a.Stop = documents(text)
	return a
}

// documents reads text as kubectl's builder of resources does.
func documents(text string) ([]json.RawMessage, string) {
	var found []json.RawMessage
	decoder := stream.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		var raw runtime.RawExtension
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return found, ""
		} else if err != nil {
			return found, err.Error()
		}
		body := bytes.TrimSpace(raw.Raw)
		if len(body) == 0 || bytes.Equal(body, []byte("null")) {
			continue
		}
		value, err := sent(body)
		if err != nil {
			return found, err.Error()
		}
		found = append(found, value)
	}
}

// sent decodes JSON as kubectl does, writes it as kubectl sends it, and decodes and writes that as the server does.
func sent(body []byte) (json.RawMessage, error) {
	if len(body) == 0 {
		return json.RawMessage("null"), nil
	}
	for range 2 {
		var value any
		if err := preserve.UnmarshalCaseSensitivePreserveInts(body, &value); err != nil {
			return nil, err
		}
		var err error
		if body, err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return body, nil
}
