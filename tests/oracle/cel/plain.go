package main

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// answerPlain evaluates with free variables: all of type dyn, or (spec) of the types given.
func answerPlain(q *Question, w *world, a *Answer) error {
	if w.env == nil {
		if err := preparePlain(q, w); err != nil {
			return err
		}
	}
	if q.World == "" {
		options, err := plainOptions(q)
		if err != nil {
			return err
		}
		env, err := baseEnvSet().NewExpressionsEnv().Extend(options...)
		if err != nil {
			return err
		}
		_, _, problem := plan(env, q)
		a.Accepted = problem == nil
	}
	ast, program, problem := plan(w.env, q)
	if problem != nil {
		a.stop(atCompile, problem.Error())
		return nil
	}
	a.typed(ast.OutputType())
	return a.evaluate(func() (ref.Val, *cel.EvalDetails, int64, error) {
		value, details, err := program.Eval(w.bindings)
		return value, details, 0, err
	}, q.budget())
}

// preparePlain reads the values of the variables and declares them.
func preparePlain(q *Question, w *world) error {
	bindings := map[string]any{}
	for name, raw := range q.Vars {
		value, err := unstructured(raw)
		if err != nil {
			return err
		}
		if bindings[name], err = untag(value); err != nil {
			return fmt.Errorf("variable %s: %w", name, err)
		}
	}
	options, err := plainOptions(q)
	if err != nil {
		return err
	}
	if w.bindings, err = interpreter.NewActivation(bindings); err != nil {
		return err
	}
	w.env, err = baseEnvSet().StoredExpressionsEnv().Extend(options...)
	return err
}

func plainOptions(q *Question) ([]cel.EnvOption, error) {
	var options []cel.EnvOption
	if q.Env == "spec" && q.Container != "" {
		options = append(options, cel.Container(q.Container))
	}
	for name, text := range q.TypeEnv {
		t, err := parseType(text)
		if err != nil {
			return nil, err
		}
		options = append(options, cel.Variable(name, t))
	}
	for name := range q.Vars {
		if _, typed := q.TypeEnv[name]; !typed {
			options = append(options, cel.Variable(name, cel.DynType))
		}
	}
	return options, nil
}

// plan compiles an expression; the error is what is wrong with it.
func plan(env *cel.Env, q *Question) (*cel.Ast, cel.Program, error) {
	ast, issues := env.Parse(q.Expr)
	if issues.Err() == nil && !q.DisableCheck {
		ast, issues = env.Check(ast)
	}
	if issues.Err() != nil {
		return nil, nil, fmt.Errorf("compilation failed: %s", issues.String())
	}
	program, err := env.Program(ast, cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, nil, fmt.Errorf("program instantiation failed: %w", err)
	}
	return ast, program, nil
}
