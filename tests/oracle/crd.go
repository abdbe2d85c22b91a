package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/api/meta"
	genericvalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/yaml"
)

// rulesNotChecked begins the note that stands in for CEL's errors where the schema's own forbid to run the rules.
const rulesNotChecked = "some validation rules were not checked"

// strategy is what we use of the API server's (unexported) strategy for custom resources.
type strategy interface {
	NamespaceScoped() bool
	PrepareForCreate(ctx context.Context, obj runtime.Object)
	Validate(ctx context.Context, obj runtime.Object) field.ErrorList
	PrepareForUpdate(ctx context.Context, obj, old runtime.Object)
	ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
}

// A resource is one CustomResourceDefinition, ready to admit objects.
type resource struct {
	kind       schema.GroupVersionKind
	structural *structuralschema.Structural
	strategy   strategy
	withoutCEL strategy
}

// loadResource reads a CRD from the module it ships in and prepares it as the API server does.
func loadResource(file string) (*resource, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &v1); err != nil {
		return nil, err
	}
	var crd apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1, &crd, nil); err != nil {
		return nil, err
	}
	if len(crd.Spec.Versions) != 1 {
		return nil, fmt.Errorf("%s: %d versions", file, len(crd.Spec.Versions))
	}
	version := crd.Spec.Versions[0]
	openAPI, subresources := version.Schema, version.Subresources
	if openAPI == nil { // hoisted to the top by the conversion where there is one version
		openAPI, subresources = crd.Spec.Validation, crd.Spec.Subresources
	}
	structural, err := structuralschema.NewStructural(openAPI.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(openAPI.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
	var status *apiextensions.CustomResourceSubresourceStatus
	var scale *apiextensions.CustomResourceSubresourceScale
	if subresources != nil {
		status, scale = subresources.Status, subresources.Scale
	}
	full := customresource.NewStrategy(crdserverscheme.NewUnstructuredObjectTyper(),
		crd.Spec.Scope == apiextensions.NamespaceScoped, kind, validator, nil, structural, status, scale, nil)
	bare := reflect.New(reflect.TypeOf(full)).Elem()
	bare.Set(reflect.ValueOf(full))
	setUnexported(bare.FieldByName("celValidator"), reflect.Zero(bare.FieldByName("celValidator").Type()))
	return &resource{kind, structural, full, bare.Interface().(strategy)}, nil
}

// decode prunes, drops nulls, coerces metadata and sets defaults, as the API server's decoder does for a
// request. It returns the warnings about dropped fields.
func (r *resource) decode(u *unstructured.Unstructured) ([]string, error) {
	kind, apiVersion := u.GetKind(), u.GetAPIVersion()
	objectMeta, found, unknown, err := schemaobjectmeta.GetObjectMetaWithOptions(u.Object, schemaobjectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, err
	}
	unknown = append(unknown, structuralpruning.PruneWithOptions(u.Object, r.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	structuraldefaulting.PruneNonNullableNullsWithoutDefaults(u.Object, r.structural)
	fieldErr, paths := schemaobjectmeta.CoerceWithOptions(nil, u.Object, r.structural, false, schemaobjectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if fieldErr != nil {
		return nil, fieldErr
	}
	unknown = append(unknown, paths...)
	u.SetKind(kind)
	u.SetAPIVersion(apiVersion)
	if found {
		if err := schemaobjectmeta.SetObjectMeta(u.Object, objectMeta); err != nil {
			return nil, err
		}
	}
	structuraldefaulting.Default(u.Object, r.structural)
	var warnings []string
	for _, path := range unknown {
		warnings = append(warnings, fmt.Sprintf("unknown field %q", path))
	}
	return warnings, nil
}

// validate runs the checks of a create request; it clears the status, as the API server does.
func (r *resource) validate(u *unstructured.Unstructured) []Error {
	namespace := ""
	if r.strategy.NamespaceScoped() {
		namespace = u.GetNamespace()
	}
	accessor, err := meta.Accessor(u)
	if err != nil {
		return []Error{plain(err)}
	}
	if err := rest.EnsureObjectNamespaceMatchesRequestNamespace(namespace, accessor); err != nil {
		return []Error{plain(err)}
	}
	ctx := context.Background()
	r.strategy.PrepareForCreate(ctx, u)
	accessor.SetGeneration(0)
	if all := r.strategy.Validate(ctx, u); len(all) > 0 {
		return markCEL(all, len(r.withoutCEL.Validate(ctx, u)))
	}
	return structured(genericvalidation.ValidateObjectMetaAccessor(accessor, r.strategy.NamespaceScoped(),
		path.ValidatePathSegmentName, field.NewPath("metadata")))
}

// validateUpdate runs the checks of an update of what is stored; both hold what the API server's decoder made of them.
func (r *resource) validateUpdate(u, old *unstructured.Unstructured) []Error {
	ctx := context.Background()
	u.SetResourceVersion("1")
	old.SetResourceVersion("1")
	r.strategy.PrepareForUpdate(ctx, u, old)
	metadata := field.NewPath("metadata")
	common := genericvalidation.ValidateObjectMetaAccessor(u, r.strategy.NamespaceScoped(), path.ValidatePathSegmentName, metadata)
	common = append(common, genericvalidation.ValidateObjectMetaAccessorUpdate(u, old, metadata)...)
	all := append(common, r.strategy.ValidateUpdate(ctx, u, old)...)
	errs := markCEL(all, len(common)+len(r.withoutCEL.ValidateUpdate(ctx, u, old)))
	for _, object := range []*unstructured.Unstructured{u, old} {
		object.SetResourceVersion("")
		object.SetGeneration(0)
	}
	return errs
}

// markCEL marks what comes behind the errors that there are without CEL.
func markCEL(all field.ErrorList, without int) []Error {
	errs := structured(all)
	for i := without; i < len(errs); i++ {
		errs[i].CEL = !strings.HasPrefix(errs[i].Detail, rulesNotChecked)
	}
	return errs
}
