package harness

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestAProgramIsRunWithItsServer(t *testing.T) {
	t.Parallel()
	for claim, c := range map[string]struct {
		args   []string
		fails  error
		code   int
		stdout string
		isErr  bool
		starts bool
	}{
		"no program":               {code: exitUsage, isErr: true},
		"a program that fails":     {args: []string{"sh", "-c", "echo $SERVER; exit 7"}, code: 7, stdout: "here\n", starts: true},
		"a program that succeeds":  {args: []string{"sh", "-c", "echo $SERVER"}, stdout: "here\n", starts: true},
		"an unknown program":       {args: []string{"/no/such/program"}, code: exitFailed, isErr: true, starts: true},
		"a server that is not had": {args: []string{"echo"}, fails: errors.New("none"), code: exitFailed, isErr: true},
	} {
		var stdout, stderr strings.Builder
		started, stopped := 0, 0
		code, err := RunWith(t.Context(), c.args, &stdout, &stderr, func(context.Context) (Server, error) {
			if c.fails != nil {
				return Server{}, c.fails
			}
			started++
			return Server{Environ: []string{"SERVER=here"}, Stop: func() { stopped++ }}, nil
		})
		if code != c.code || (err != nil) != c.isErr || stdout.String() != c.stdout || (started == 1) != c.starts || started != stopped {
			t.Errorf("%s: exit code %d, %v, %q, %d servers started and %d stopped", claim, code, err, stdout.String(), started, stopped)
		}
	}
}
