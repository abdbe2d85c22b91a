package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// unstructured reads JSON as the API server does: a number is an int64 if it is written as one and fits.
func unstructured(raw json.RawMessage) (any, error) {
	var value any
	if err := utiljson.Unmarshal(raw, &value); err != nil {
		return nil, err
	}
	return value, nil
}

// encode turns a value of CEL into what JSON can say of it.
func encode(value ref.Val) (any, error) {
	switch v := value.(type) {
	case *types.Err:
		return nil, v.Unwrap()
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		return uint64(v), nil
	case types.String:
		return string(v), nil
	case types.Double:
		return encodeDouble(float64(v)), nil
	case types.Bytes:
		return encodeBytes(v), nil
	case types.Timestamp:
		return []int64{v.Unix(), int64(v.Nanosecond())}, nil
	case types.Duration:
		return []int64{int64(v.Duration / time.Second), int64(v.Duration % time.Second)}, nil
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return encode(v.GetValue())
	case ref.Type:
		return v.TypeName(), nil
	}
	return encodeOther(value)
}

func encodeOther(value ref.Val) (any, error) {
	switch v := value.(type) {
	case apiservercel.Quantity:
		return v.Quantity.String(), nil
	case apiservercel.IP:
		return v.Addr.String(), nil
	case apiservercel.CIDR:
		return v.Prefix.String(), nil
	case apiservercel.URL:
		return v.URL.String(), nil
	case apiservercel.Semver:
		return v.Version.String(), nil
	case apiservercel.Format:
		return v.Name, nil
	case *apiservercel.Format:
		return v.Name, nil
	case traits.Lister:
		return encodeList(v)
	case traits.Mapper:
		return encodeMap(v)
	}
	if _, err := json.Marshal(value.Value()); err != nil {
		return nil, fmt.Errorf("no JSON for a %s: %w", value.Type().TypeName(), err)
	}
	return value.Value(), nil // a field of unknown type: what the document says
}

// encodeDouble keeps the point, so that a double never looks like an int.
func encodeDouble(v float64) any {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.RawMessage(text)
}

func encodeBytes(v []byte) []int {
	result := make([]int, len(v))
	for i, b := range v {
		result[i] = int(b)
	}
	return result
}

func encodeList(list traits.Lister) (any, error) {
	result := []any{}
	for it := list.Iterator(); it.HasNext() == types.True; {
		item, err := encode(it.Next())
		if err != nil {
			return nil, err
		}
		result = append(result, item)
	}
	return result, nil
}

// encodeMap gives an object if all keys are strings, else a list of pairs sorted by key.
func encodeMap(m traits.Mapper) (any, error) {
	object, pairs, plain := map[string]any{}, [][2]any{}, true
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		item, err := encode(m.Get(key))
		if err != nil {
			return nil, err
		}
		if name, ok := key.(types.String); ok {
			object[string(name)] = item
		} else {
			plain = false
		}
		k, err := encode(key)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, [2]any{k, item})
	}
	if plain {
		return object, nil
	}
	var failed error
	sort.Slice(pairs, func(i, j int) bool {
		a, err1 := marshal(pairs[i][0])
		b, err2 := marshal(pairs[j][0])
		if err1 != nil || err2 != nil {
			failed = fmt.Errorf("a key without JSON: %v %v", err1, err2)
		}
		return bytes.Compare(a, b) < 0
	})
	return pairs, failed
}
