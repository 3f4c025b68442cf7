// Package prometheus holds the alert rules for the gateway, alerts.yml, and tests that
// hold them and the board in deploy/grafana to the metrics that exist. There is no
// code in it that runs.
package prometheus
