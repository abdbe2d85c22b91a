package main

import (
	"fmt"
	"reflect"
	"slices"
	"time"
	"unsafe"

	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/runtime"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"
	"github.com/kubeflow/trainer/v2/pkg/runtime/framework"
)

// now is the time that the TrainJob's defaulter writes into patches.
var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// unexported returns the settable value of an unexported field of an addressable struct.
func unexported(value reflect.Value) reflect.Value {
	return reflect.NewAt(value.Type(), unsafe.Pointer(value.UnsafeAddr())).Elem()
}

func setUnexported(value, to reflect.Value) {
	unexported(value).Set(to)
}

// fixClock makes the TrainJob's defaulter, inside of its webhook, read a fixed clock.
func fixClock(webhook *admission.Webhook) {
	defaulter := unexported(reflect.ValueOf(webhook.Handler).Elem().FieldByName("defaulter"))
	clock := defaulter.Elem().Elem().FieldByName("clock")
	setUnexported(clock, reflect.ValueOf(clocktesting.NewFakePassiveClock(now)))
}

// validatorOf returns the validator inside of a validating webhook: its errors still have their parts.
func validatorOf[T client.Object](webhook *admission.Webhook) admission.Validator[T] {
	value := unexported(reflect.ValueOf(webhook.Handler).Elem().FieldByName("validator"))
	return value.Interface().(admission.Validator[T])
}

// An order puts the framework's plugins into byte order of their names, or the reverse of it: upstream leaves
// the order to chance.
type order struct {
	lists []reflect.Value
}

// newOrder finds every list of plugins in the framework that all runtimes share.
func newOrder(runtimes map[string]runtime.Runtime) (*order, error) {
	shared, ok := runtimes[core.TrainingRuntimeGroupKind].(*core.TrainingRuntime)
	if !ok {
		return nil, fmt.Errorf("no %s among the runtimes", trainer.TrainingRuntimeKind)
	}
	fwk := unexported(reflect.ValueOf(shared).Elem().FieldByName("framework")).Elem()
	plugin := reflect.TypeFor[framework.Plugin]()
	result := &order{}
	for i := range fwk.NumField() {
		if field := fwk.Field(i); field.Kind() == reflect.Slice && field.Type().Elem().Implements(plugin) {
			result.lists = append(result.lists, unexported(field))
		}
	}
	if len(result.lists) != 6 {
		return nil, fmt.Errorf("%d lists of plugins in the framework, not 6", len(result.lists))
	}
	return result, nil
}

func (o *order) set(reversed bool) {
	for _, list := range o.lists {
		names := make(map[string]reflect.Value, list.Len())
		var keys []string
		for i := range list.Len() {
			value := reflect.ValueOf(list.Index(i).Interface())
			name := value.Interface().(framework.Plugin).Name()
			names[name] = value
			keys = append(keys, name)
		}
		slices.Sort(keys)
		if reversed {
			slices.Reverse(keys)
		}
		for i, name := range keys {
			list.Index(i).Set(names[name])
		}
	}
}
