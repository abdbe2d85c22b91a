// Command cel answers questions about Kubernetes CEL with the real code of the API server:
//
//	cel                  one JSON object a line in (Question), one a line out (Answer)
//	cel stable           the same, but evaluates often and marks answers that are not always the same
//	cel [answer|stable] worlds.json
//	                     answers questions in one of the worlds of a file, without "accepted"
//	cel functions        all functions, macros and variables of the base environments
//	cel estimate         the static cost of the rules on standard input
//	cel parse            the trees, not checked, of the expressions on standard input
//	cel spec [file...]   the tests of cel-spec as questions, without file the names of the files
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"k8s.io/apiserver/pkg/cel/environment"
)

func main() {
	debug.SetGCPercent(400) // many short-lived objects, little that lives: time for memory
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cel oracle:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	command := "answer"
	if len(args) > 0 {
		command = args[0]
	}
	if len(args) > 1 && command != "spec" {
		if err := readWorlds(args[1]); err != nil {
			return err
		}
	}
	switch command {
	case "answer":
		return serve(os.Stdin, os.Stdout, func(q *Question) (any, error) { return answer(q) })
	case "stable":
		evaluations = 200
		return serve(os.Stdin, os.Stdout, func(q *Question) (any, error) { return answer(q) })
	case "estimate":
		return serve(os.Stdin, os.Stdout, func(q *Question) (any, error) { return estimate(q) })
	case "parse":
		env := baseEnvSet().StoredExpressionsEnv()
		return serve(os.Stdin, os.Stdout, func(q *Question) (any, error) { return parse(env, q.Expr), nil })
	case "functions":
		return writeFunctions(os.Stdout)
	case "spec":
		return writeSpec(os.Stdout, args[1:])
	}
	return fmt.Errorf("unknown command %q", args)
}

// serve handles questions one by one. It writes the answers when no further question waits to be read.
func serve(in io.Reader, out io.Writer, handle func(*Question) (any, error)) error {
	reader, writer := bufio.NewReaderSize(in, 1<<16), bufio.NewWriter(out)
	for {
		line, end := reader.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := handleLine(line, writer, handle); err != nil {
				return err
			}
		}
		if reader.Buffered() == 0 {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
		if end == io.EOF {
			return writer.Flush()
		} else if end != nil {
			return end
		}
	}
}

func handleLine(line []byte, writer *bufio.Writer, handle func(*Question) (any, error)) error {
	q, err := decodeQuestion(line)
	if err != nil {
		return fmt.Errorf("reading %s: %w", line, err)
	}
	reply, err := handle(q)
	if err != nil {
		return fmt.Errorf("question %s: %w", q.ID, err)
	}
	text, err := marshal(reply)
	if err != nil {
		return fmt.Errorf("question %s: %w", q.ID, err)
	}
	_, err = writer.Write(append(text, '\n'))
	return err
}

// baseEnvSet is the API server's own: new expressions are compiled for the version before this one.
func baseEnvSet() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), true)
}

// marshal writes JSON without escaping <, > and &.
func marshal(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}
