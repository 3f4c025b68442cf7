package trigger_test

import (
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/trigger"
)

// everything is a configuration that uses every member.
const everything = `{"rateLimit":{"maxRequests":100,"windowMs":60000},"timeoutMs":300000,` +
	`"retryPolicy":{"maxRetries":5,"backoffMs":1000,"maxBackoffMs":60000},"webhookConfig":{"event":"order.created"},` +
	`"scheduleConfig":{"cron":"*/15 8-18 * * MON-FRI","timezone":"America/Sao_Paulo","catchUp":"last","overlap":"skip"},"editor":{"x":12.5}}`

func BenchmarkParseConfig(b *testing.B) {
	doc := domain.RestoreDocument(everything)
	b.ReportAllocs()
	b.SetBytes(int64(len(everything)))
	for b.Loop() {
		if _, found := trigger.ParseConfig(doc); found != nil {
			b.Fatal(found)
		}
	}
}

func BenchmarkParseCron(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := trigger.ParseCron("*/15 8-18 1,15 * MON-FRI"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for name, expr := range map[string]string{
		"each minute": "* * * * *", "hourly": "0 * * * *", "daily": "30 2 * * *", "weekdays": "0 9 * * MON-FRI", "leap day": "0 0 29 2 *",
	} {
		b.Run(name, func(b *testing.B) {
			s := trigger.NewCronSchedule(mustParse(b, expr), zone(b, "Europe/Berlin"))
			after := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := s.Next(after); !ok {
					b.Fatal("it is never due")
				}
			}
		})
	}
}
