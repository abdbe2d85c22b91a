package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/interpreter"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
)

// world is what the answers to many questions have in common. Preparing it takes longer than most answers.
type world struct {
	question *Question // all but the expression
	env      *cel.Env
	bindings interpreter.Activation
	compiler *plugincel.CompositedCompiler
	values   admission
}

var worlds = map[string]*world{}

// readWorlds reads a file of questions without expressions, by name.
func readWorlds(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	raw := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &raw); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	for name, line := range raw {
		q, err := decodeQuestion(line)
		if err != nil {
			return fmt.Errorf("reading world %s of %s: %w", name, path, err)
		}
		worlds[name] = &world{question: q}
	}
	return nil
}

// enter completes a question by its world, if it names one. Others have a world of their own.
func enter(q *Question) (*world, error) {
	if q.World == "" {
		return &world{}, nil
	}
	found, known := worlds[q.World]
	if !known {
		return nil, fmt.Errorf("unknown world %q", q.World)
	}
	completed := *found.question
	completed.ID, completed.Expr, completed.World = q.ID, q.Expr, q.World
	*q = completed
	return found, nil
}
