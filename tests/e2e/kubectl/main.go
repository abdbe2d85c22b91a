// Command kubectl is kubectl, built from Kubernetes' own module: what the launcher of a rendered job runs in a cluster.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

func main() {
	os.Exit(cli.Run(cmd.NewDefaultKubectlCommand()))
}
