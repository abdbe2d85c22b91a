package main

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
)

var simpleTypes = map[string]*types.Type{
	"any": types.AnyType, "bool": types.BoolType, "bytes": types.BytesType, "double": types.DoubleType,
	"duration": types.DurationType, "dyn": types.DynType, "error": types.ErrorType, "int": types.IntType,
	"null": types.NullType, "null_type": types.NullType, "string": types.StringType,
	"timestamp": types.TimestampType, "type": types.TypeType, "uint": types.UintType,
	"google.protobuf.Any": types.AnyType, "google.protobuf.Duration": types.DurationType,
	"google.protobuf.Timestamp": types.TimestampType,
	"list":                      types.ListType, "map": types.MapType,
}

// parseType reads a type as cel-go's String writes it.
func parseType(text string) (*types.Type, error) {
	parsed, rest, err := parseTypePrefix(strings.ReplaceAll(text, " ", ""))
	if err == nil && rest != "" {
		err = fmt.Errorf("%q is left over", rest)
	}
	if err != nil {
		return nil, fmt.Errorf("type %q: %w", text, err)
	}
	return parsed, nil
}

func parseTypePrefix(text string) (*types.Type, string, error) {
	end := strings.IndexAny(text, "(),")
	if end < 0 {
		end = len(text)
	}
	name, rest := text[:end], text[end:]
	var params []*types.Type
	if strings.HasPrefix(rest, "(") {
		for rest[0] != ')' {
			param, after, err := parseTypePrefix(rest[1:])
			if err != nil {
				return nil, "", err
			}
			if after == "" {
				return nil, "", fmt.Errorf("no end of the parameters of %s", name)
			}
			params, rest = append(params, param), after
		}
		rest = rest[1:]
	}
	parsed, err := namedType(name, params)
	return parsed, rest, err
}

func namedType(name string, params []*types.Type) (*types.Type, error) {
	switch {
	case name == "list" && len(params) == 1:
		return types.NewListType(params[0]), nil
	case name == "map" && len(params) == 2:
		return types.NewMapType(params[0], params[1]), nil
	case name == "optional_type" && len(params) == 1:
		return types.NewOptionalType(params[0]), nil
	case name == "type" && len(params) == 1:
		return types.NewTypeTypeWithParam(params[0]), nil
	case name == "wrapper" && len(params) == 1:
		return types.NewNullableType(params[0]), nil
	case len(params) > 0 || name == "":
		return nil, fmt.Errorf("%q takes no %d parameters", name, len(params))
	case simpleTypes[name] != nil:
		return simpleTypes[name], nil
	case strings.HasPrefix(name, "<") && strings.HasSuffix(name, ">"):
		return types.NewTypeParamType(name[1 : len(name)-1]), nil
	}
	return types.NewObjectType(name), nil
}
