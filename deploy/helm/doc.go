// Package helm holds the chart of the gateway to what Kubernetes takes.
package helm
