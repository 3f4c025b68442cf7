// Package execution holds what moving a run on takes, whoever does it: the compiled plan of its
// version, memory to compute in, and the recording of its steps.
package execution
