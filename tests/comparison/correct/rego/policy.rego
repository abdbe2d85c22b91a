package main

deny contains msg if {
	input.kind == "TrainJob"
	input.spec.trainer.numNodes > 8
	msg := sprintf("TrainJob %s: a job may have at most 8 nodes, not %v", [input.metadata.name, input.spec.trainer.numNodes])
}

deny contains msg if {
	input.kind == "JobSet"
	some job in input.spec.replicatedJobs
	job.template.spec.parallelism > 8
	msg := sprintf("JobSet %s: a job may have at most 8 nodes, not %v", [input.metadata.name, job.template.spec.parallelism])
}

secret_name := `(?i)(^|_)(password|secret|token|(api|access|private)_?key)$`

deny contains msg if {
	input.kind == "TrainJob"
	some variable in input.spec.trainer.env
	regex.match(secret_name, variable.name)
	variable.value
	msg := sprintf("TrainJob %s: variable %s: take the value from a Secret", [input.metadata.name, variable.name])
}

deny contains msg if {
	input.kind == "JobSet"
	some job in input.spec.replicatedJobs
	some container in job.template.spec.template.spec.containers
	some variable in container.env
	regex.match(secret_name, variable.name)
	variable.value
	msg := sprintf("JobSet %s: variable %s: take the value from a Secret", [input.metadata.name, variable.name])
}
