//go:build !configured

package main

import (
	"context"

	"github.com/kubeflow/trainer/v2/pkg/runtime"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func newRuntimes(cluster client.Client) (map[string]runtime.Runtime, error) {
	return core.New(context.Background(), cluster, indexer{})
}
