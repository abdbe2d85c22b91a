package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// Question is one input line; README.md says what its fields mean.
type Question struct {
	ID                json.RawMessage            `json:"id"`
	Env               string                     `json:"env"`
	Expr              string                     `json:"expr"`
	Vars              map[string]json.RawMessage `json:"vars"`
	Schema            json.RawMessage            `json:"schema"`
	Variables         []PolicyVariable           `json:"variables"`
	MessageExpression string                     `json:"messageExpression"`
	TypeEnv           map[string]string          `json:"type_env"`
	Container         string                     `json:"container"`
	DisableCheck      bool                       `json:"disable_check"`
	OptionalOldSelf   *bool                      `json:"optionalOldSelf"`
	FieldPath         string                     `json:"fieldPath"`
	Reason            *string                    `json:"reason"`
	Message           string                     `json:"message"`
	Budget            *int64                     `json:"budget"`
	World             string                     `json:"world"` // instead of all but id and expr: a name in the file of worlds
}

// PolicyVariable is one of a policy's variables.
type PolicyVariable struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

// Answer is one output line.
type Answer struct {
	ID       json.RawMessage `json:"id"`
	OK       bool            `json:"ok"`
	Accepted bool            `json:"accepted"`
	Type     *string         `json:"type"`
	Value    any             `json:"value"`
	Stage    *string         `json:"stage"`
	Error    *string         `json:"error"`
	Cost     *int64          `json:"cost"`
	Unstable string          `json:"unstable,omitempty"` // command stable only: what is not the same every time
}

// The stages at which a question can end without a value.
const (
	atCompile   = "compile"
	atEval      = "eval"
	isUndecided = "undecided"
)

// outOfBudget is how the server ends a rule that spends more than its object has left.
const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run"

// budget is what the whole object may cost.
func (q *Question) budget() int64 {
	if q.Budget != nil {
		return *q.Budget
	}
	return celconfig.RuntimeCELCostBudget
}

// given says whether a variable has a value, be it null.
func (q *Question) given(name string) bool {
	_, found := q.Vars[name]
	return found
}

// answer never fails: a question that makes no sense ends the program, an expression that does ends at a stage.
func answer(q *Question) (result Answer, err error) {
	result = Answer{ID: q.ID}
	if result.ID == nil {
		result.ID = json.RawMessage("null")
	}
	defer func() {
		if reason := recover(); reason != nil {
			// cel-go does not recover while it plans constants; the server refuses the request.
			result.stop(atCompile, fmt.Sprintf("program instantiation failed: internal error: %v", reason))
		}
	}()
	w, err := enter(q)
	if err != nil {
		return result, err
	}
	switch q.Env {
	case "vap":
		err = answerPolicy(q, w, &result)
	case "crd":
		err = answerRule(q, w, &result)
	case "dyn", "spec":
		err = answerPlain(q, w, &result)
	default:
		err = fmt.Errorf("no environment is called %q", q.Env)
	}
	return result, err
}

func (a *Answer) stop(stage, message string) {
	a.Stage, a.Error = &stage, &message
}

func (a *Answer) typed(t *cel.Type) {
	name := t.String()
	a.Type = &name
}

// evaluations is how often an expression is evaluated, if that is cheap: Go's maps have another order every time.
// The other order of two keys comes one time in eight.
var evaluations = 1

// enough is the cost after which an expression is not evaluated again.
const enough = 2_000_000

// evaluation runs a program once; the number is what lazy variables cost.
type evaluation func() (ref.Val, *cel.EvalDetails, int64, error)

// evaluate settles the answer and finds out whether it is always the same.
func (a *Answer) evaluate(run evaluation, budget int64) error {
	compiled, spent := *a, int64(0)
	once := func() Answer {
		result := compiled
		value, details, extra, err := run()
		result.settle(value, details, err, extra, budget)
		if result.Cost != nil {
			spent += *result.Cost
		}
		return result
	}
	*a = once()
	for n := 1; n < evaluations && spent < enough && a.Unstable != "value"; n++ {
		differs, err := a.compare(once())
		if err != nil {
			return err
		}
		if differs != "" {
			a.Unstable = differs
		}
	}
	return nil
}

// compare says what differs: value (or outcome, or error), only the cost, or nothing.
func (a *Answer) compare(b Answer) (string, error) {
	first, second := *a, b
	first.Unstable, first.Cost, second.Cost = "", nil, nil
	text, err := marshal(first)
	if err != nil {
		return "", err
	}
	other, err := marshal(second)
	switch {
	case err != nil:
		return "", err
	case !bytes.Equal(text, other):
		return "value", nil
	case (a.Cost == nil) != (b.Cost == nil) || a.Cost != nil && *a.Cost != *b.Cost:
		return "cost", nil
	}
	return "", nil
}

// settle turns what a program returned into the answer.
func (a *Answer) settle(value ref.Val, details *cel.EvalDetails, err error, extra, budget int64) {
	if value != nil && types.IsUnknown(value) {
		a.stop(isUndecided, "authorizer: cannot be evaluated offline")
		return
	}
	if details == nil || details.ActualCost() == nil {
		a.stop(atEval, fmt.Sprintf("runtime cost could not be calculated: %v", err))
		return
	}
	cost := int64(*details.ActualCost()) + extra
	a.Cost = &cost
	switch {
	case *details.ActualCost() > math.MaxInt64 || cost > budget:
		a.stop(atEval, outOfBudget)
	case err != nil:
		a.stop(atEval, err.Error())
	default:
		encoded, err := encode(value)
		if err != nil {
			a.stop(atEval, err.Error())
			return
		}
		a.OK, a.Value = true, encoded
	}
}

// decodeQuestion reads one line and refuses keys that it does not know.
func decodeQuestion(line []byte) (*Question, error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	q := &Question{}
	if err := decoder.Decode(q); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, errors.New("more than one object on a line")
	}
	return q, nil
}
