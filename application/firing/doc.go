// Package firing implements inbound.Firing: everything that starts runs on request, and brings
// events to those that wait.
package firing
