package main

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// answerPlain evaluates with free variables: all of type dyn, or (spec) of the types given.
func answerPlain(q *Question, a *Answer) error {
	options, err := plainOptions(q)
	if err != nil {
		return err
	}
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
	if env, err := baseEnvSet().NewExpressionsEnv().Extend(options...); err != nil {
		return err
	} else if _, _, problem := plan(env, q); problem == nil {
		a.Accepted = true
	}
	env, err := baseEnvSet().StoredExpressionsEnv().Extend(options...)
	if err != nil {
		return err
	}
	ast, program, problem := plan(env, q)
	if problem != nil {
		a.stop(atCompile, problem.Error())
		return nil
	}
	a.typed(ast.OutputType())
	return a.evaluate(func() (ref.Val, *cel.EvalDetails, int64, error) {
		value, details, err := program.Eval(bindings)
		return value, details, 0, err
	}, q.budget())
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
