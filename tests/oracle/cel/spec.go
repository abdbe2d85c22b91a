package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	_ "cel.dev/expr/conformance/proto2" // for prototext, which must know the messages that the files hold
	_ "cel.dev/expr/conformance/proto3"
	"cel.dev/expr/conformance/test"
	"google.golang.org/protobuf/encoding/prototext"
)

// writeSpec prints the tests of cel-spec that a question can hold, or the names of its files.
func writeSpec(out io.Writer, files []string) error {
	directory, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "cel.dev/expr").Output()
	if err != nil {
		return fmt.Errorf("finding module cel.dev/expr: %w", err)
	}
	data := filepath.Join(strings.TrimSpace(string(directory)), "tests", "simple", "testdata")
	if len(files) == 0 {
		return listSpec(out, data)
	}
	for _, name := range files {
		if err := writeSpecFile(out, filepath.Join(data, name+".textproto")); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func listSpec(out io.Writer, data string) error {
	paths, err := filepath.Glob(filepath.Join(data, "*.textproto"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		name, err := marshal(strings.TrimSuffix(filepath.Base(path), ".textproto"))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "{\"file\":%s}\n", name); err != nil {
			return err
		}
	}
	return nil
}

func writeSpecFile(out io.Writer, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file := &test.SimpleTestFile{}
	if err := prototext.Unmarshal(text, file); err != nil {
		return err
	}
	seen := map[string]int{}
	for _, section := range file.Section {
		for _, t := range section.Test {
			id := file.Name + "/" + section.Name + "/" + t.Name
			if seen[id]++; seen[id] > 1 {
				id = fmt.Sprintf("%s#%d", id, seen[id])
			}
			if err := writeSpecTest(out, id, t); err != nil {
				return fmt.Errorf("%s: %w", id, err)
			}
		}
	}
	return nil
}

// specQuestion has the fields of a Question that a test can fill.
type specQuestion struct {
	ID           string            `json:"id"`
	Env          string            `json:"env"`
	Expr         string            `json:"expr"`
	Vars         map[string]any    `json:"vars,omitempty"`
	TypeEnv      map[string]string `json:"type_env,omitempty"`
	Container    string            `json:"container,omitempty"`
	DisableCheck bool              `json:"disable_check,omitempty"`
}

// writeSpecTest leaves out a test that needs a message as a value, declares functions or switches macros off.
func writeSpecTest(out io.Writer, id string, t *test.SimpleTest) error {
	if t.DisableMacros {
		return nil
	}
	q := specQuestion{
		ID: id, Env: "spec", Expr: t.Expr, Container: t.Container, DisableCheck: t.DisableCheck,
		Vars: map[string]any{}, TypeEnv: map[string]string{},
	}
	for _, declared := range t.TypeEnv {
		name, ok := specType(declared.GetIdent().GetType())
		if !ok {
			return nil
		}
		q.TypeEnv[declared.Name] = name
	}
	for name, bound := range t.Bindings {
		value, ok := specValue(bound.GetValue())
		if !ok {
			return nil
		}
		q.Vars[name] = value
	}
	line, err := marshal(q)
	if err != nil {
		return err
	}
	_, err = out.Write(append(line, '\n'))
	return err
}
