package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// selfType is what the type of an object self is called; the server makes up a new name every time.
const selfType = "selfType"

// schemaOf is the schema that a question gives for self.
type schemaOf struct {
	given      v1.JSONSchemaProps
	structural *structural.Structural
	declared   *apiservercel.DeclType
	root       bool // of a resource: self has kind, apiVersion, metadata.name and metadata.generateName
}

// readSchema takes a schema for that of a whole resource if it is embedded or declares what only those have.
func readSchema(raw json.RawMessage) (*schemaOf, error) {
	s := &schemaOf{}
	if err := json.Unmarshal(raw, &s.given); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&s.given, internal, nil); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	ss, err := structural.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s.structural, s.root = ss, s.given.XEmbeddedResource || isResource(&s.given)
	s.declared = model.SchemaDeclType(ss, s.root)
	if s.declared == nil {
		return nil, fmt.Errorf("schema: a rule cannot see a value of this type")
	}
	s.declared = s.declared.MaybeAssignTypeName(selfType)
	return s, nil
}

func isResource(s *v1.JSONSchemaProps) bool {
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		if _, found := s.Properties[name]; !found {
			return false
		}
	}
	return true
}

// envSet declares self and oldSelf as the server does for a rule.
func (s *schemaOf) envSet(optional bool) (*environment.EnvSet, error) {
	self := s.declared.CelType()
	old := self
	if optional {
		old = types.NewOptionalType(self)
	}
	return baseEnvSet().Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: []cel.EnvOption{
			cel.Variable(schemacel.ScopedVarName, self),
			cel.Variable(schemacel.OldScopedVarName, old),
		},
		DeclTypes: []*apiservercel.DeclType{s.declared},
	})
}

// bind wraps self and oldSelf as the server does.
func (s *schemaOf) bind(q *Question, optional bool) (interpreter.Activation, error) {
	schema := s.structural
	if s.root {
		schema = model.WithTypeAndObjectMeta(schema)
	}
	bindings := map[string]any{}
	for name, raw := range q.Vars {
		if name != schemacel.ScopedVarName && name != schemacel.OldScopedVarName {
			return nil, fmt.Errorf("a rule has no variable %q", name)
		}
		value, err := unstructured(raw)
		if err != nil {
			return nil, err
		}
		bindings[name] = schemacel.UnstructuredToVal(value, schema)
		if name == schemacel.OldScopedVarName && optional {
			bindings[name] = types.OptionalOf(schemacel.UnstructuredToVal(value, schema))
		}
	}
	if optional && !q.given(schemacel.OldScopedVarName) {
		bindings[schemacel.OldScopedVarName] = types.OptionalNone
	}
	return interpreter.NewActivation(bindings)
}

// answerRule evaluates as one of x-kubernetes-validations.
func answerRule(q *Question, w *world, a *Answer) error {
	if w.env == nil {
		schema, err := readSchema(q.Schema)
		if err != nil {
			return err
		}
		if q.World == "" {
			if a.Accepted, err = acceptRule(q, schema); err != nil {
				return err
			}
		}
		if err := schema.prepare(q, w); err != nil {
			return err
		}
	}
	ast, issues := w.env.Compile(q.Expr)
	if issues.Err() != nil {
		a.stop(atCompile, "compilation failed: "+issues.String())
		return nil
	}
	program, err := w.env.Program(ast, cel.CostLimit(celconfig.PerCallLimit),
		cel.CostTracking(&library.CostEstimator{}), cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		a.stop(atCompile, "program instantiation failed: "+err.Error())
		return nil
	}
	a.typed(ast.OutputType())
	return a.evaluate(func() (ref.Val, *cel.EvalDetails, int64, error) {
		value, details, err := program.ContextEval(context.Background(), w.bindings)
		return value, details, 0, err
	}, q.budget())
}

// prepare declares and binds self and oldSelf.
func (s *schemaOf) prepare(q *Question, w *world) error {
	optional := q.OptionalOldSelf != nil && *q.OptionalOldSelf
	set, err := s.envSet(optional)
	if err != nil {
		return err
	}
	w.env = set.StoredExpressionsEnv()
	w.bindings, err = s.bind(q, optional)
	return err
}
