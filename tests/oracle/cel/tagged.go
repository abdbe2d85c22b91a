package main

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// untag turns what unstructured read into CEL's values, with {"t": type, "v": value} for those that JSON lacks.
func untag(value any) (ref.Val, error) {
	switch v := value.(type) {
	case []any:
		return untagList(v)
	case map[string]any:
		if tag, ok := tagOf(v); ok {
			return untagAs(tag, v["v"])
		}
		return untagMap(v)
	}
	return types.DefaultTypeAdapter.NativeToValue(value), nil
}

func tagOf(m map[string]any) (string, bool) {
	tag, ok := m["t"].(string)
	if !ok || len(m) > 2 {
		return "", false
	}
	if _, has := m["v"]; len(m) == 2 && !has {
		return "", false
	}
	return tag, true
}

func untagList(items []any) (ref.Val, error) {
	result := make([]ref.Val, len(items))
	for i, item := range items {
		v, err := untag(item)
		if err != nil {
			return nil, err
		}
		result[i] = v
	}
	return types.NewRefValList(types.DefaultTypeAdapter, result), nil
}

func untagMap(m map[string]any) (ref.Val, error) {
	result := make(map[ref.Val]ref.Val, len(m))
	for key, item := range m {
		v, err := untag(item)
		if err != nil {
			return nil, err
		}
		result[types.String(key)] = v
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, result), nil
}

func untagAs(tag string, value any) (ref.Val, error) {
	switch tag {
	case "null", "null_type":
		return types.NullValue, nil
	case "bool", "string", "dyn":
		return types.DefaultTypeAdapter.NativeToValue(value), nil
	case "int":
		n, err := strconv.ParseInt(fmt.Sprint(value), 10, 64)
		return types.Int(n), err
	case "uint":
		n, err := untagUint(value)
		return types.Uint(n), err
	case "double":
		n, err := untagDouble(value)
		return types.Double(n), err
	case "bytes":
		return untagBytes(value)
	case "timestamp", "google.protobuf.Timestamp":
		s, ns, err := untagPair(value)
		return types.Timestamp{Time: time.Unix(s, ns).UTC()}, err
	case "duration", "google.protobuf.Duration":
		s, ns, err := untagPair(value)
		return types.Duration{Duration: time.Duration(s)*time.Second + time.Duration(ns)}, err
	}
	return untagCompound(tag, value)
}

func untagCompound(tag string, value any) (ref.Val, error) {
	switch v := value.(type) {
	case []any:
		if tag == "list" {
			return untagList(v)
		}
		if tag == "map" {
			return untagPairs(v)
		}
	case map[string]any:
		if tag == "map" {
			return untagMap(v)
		}
	case string:
		if tag == "type" {
			return parseType(v)
		}
	}
	if tag == "optional" {
		if value == nil {
			return types.OptionalNone, nil
		}
		inner, err := untag(value)
		return types.OptionalOf(inner), err
	}
	return nil, fmt.Errorf("no value of type %q is written %v", tag, value)
}

func untagPairs(pairs []any) (ref.Val, error) {
	result := make(map[ref.Val]ref.Val, len(pairs))
	for _, item := range pairs {
		pair, ok := item.([]any)
		if !ok || len(pair) != 2 {
			return nil, fmt.Errorf("not a pair: %v", item)
		}
		key, err := untag(pair[0])
		if err != nil {
			return nil, err
		}
		if result[key], err = untag(pair[1]); err != nil {
			return nil, err
		}
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, result), nil
}

// untagUint takes large numbers as text, since JSON's reader makes doubles of them.
func untagUint(value any) (uint64, error) {
	if n, ok := value.(float64); ok && n == math.Trunc(n) && n < math.MaxUint64 && n >= 0 {
		return uint64(n), nil
	}
	return strconv.ParseUint(fmt.Sprint(value), 10, 64)
}

func untagDouble(value any) (float64, error) {
	switch v := value.(type) {
	case float64:
		return v, nil
	case int64:
		return float64(v), nil
	}
	return strconv.ParseFloat(fmt.Sprint(value), 64) // also NaN, Infinity, -Infinity
}

func untagBytes(value any) (ref.Val, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("bytes are a list of ints, not %v", value)
	}
	result := make(types.Bytes, len(list))
	for i, item := range list {
		n, ok := item.(int64)
		if !ok || n < 0 || n > 255 {
			return nil, fmt.Errorf("not a byte: %v", item)
		}
		result[i] = byte(n)
	}
	return result, nil
}

func untagPair(value any) (int64, int64, error) {
	if list, ok := value.([]any); ok && len(list) == 2 {
		s, ok1 := list[0].(int64)
		ns, ok2 := list[1].(int64)
		if ok1 && ok2 {
			return s, ns, nil
		}
	}
	return 0, 0, fmt.Errorf("not [seconds, nanoseconds]: %v", value)
}
