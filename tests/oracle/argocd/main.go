// Does with our objects what Argo CD v3.5.7 does: expands the template of an ApplicationSet for the directories of a
// repository, and runs health checks. JSON on standard input, JSON on standard output (see question and answer).
//
// Argo CD's own module cannot be imported (it replaces a module by a folder that its release does not hold), so this
// is the same libraries in the same versions, used in the same way: text/template with sprig's functions, every string
// of the template a template of its own; gopher-lua with no libraries but package, base, table and a harmless os.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	lua "github.com/yuin/gopher-lua"
)

type question struct {
	// ApplicationSet is one, Directories are all folders of the repository.
	ApplicationSet map[string]any
	Directories    []string
	Checks         []struct {
		Script string
		Object map[string]any
	}
}

type answer struct {
	Applications []any
	Error        string
	Checks       []map[string]string
}

func main() {
	var asked question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		fail(err)
	}
	var given answer
	if asked.ApplicationSet != nil {
		applications, err := expand(asked.ApplicationSet["spec"].(map[string]any), asked.Directories)
		given.Applications = applications
		if err != nil {
			given.Error = err.Error()
		}
	}
	for _, check := range asked.Checks {
		health, err := run(check.Script, check.Object)
		if err != nil {
			fail(err)
		}
		given.Checks = append(given.Checks, health)
	}
	if err := json.NewEncoder(os.Stdout).Encode(given); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// expand returns the Applications of a git directory generator, in the order of the directories.
func expand(spec map[string]any, directories []string) ([]any, error) {
	made := []any{}
	for _, generator := range spec["generators"].([]any) {
		git := generator.(map[string]any)["git"].(map[string]any)
		if len(git["directories"].([]any)) == 0 {
			return made, errors.New("ApplicationSet is empty") // ErrEmptyAppSetGenerator: no Application changes
		}
		for _, directory := range directories {
			if !matches(git["directories"].([]any), directory) {
				continue
			}
			application, err := replace(spec["template"], parameters(directory), spec)
			if err != nil {
				return made, err
			}
			made = append(made, application)
		}
	}
	return made, nil
}

// matches tells whether some pattern takes the directory and none excludes it.
func matches(patterns []any, directory string) bool {
	included, excluded := false, false
	for _, item := range patterns {
		pattern := item.(map[string]any)
		if found, err := path.Match(pattern["path"].(string), directory); err == nil && found {
			if pattern["exclude"] == true {
				excluded = true
			} else {
				included = true
			}
		}
	}
	return included && !excluded
}

var outsideOfNames = regexp.MustCompile(`[^-a-z0-9.]`)

func parameters(directory string) map[string]any {
	name := path.Base(directory)
	return map[string]any{"path": map[string]any{
		"path":               directory,
		"basename":           name,
		"basenameNormalized": outsideOfNames.ReplaceAllString(strings.ToLower(name), "-"),
		"segments":           strings.Split(directory, "/"),
	}}
}

// replace returns a value with every string in it, keys of maps included, executed as a template.
func replace(value any, parameters map[string]any, spec map[string]any) (any, error) {
	switch value := value.(type) {
	case string:
		return execute(value, parameters, spec)
	case []any:
		made := make([]any, len(value))
		for index, item := range value {
			found, err := replace(item, parameters, spec)
			if err != nil {
				return nil, err
			}
			made[index] = found
		}
		return made, nil
	case map[string]any:
		made := map[string]any{}
		for key, item := range value {
			name, err := execute(key, parameters, spec)
			if err != nil {
				return nil, err
			}
			if made[name], err = replace(item, parameters, spec); err != nil {
				return nil, err
			}
		}
		return made, nil
	default:
		return value, nil
	}
}

func execute(text string, parameters map[string]any, spec map[string]any) (string, error) {
	if spec["goTemplate"] != true {
		return "", fmt.Errorf("not a Go template")
	}
	functions := sprig.GenericFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, name)
	}
	made := template.New("").Funcs(functions)
	for _, option := range spec["goTemplateOptions"].([]any) {
		made = made.Option(option.(string))
	}
	made, err := made.Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = made.Execute(&out, parameters)
	return out.String(), err
}

// run executes a health check with obj as a global, and returns the fields of the table that it returns.
func run(script string, object map[string]any) (map[string]string, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
	} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return nil, err
		}
	}
	state.SetGlobal("obj", inLua(state, object))
	if err := state.DoString(script); err != nil {
		return nil, err
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return nil, fmt.Errorf("a health check returned %s", state.Get(-1).Type())
	}
	found := map[string]string{}
	table.ForEach(func(key, value lua.LValue) { found[key.String()] = value.String() })
	return found, nil
}

func inLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case float64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		table := state.CreateTable(len(value), 0)
		for _, item := range value {
			table.Append(inLua(state, item))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(value))
		for key, item := range value {
			table.RawSetString(key, inLua(state, item))
		}
		return table
	}
	return lua.LNil
}
