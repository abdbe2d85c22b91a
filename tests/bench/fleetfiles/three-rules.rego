package main

deny contains msg if {
	input.kind == "JobSet"
	some job in input.spec.replicatedJobs
	some container in job.template.spec.template.spec.containers
	endswith(container.image, ":latest")
	msg := sprintf("container %q: the image has the tag latest", [container.name])
}

deny contains msg if {
	input.kind == "JobSet"
	some job in input.spec.replicatedJobs
	some container in job.template.spec.template.spec.containers
	not container.resources.limits.memory
	msg := sprintf("container %q: no memory limit", [container.name])
}

deny contains msg if {
	input.kind == "JobSet"
	not input.metadata.labels["example.com/team"]
	msg := "label example.com/team is missing"
}
