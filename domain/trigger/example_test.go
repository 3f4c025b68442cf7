package trigger_test

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // or whatever zones the machine has

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/trigger"
)

// A trigger is made from what a client sent, and says when it is due.
func Example() {
	config := domain.RestoreDocument(`{"scheduleConfig":{"cron":"30 2 * * *","timezone":"Europe/Berlin"},"color":"red"}`)
	now := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	trg, err := trigger.New("trg_01kg2m8qpefx4tsjvnb6ax0c9d", "tenant_01kg2m8qpefx4tsjvnb6ax0c9e", trigger.References{VersionExists: true},
		trigger.Draft{Version: "wfv_01kg2m8qpefx4tsjvnb6ax0c9f", Name: "Nightly", Type: trigger.Scheduled, Config: &config}, now)
	if err != nil {
		panic(err)
	}
	schedule, _ := trg.Schedule()
	for _, o := range schedule.Upcoming(now, 3) {
		fmt.Println(strings.TrimSpace(o.At.Format(time.RFC3339) + " " + o.Shift.Reason()))
	}
	// Output:
	// 2026-03-28T01:30:00Z
	// 2026-03-29T01:00:00Z The local time does not exist because the clocks go forward; it fires when they do.
	// 2026-03-30T00:30:00Z
}

// Everything that is wrong is reported at once, with the client's field paths.
func ExampleNew_invalid() {
	config := domain.RestoreDocument(`{"retryPolicy":{"maxRetries":11,"backoffMs":100},"scheduleConfig":{"cron":"61 * * * *"}}`)
	_, err := trigger.New("trg_01kg2m8qpefx4tsjvnb6ax0c9d", "tenant_01kg2m8qpefx4tsjvnb6ax0c9e", trigger.References{VersionExists: true},
		trigger.Draft{Version: "wfv_01kg2m8qpefx4tsjvnb6ax0c9f", Type: trigger.Scheduled, Config: &config}, time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC))
	var e *domain.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code)
		for _, v := range e.Violations {
			fmt.Println(v)
		}
	}
	// Output:
	// trigger_invalid
	// name must not be empty
	// config.retryPolicy.maxRetries must be at most 10, not 11
	// config.retryPolicy.maxBackoffMs must be given: a whole number of at least 1000
	// config.scheduleConfig.cron has a wrong minute field "61": "61" must be a number from 0 to 59
}

// What was missed while nobody could fire follows the catch-up.
func ExampleSchedule_Due() {
	hourly, err := trigger.ParseCron("@hourly")
	if err != nil {
		panic(err)
	}
	last := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	plan, _ := trigger.NewCronSchedule(hourly, time.UTC).Due(last, last.Add(3*time.Hour+10*time.Second), trigger.CatchUpLast, 100)
	for _, p := range plan {
		fmt.Println(p.At.Format(time.TimeOnly), p.Outcome)
	}
	// Output:
	// 10:00:00 skipped
	// 11:00:00 skipped
	// 12:00:00 caught_up
}
