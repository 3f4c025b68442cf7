package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/sluicehq/sluice/deploy/chaos/attack"
	"github.com/sluicehq/sluice/deploy/harness"
)

// attackerCommand is the subcommand that attacks. It is a process of its own with a low priority, since a
// hostile tenant computes on machines of its own: what it and the server of its workflows take of this one's
// processors would count as the gateway's slowness.
const attackerCommand = "attacker"

// attackPlan is what the attacker is told on its standard input, which it attacks until the end of.
type attackPlan struct {
	Gateway  string // URL
	Key      string // the hostile tenant's secret key
	Size     attack.Size
	Attacks  string // names, separated by commas
	Together bool   // without a turn of each before
	Length   time.Duration
}

// attackReport is a line of what the attacker prints.
type attackReport struct {
	Phase  string                  `json:",omitempty"` // an attack begins
	About  string                  `json:",omitempty"`
	Counts map[string]attack.Count `json:",omitempty"` // of each attack, when all are over
}

// attack makes every attack in turn, and then all of them together, until ctx ends.
func (h *hostileRound) attack(ctx context.Context, length time.Duration) {
	h.plan.Length = length
	err := runAttacker(ctx, h.plan, h.progress, func(r attackReport) {
		if r.Counts != nil {
			h.attacked = r.Counts
			return
		}
		h.logf("%s", r.About)
		h.guard.setPhase(r.Phase)
	})
	h.found.check(err == nil, attacksMade, "the attacker: %v", err)
}

// runAttacker runs the attacker until ctx ends.
func runAttacker(ctx context.Context, plan attackPlan, stderr io.Writer, reported func(attackReport)) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	setup, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	attacker := exec.CommandContext(context.WithoutCancel(ctx), self, attackerCommand)
	attacker.Stderr = stderr
	in, err := attacker.StdinPipe()
	if err != nil {
		return err
	}
	out, err := attacker.StdoutPipe()
	if err != nil {
		return err
	}
	if err := attacker.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = in.Close() })() // the attacker sees the end of its input
	_, sent := in.Write(append(setup, '\n'))
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var r attackReport
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			sent = errors.Join(sent, err)
			continue
		}
		reported(r)
	}
	return errors.Join(sent, lines.Err(), attacker.Wait())
}

// attackerThreads is how many goroutines of the attacker run at the same time at least, so that one attack does not wait
// for another one's computing.
const attackerThreads = 8

// attackByPlan is the attacker.
func attackByPlan(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	if err := lowerPriority(); err != nil {
		return fmt.Errorf("lower the attacker's priority: %w", err)
	}
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), attackerThreads))
	in := bufio.NewReader(stdin)
	setup, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var plan attackPlan
	if err := json.Unmarshal(setup, &plan); err != nil {
		return err
	}
	attacks, err := attack.Select(plan.Attacks)
	if err != nil {
		return err
	}
	server, stopServer, err := harness.Serve(attack.NewServer())
	if err != nil {
		return err
	}
	defer stopServer()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, in) // only its end says something
		stop()
	}()
	report := json.NewEncoder(stdout)
	tenant := attack.NewTenant(plan.Gateway, plan.Key, server, plan.Size)
	if err := plan.attack(ctx, tenant, attacks, report); err != nil {
		return err
	}
	<-ctx.Done()
	return report.Encode(attackReport{Counts: tenant.Counts().All()})
}

// attack makes every attack in turn, and then all of them together.
func (p attackPlan) attack(ctx context.Context, tenant *attack.Tenant, attacks []attack.Attack, report *json.Encoder) error {
	turn := p.Length * 6 / 10 / time.Duration(len(attacks))
	alone := attacks
	switch {
	case len(alone) == 1:
		turn = p.Length
	case p.Together:
		alone = nil
	}
	for _, a := range alone {
		if ctx.Err() != nil {
			break
		}
		if err := report.Encode(attackReport{Phase: a.Name, About: a.Name + ": " + a.About}); err != nil {
			return err
		}
		attacking, stop := context.WithTimeout(ctx, turn)
		a.Run(attacking, tenant)
		stop()
	}
	if len(attacks) > 1 && ctx.Err() == nil {
		if err := report.Encode(attackReport{Phase: "all together", About: "all attacks together"}); err != nil {
			return err
		}
		attack.Together(ctx, tenant, attacks)
	}
	return nil
}

// attackerNiceness is that of a process that gets what others leave: a tenth of what one with 0 gets.
const attackerNiceness = 10

func lowerPriority() error { return syscall.Setpriority(syscall.PRIO_PROCESS, 0, attackerNiceness) }
