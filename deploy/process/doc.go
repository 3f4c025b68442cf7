// Package process looks at other processes, for the tools that start the gateway as one.
package process

import "errors"

// ErrNeedsLinux is returned where a figure is read from Linux's /proc, on other systems.
var ErrNeedsLinux = errors.New("this figure is read from Linux's /proc")
