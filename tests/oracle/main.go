// Command oracle judges cases with the real code of Trainer, JobSet and the API server.
//
// It reads one JSON object a line on standard input:
//
//	{"id": "x", "text": "multi-document YAML"}         or "documents": ["one", "two"]
//	{"id": "x", "text": "...", "reversed": true}       runs the plugins in the other order
//	{"id": "x", "text": "...", "request": "YAML"}      also: creates one object while those of text exist
//	{..., "request": "YAML", "old": "YAML"}            updates it instead, from what was created before
//
// and writes one line for each, with the verdict on every document; see Verdict in judge.go.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Case is one input line.
type Case struct {
	ID        string   `json:"id"`
	Text      string   `json:"text"`
	Documents []string `json:"documents"`
	Reversed  bool     `json:"reversed"`
	Request   string   `json:"request"`
	Old       string   `json:"old"`
}

func main() {
	debug.SetGCPercent(400) // many short-lived objects, little that lives: time for memory
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	judge, err := newJudge()
	if err != nil {
		return err
	}
	writer := bufio.NewWriter(out)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	decoder := json.NewDecoder(bufio.NewReaderSize(in, 1<<16))
	for {
		var c Case
		if err := decoder.Decode(&c); err == io.EOF {
			return writer.Flush()
		} else if err != nil {
			return fmt.Errorf("reading a case: %w", err)
		}
		verdict, err := judge.judge(c)
		if err != nil {
			return fmt.Errorf("case %s: %w", c.ID, err)
		}
		if err := encoder.Encode(verdict); err != nil {
			return err
		}
		if err := writer.Flush(); err != nil {
			return err
		}
	}
}
