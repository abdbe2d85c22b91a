package main

import (
	"math"
	"strconv"
	"strings"

	expr "cel.dev/expr"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

var specPrimitives = map[expr.Type_PrimitiveType]string{
	expr.Type_BOOL: "bool", expr.Type_BYTES: "bytes", expr.Type_DOUBLE: "double", expr.Type_INT64: "int",
	expr.Type_STRING: "string", expr.Type_UINT64: "uint",
}

var specWellKnown = map[expr.Type_WellKnownType]string{
	expr.Type_ANY: "any", expr.Type_DURATION: "google.protobuf.Duration", expr.Type_TIMESTAMP: "google.protobuf.Timestamp",
}

// specType spells a type of cel-spec as parseType reads it; false for what declares no variable.
func specType(t *expr.Type) (string, bool) {
	switch kind := t.GetTypeKind().(type) {
	case *expr.Type_Primitive:
		name, ok := specPrimitives[kind.Primitive]
		return name, ok
	case *expr.Type_WellKnown:
		name, ok := specWellKnown[kind.WellKnown]
		return name, ok
	case *expr.Type_Wrapper:
		name, ok := specPrimitives[kind.Wrapper]
		return "wrapper(" + name + ")", ok
	case *expr.Type_Dyn:
		return "dyn", true
	case *expr.Type_Null:
		return "null_type", true
	case *expr.Type_MessageType:
		return kind.MessageType, true
	case *expr.Type_ListType_:
		return specTypes("list", kind.ListType.ElemType)
	case *expr.Type_MapType_:
		return specTypes("map", kind.MapType.KeyType, kind.MapType.ValueType)
	case *expr.Type_AbstractType_:
		if kind.AbstractType.Name == "optional_type" {
			return specTypes("optional_type", kind.AbstractType.ParameterTypes...)
		}
	}
	return "", false
}

func specTypes(name string, params ...*expr.Type) (string, bool) {
	spelled := make([]string, len(params))
	for i, param := range params {
		text, ok := specType(param)
		if !ok {
			return "", false
		}
		spelled[i] = text
	}
	return name + "(" + strings.Join(spelled, ", ") + ")", true
}

func tagged(tag string, value any) map[string]any { return map[string]any{"t": tag, "v": value} }

// specValue writes a value as untag reads it; false for messages and enums.
func specValue(value *expr.Value) (any, bool) {
	switch v := value.GetKind().(type) {
	case *expr.Value_NullValue:
		return nil, true
	case *expr.Value_BoolValue:
		return v.BoolValue, true
	case *expr.Value_StringValue:
		return v.StringValue, true
	case *expr.Value_Int64Value:
		return v.Int64Value, true
	case *expr.Value_Uint64Value:
		if v.Uint64Value > math.MaxInt64 {
			return tagged("uint", strconv.FormatUint(v.Uint64Value, 10)), true
		}
		return tagged("uint", v.Uint64Value), true
	case *expr.Value_DoubleValue:
		return tagged("double", encodeDouble(v.DoubleValue)), true
	case *expr.Value_BytesValue:
		return tagged("bytes", encodeBytes(v.BytesValue)), true
	case *expr.Value_TypeValue:
		return tagged("type", v.TypeValue), true
	case *expr.Value_ListValue:
		return specList(v.ListValue.Values)
	case *expr.Value_MapValue:
		return specMap(v.MapValue.Entries)
	case *expr.Value_ObjectValue:
		return specObject(v.ObjectValue)
	}
	return nil, false
}

func specList(values []*expr.Value) (any, bool) {
	items := make([]any, len(values))
	for i, value := range values {
		item, ok := specValue(value)
		if !ok {
			return nil, false
		}
		items[i] = item
	}
	return items, true
}

func specMap(entries []*expr.MapValue_Entry) (any, bool) {
	pairs := make([]any, len(entries))
	for i, entry := range entries {
		key, ok1 := specValue(entry.Key)
		value, ok2 := specValue(entry.Value)
		if !ok1 || !ok2 {
			return nil, false
		}
		pairs[i] = []any{key, value}
	}
	return tagged("map", pairs), true
}

// specObject knows the two messages that are values of CEL's own types.
func specObject(object *anypb.Any) (any, bool) {
	message, err := object.UnmarshalNew()
	if err != nil {
		return nil, false
	}
	switch m := message.(type) {
	case *timestamppb.Timestamp:
		return tagged("timestamp", []int64{m.Seconds, int64(m.Nanos)}), true
	case *durationpb.Duration:
		return tagged("duration", []int64{m.Seconds, int64(m.Nanos)}), true
	}
	return nil, false
}
