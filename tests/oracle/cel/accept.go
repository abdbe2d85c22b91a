package main

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	install.Install(s)
	return s
}()

// acceptRule says whether the server would create a CRD whose schema has the rule: the whole validation of CRDs runs.
func acceptRule(q *Question, schema *schemaOf) (bool, error) {
	problems, err := createCRD(schema, v1.ValidationRule{
		Rule: q.Expr, Message: q.Message, MessageExpression: q.MessageExpression,
		Reason: (*v1.FieldValueErrorReason)(q.Reason), FieldPath: q.FieldPath, OptionalOldSelf: q.OptionalOldSelf,
	})
	return len(problems) == 0, err
}

// createCRD adds the rule to the schema, which is that of the whole resource or of a property of it.
func createCRD(schema *schemaOf, rule v1.ValidationRule) (field.ErrorList, error) {
	ruled := schema.given.DeepCopy()
	ruled.XValidations = append(ruled.XValidations, rule)
	if !schema.root || schema.given.XEmbeddedResource {
		ruled = &v1.JSONSchemaProps{Type: "object", Properties: map[string]v1.JSONSchemaProps{"property": *ruled}}
	}
	external := &v1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "questions.example.com"},
		Spec: v1.CustomResourceDefinitionSpec{
			Group: "example.com",
			Names: v1.CustomResourceDefinitionNames{Plural: "questions", Kind: "Question"},
			Scope: v1.NamespaceScoped,
			Versions: []v1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &v1.CustomResourceValidation{OpenAPIV3Schema: ruled},
			}},
		},
		Status: v1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}},
	}
	scheme.Default(external)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := scheme.Convert(external, internal, nil); err != nil {
		return nil, err
	}
	return validation.ValidateCustomResourceDefinition(context.Background(), internal), nil
}
