package main

import (
	"cmp"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// An Error is one reason of a refusal. Message is the whole text; the others are empty where upstream's error
// has no such parts. CEL marks errors of x-kubernetes-validations rules.
type Error struct {
	Field   string `json:"field"`
	Type    string `json:"type"`
	Detail  string `json:"detail"`
	Message string `json:"message"`
	CEL     bool   `json:"cel,omitempty"`
}

const (
	// notDecodable is the Type of an error of a decoder, whose text is no part of any contract.
	notDecodable = "Not decodable"
	// panicked is the Type of a panic.
	panicked = "Panic"
)

// pointers are the addresses that a %v of a pointer leaves in an error's text.
var pointers = regexp.MustCompile(`0x[0-9a-f]{6,}`)

func plain(err error) Error {
	text := pointers.ReplaceAllString(err.Error(), "0x...")
	return Error{Detail: text, Message: text}
}

func typed(kind, text string) Error {
	e := plain(errors.New(text))
	e.Type = kind
	return e
}

func structured(list field.ErrorList) []Error {
	var result []Error
	for _, e := range list {
		result = append(result, Error{Field: e.Field, Type: e.Type.String(), Detail: e.Detail, Message: e.Error()})
	}
	return result
}

// taken apart: what a validator of controller-runtime returned.
func apart(err error) []Error {
	if err == nil {
		return nil
	}
	var aggregate utilerrors.Aggregate
	var status *apierrors.StatusError
	var fieldError *field.Error
	switch {
	case errors.As(err, &status):
		return causes(&status.ErrStatus)
	case errors.As(err, &aggregate):
		var result []Error
		for _, e := range aggregate.Errors() {
			result = append(result, apart(e)...)
		}
		return result
	case errors.As(err, &fieldError):
		return structured(field.ErrorList{fieldError})
	}
	return []Error{plain(err)}
}

// causes reads the errors back from a Status of reason Invalid, whose causes hold `<type>: <value>: <detail>`.
func causes(status *metav1.Status) []Error {
	if status.Details == nil || len(status.Details.Causes) == 0 {
		kind := ""
		switch {
		case strings.HasPrefix(status.Message, "panic: "):
			kind = panicked
		case status.Code == http.StatusBadRequest:
			kind = notDecodable
		}
		return []Error{typed(kind, status.Message)}
	}
	var result []Error
	for _, cause := range status.Details.Causes {
		kind := field.ErrorType(cause.Type).String()
		detail := strings.TrimPrefix(strings.TrimPrefix(cause.Message, kind), ": ")
		result = append(result, Error{Field: cause.Field, Type: kind, Detail: detail, Message: cause.Field + ": " + cause.Message})
	}
	return result
}

// sorted orders errors, since some of upstream's come in map order.
func sorted(errs []Error) []Error {
	slices.SortStableFunc(errs, func(a, b Error) int { return cmp.Compare(a.Message, b.Message) })
	return errs
}
