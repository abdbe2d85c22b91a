package main

import (
	"encoding/json"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
	registrationv1 "k8s.io/kubernetes/pkg/apis/admissionregistration/v1"
	"k8s.io/kubernetes/pkg/apis/admissionregistration/validation"
)

// create decodes, defaults and validates a policy or binding, and returns the errors in their order.
func create(line []byte) (any, error) {
	var meta struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(line, &meta); err != nil {
		return nil, err
	}
	var errs field.ErrorList
	if meta.Kind == "ValidatingAdmissionPolicyBinding" {
		binding, err := decodeBinding(line)
		if err != nil {
			return nil, err
		}
		var internal admissionregistration.ValidatingAdmissionPolicyBinding
		if err := registrationv1.Convert_v1_ValidatingAdmissionPolicyBinding_To_admissionregistration_ValidatingAdmissionPolicyBinding(binding, &internal, nil); err != nil {
			return nil, err
		}
		errs = validation.ValidateValidatingAdmissionPolicyBinding(&internal)
	} else {
		policy, err := decodePolicy(line)
		if err != nil {
			return nil, err
		}
		var internal admissionregistration.ValidatingAdmissionPolicy
		if err := registrationv1.Convert_v1_ValidatingAdmissionPolicy_To_admissionregistration_ValidatingAdmissionPolicy(policy, &internal, nil); err != nil {
			return nil, err
		}
		errs = validation.ValidateValidatingAdmissionPolicy(&internal)
	}
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return map[string]any{"errors": texts}, nil
}

func decodePolicy(raw []byte) (*admissionv1.ValidatingAdmissionPolicy, error) {
	var policy admissionv1.ValidatingAdmissionPolicy
	if err := json.Unmarshal(raw, &policy); err != nil {
		return nil, err
	}
	registrationv1.SetObjectDefaults_ValidatingAdmissionPolicy(&policy)
	return &policy, nil
}

func decodeBinding(raw []byte) (*admissionv1.ValidatingAdmissionPolicyBinding, error) {
	var binding admissionv1.ValidatingAdmissionPolicyBinding
	if err := json.Unmarshal(raw, &binding); err != nil {
		return nil, err
	}
	registrationv1.SetObjectDefaults_ValidatingAdmissionPolicyBinding(&binding)
	return &binding, nil
}
