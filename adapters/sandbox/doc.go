// Package sandbox is the driven adapter that runs the code of tenants. It implements outbound.CodeRunner.
//
// Code is hostile until proven otherwise, so several walls stand around it, each of which
// would do alone for what the next one is for:
//
//   - The language: a QuickJS without modules, files, sockets, timers or clock, with limits of
//     memory, stack and time, in a fresh VM for each run.
//   - The process: a child of the gateway with an empty environment and no file but the pipes
//     to it. It works for one tenant at a time. It is killed from outside when it does not
//     answer in time or when its caller goes away; the next run gets another one.
//   - The kernel: on Linux the child has given up every system call but those that computing
//     needs (seccomp, for all of its threads), and the memory beyond a limit. Where that
//     cannot be set up, it runs nothing.
//
// The child is the program itself, started again with the arguments that [Options] name; there
// it calls [Serve].
package sandbox
