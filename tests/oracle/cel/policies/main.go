// Command policies asks the API server's own code about admission policies:
//
//	policies decide   what the ValidatingAdmissionPolicy plugin says of a request (Question, Decision)
//	policies create   what the API server refuses of a policy or binding that is created
//
// One JSON object a line in, one a line out.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
)

func main() {
	klog.SetLogger(klog.Logger{}) // what the plugin logs is no answer
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "policies oracle:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 && args[0] == "decide" {
		return serve(os.Stdin, os.Stdout, decide)
	}
	if len(args) == 1 && args[0] == "create" {
		return serve(os.Stdin, os.Stdout, create)
	}
	return fmt.Errorf("unknown command %q", args)
}

// serve handles questions one by one: the plugin's compiler shares what it knows of variables among all policies.
func serve(in io.Reader, out io.Writer, handle func([]byte) (any, error)) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, 1<<26)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for scanner.Scan() {
		line := bytes.TrimSpace(scanner.Bytes())
		if len(line) == 0 {
			continue
		}
		answer, err := handle(line)
		if err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		if err := encoder.Encode(answer); err != nil {
			return err
		}
	}
	return scanner.Err()
}
