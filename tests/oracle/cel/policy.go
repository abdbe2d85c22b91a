package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/environment"
)

// anyResult is an expression that may be of any type.
type anyResult struct{ expression string }

func (e anyResult) GetExpression() string    { return e.expression }
func (e anyResult) ReturnTypes() []*cel.Type { return []*cel.Type{cel.AnyType} }

// answerPolicy evaluates as one validation of a ValidatingAdmissionPolicy.
func answerPolicy(q *Question, w *world, a *Answer) error {
	if q.World == "" {
		accepted, err := acceptPolicy(q)
		if err != nil {
			return err
		}
		a.Accepted = accepted
	}
	if w.compiler == nil {
		if err := preparePolicy(q, w); err != nil {
			return err
		}
	}
	compiler := w.compiler
	compiled := compiler.CompileCELExpression(anyResult{q.Expr}, policyDeclarations(q, true), environment.StoredExpressions)
	if compiled.Error != nil {
		a.stop(atCompile, compiled.Error.Detail)
		return nil
	}
	a.typed(compiled.OutputType)
	return a.evaluate(func() (ref.Val, *cel.EvalDetails, int64, error) {
		ctx := compiler.CompositionEnv.CreateContext(context.Background())
		w.values[plugincel.VariableVarName] = ctx.Variables(w.values)
		value, details, err := compiled.Program.ContextEval(ctx, w.values)
		return value, details, ctx.GetAndResetCost(), err
	}, q.budget())
}

// preparePolicy compiles the variables and reads the values.
func preparePolicy(q *Question, w *world) error {
	compiler, err := policyCompiler(q)
	if err != nil {
		return err
	}
	for _, v := range q.Variables {
		compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression},
			policyDeclarations(q, true), environment.StoredExpressions)
	}
	w.compiler = compiler
	w.values, err = newAdmission(q)
	return err
}

// policyDeclarations: a policy has params if it names their kind, which the question does by giving them.
func policyDeclarations(q *Question, authorizer bool) plugincel.OptionalVariableDeclarations {
	return plugincel.OptionalVariableDeclarations{HasParams: q.given("params"), HasAuthorizer: authorizer, StrictCost: true}
}

var withoutVariables *plugincel.CompositedCompiler

// policyCompiler is a new one for each policy with variables, since a compiler keeps them.
func policyCompiler(q *Question) (*plugincel.CompositedCompiler, error) {
	if len(q.Variables) > 0 {
		return plugincel.NewCompositedCompiler(baseEnvSet())
	}
	if withoutVariables == nil {
		compiler, err := plugincel.NewCompositedCompiler(baseEnvSet())
		if err != nil {
			return nil, err
		}
		withoutVariables = compiler
	}
	return withoutVariables, nil
}

// admission resolves the names that an expression of a policy can use.
type admission map[string]any

// newAdmission gives null for what is missing, but a request is always there.
func newAdmission(q *Question) (admission, error) {
	unknown := types.NewUnknown(1, types.NewAttributeTrail(plugincel.AuthorizerVarName))
	result := admission{
		plugincel.ObjectVarName: nil, plugincel.OldObjectVarName: nil, plugincel.NamespaceVarName: nil,
		plugincel.RequestVarName:    map[string]any{},
		plugincel.AuthorizerVarName: unknown, plugincel.RequestResourceAuthorizerVarName: unknown,
	}
	for name, raw := range q.Vars {
		if _, known := result[name]; !known && name != plugincel.ParamsVarName || strings.HasPrefix(name, plugincel.AuthorizerVarName) {
			return nil, fmt.Errorf("a policy has no variable %q to give", name)
		}
		value, err := unstructured(raw)
		if err != nil {
			return nil, err
		}
		result[name] = value
	}
	return result, nil
}

func (a admission) ResolveName(name string) (any, bool) {
	value, found := a[name]
	return value, found
}

func (a admission) Parent() interpreter.Activation { return nil }

// Words that no variable may be called, and reasons that a validation may give
// (the server's validation of the API type, which no module holds).
var (
	identifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)
	lineBreak  = regexp.MustCompile(`[\n\r]`)
	reserved   = strings.Fields("true false null in as break const continue else for function if import let loop " +
		"package namespace return var void while")
	policyReasons = []string{"Forbidden", "Invalid", "RequestEntityTooLarge"}
)

// acceptPolicy says whether the server would create a policy with this validation and these variables.
func acceptPolicy(q *Question) (bool, error) {
	message := strings.TrimSpace(q.Message)
	if strings.TrimSpace(q.Expr) == "" || q.Message != "" && message == "" || lineBreak.MatchString(message) {
		return false, nil
	}
	if q.Reason != nil && !slices.Contains(policyReasons, *q.Reason) {
		return false, nil
	}
	compiler, err := policyCompiler(q)
	if err != nil {
		return false, err
	}
	for _, v := range q.Variables {
		if !identifier.MatchString(v.Name) || slices.Contains(reserved, v.Name) || strings.TrimSpace(v.Expression) == "" {
			return false, nil
		}
		variable := &validating.Variable{Name: v.Name, Expression: v.Expression}
		if compiler.CompileAndStoreVariable(variable, policyDeclarations(q, true), environment.NewExpressions).Error != nil {
			return false, nil
		}
	}
	validation := &validating.ValidationCondition{Expression: q.Expr}
	if compiler.CompileCELExpression(validation, policyDeclarations(q, true), environment.NewExpressions).Error != nil {
		return false, nil
	}
	if q.MessageExpression == "" {
		return true, nil
	}
	text := &validating.MessageExpressionCondition{MessageExpression: q.MessageExpression}
	blank := strings.TrimSpace(q.MessageExpression) == ""
	return !blank && compiler.CompileCELExpression(text, policyDeclarations(q, false), environment.NewExpressions).Error == nil, nil
}
