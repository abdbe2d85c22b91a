package main

import (
	"encoding/json"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"
)

// Estimate is what a rule may cost, before it is multiplied by how often its place occurs.
type Estimate struct {
	ID          json.RawMessage `json:"id"`
	Min         *uint64         `json:"min"`
	Max         *uint64         `json:"max"`
	Cardinality *uint64         `json:"cardinality"` // of the place, if nothing above it is bounded
	Error       *string         `json:"error"`
}

// estimate gives the static cost of a rule (env crd) in the environment of new expressions.
func estimate(q *Question) (any, error) {
	result := Estimate{ID: q.ID}
	schema, err := readSchema(q.Schema)
	if err != nil {
		return nil, err
	}
	set, err := schema.envSet(q.OptionalOldSelf != nil && *q.OptionalOldSelf)
	if err != nil {
		return nil, err
	}
	env := set.NewExpressionsEnv()
	ast, issues := env.Compile(q.Expr)
	if issues.Err() != nil {
		text := issues.String()
		result.Error = &text
		return result, nil
	}
	cost, err := env.EstimateCost(ast, &library.CostEstimator{SizeEstimator: declaredSizes{schema.declared}})
	if err != nil {
		return nil, err
	}
	result.Min, result.Max = &cost.Min, &cost.Max
	return result, result.compare(q, schema, ast)
}

// compare holds the estimate against the server's own, which gives the upper bound of rules that are bool.
func (e *Estimate) compare(q *Question, schema *schemaOf, ast *cel.Ast) error {
	if ast.OutputType() != cel.BoolType {
		return nil
	}
	ruled := *schema.structural
	ruled.XValidations = v1.ValidationRules{{Rule: q.Expr, OptionalOldSelf: q.OptionalOldSelf}}
	compiled, err := schemacel.Compile(&ruled, schema.declared, celconfig.PerCallLimit, baseEnvSet(), schemacel.NewExpressionsEnvLoader())
	if err != nil {
		return err
	}
	if compiled[0].Error != nil {
		e.Error = &compiled[0].Error.Detail
		return nil
	}
	if compiled[0].MaxCost != *e.Max {
		return fmt.Errorf("the server estimates %d, not %d", compiled[0].MaxCost, *e.Max)
	}
	e.Cardinality = &compiled[0].MaxCardinality
	return nil
}

// declaredSizes estimates the size of what lies at a path below self from its schema's limits.
type declaredSizes struct{ self *apiservercel.DeclType }

func (d declaredSizes) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	if len(node.Path()) == 0 {
		return nil
	}
	at := d.self
	for _, step := range node.Path()[1:] {
		if at = below(at, step); at == nil {
			return nil
		}
	}
	return &checker.SizeEstimate{Max: uint64(at.MaxElements)}
}

func below(t *apiservercel.DeclType, step string) *apiservercel.DeclType {
	switch step {
	case "@items", "@values":
		return t.ElemType
	case "@keys":
		return t.KeyType
	}
	if field, found := t.Fields[step]; found {
		return field.Type
	}
	return nil
}

func (d declaredSizes) EstimateCallCost(_, _ string, _ *checker.AstNode, _ []checker.AstNode) *checker.CallEstimate {
	return nil
}
